"""Texts in other languages than English: how they are detected, and the terms by which they are found."""

import pytest

from text.languages import language_of
from text.terms import _words, folded, terms
from training.corpus import authors

SAID = {
    "de": ("Ich wohne seit drei Jahren in zwei alten Häusern.", "Wo steht das alte Haus?"),
    "fr": ("J'ai acheté les gâteaux chez ma tante.", "Qui fait un gâteau pour la fête ?"),
    "es": ("Mi hermana vive en Córdoba con dos gatas negras.", "¿De qué color es la gata de mi hermana?"),
    "pt": ("A minha irmã tem duas gatas pretas em Braga.", "De que cor é a gata da minha irmã?"),
    "nl": ("Mijn zus heeft twee zwarte katten gekocht.", "Welke kleur heeft de kat van mijn zus?"),
}


def found(text: str) -> str:
    return language_of(folded(word) for word in _words(text))


@pytest.mark.parametrize("language", SAID)
def test_a_language_is_detected_by_its_small_words(language: str) -> None:
    assert [found(text) for text in SAID[language]] == [language, language]


@pytest.mark.parametrize(
    "text", ["", "Lisbon", "12 345", "Dr Müller", "Die Hard is on at nine.", "I like La Haine.", "東京"]
)
def test_english_is_the_language_in_doubt(text: str) -> None:
    assert found(text) == "en"


def test_english_writers_are_not_taken_for_others() -> None:
    written = [turn.text for author in authors("validation") if author.language == "en" for turn in author.utterances]

    taken = [text for text in written if found(text) != "en"]

    assert len(written) > 500
    assert len(taken) <= len(written) / 500


@pytest.mark.parametrize("language", SAID)
def test_other_forms_of_a_word_are_one_term(language: str) -> None:
    said, asked = (set(terms(text)) for text in SAID[language])

    assert any(term.startswith(f"{language}:") for term in said & asked)


@pytest.mark.parametrize("language", SAID)
def test_a_word_is_found_from_a_text_of_any_language(language: str) -> None:
    """The language of a short question may not be detected, or be another."""
    for word in (word for word in _words(SAID[language][0]) if len(word) > 5):
        assert set(terms(f"Who told me about {word}?")) & set(terms(SAID[language][0]))


@pytest.mark.parametrize(
    ("one", "other"),
    [("Zoë", "Zoe"), ("Łódź", "Lodz"), ("Smørrebrød", "smorrebrod"), ("naïve café", "naive cafe"), ("1,200", "1200"),
     ("12.500", "12500"), ("Straße", "Strasse"), ("한국어", "한국어")],
)  # fmt: skip
def test_diacritics_and_thousands_make_no_other_term(one: str, other: str) -> None:
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("3.5", ["3", "5"]), ("1,20", ["1", "20"]), ("2024,05", ["2024", "05"]), ("1,2345", ["1", "2345"])],
)
def test_other_numbers_stay_as_they_are(text: str, wanted: list[str]) -> None:
    assert terms(text) == wanted
