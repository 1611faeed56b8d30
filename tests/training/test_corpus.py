"""The writers' texts keep to their format, and their labels convert to what the scorer reads."""

import json
from collections import Counter
from pathlib import Path

import pytest

from apps.adapters.classifiers.base import OUTCOMES
from text.languages import SMALL_WORDS
from training.agreement import measure
from training.corpus import GUARD_KINDS, SPLITS, WISH_KINDS, Author, CorpusFault, authors
from training.labels import records

EVERY = authors()


def test_every_folder_of_texts_has_its_author_and_its_split() -> None:
    folders = {path.name for path in (Path(__file__).parents[2] / "training" / "data").iterdir() if path.is_dir()}

    assert folders == {author.id for author in EVERY}
    assert {author.split for author in EVERY} <= set(SPLITS)


@pytest.mark.parametrize("author", EVERY, ids=lambda author: author.id)
def test_every_label_stands_in_its_text_and_converts(author: Author) -> None:
    made = list(records(author))

    wrote_only_endings = author.endings and not (author.stories or author.pairs or author.utterances)
    others = (author.asked, author.nothing, author.conversations, author.parallel, author.events, author.short)
    if wrote_only_endings or any(others):
        assert not made
        return
    assert len(author.utterances) >= 200 or (
        not author.utterances and bool(author.pairs or author.stories or author.guards or author.wishes)
    )
    is_of_one_kind = bool(author.stories or author.guards or author.wishes) or "(turns only)" in author.register
    assert len(author.pairs) >= 100 or is_of_one_kind
    assert len(made) == len(author.utterances) + len(author.scripts)
    assert all(record["expected"]["outcomes"] for record in made if record["kind"] == "single")
    if author.split == "test" and author.utterances:
        said = {turn["id"] for turn in author.life}
        assert len(author.scripts) >= 30
        assert all(gold in said for question in author.questions for gold in question["gold"])


@pytest.mark.parametrize("author", [one for one in EVERY if one.conversations], ids=lambda author: author.id)
def test_every_conversation_is_long_enough_and_its_questions_name_turns_of_it(author: Author) -> None:
    for conversation in author.conversations:
        said = {item["id"] for item in conversation["items"]}
        asked = conversation["questions"]

        assert conversation["kind"] in ("dialogue", "chat", "notes")
        assert len(said) == len(conversation["items"])
        assert len(said) >= (100 if author.language == "en" else 90) or (
            len(said) >= 40 and sum(len(item["text"]) for item in conversation["items"]) >= 30_000
        )
        assert len({item["session"] for item in conversation["items"]}) >= 5
        assert len(asked) >= 20
        assert all(set(one["gold"]) <= said for one in asked)
        assert all(bool(one["gold"]) == (one["category"] != "never") for one in asked)


def test_every_question_about_a_turn_names_one_of_the_same_split() -> None:
    split_of = {said.id: author.split for author in EVERY for said in author.utterances}

    assert sum(len(author.asked) for author in EVERY) >= 10_000
    assert all(split_of[one["of"]] == author.split for author in EVERY for one in author.asked)


def test_the_conversations_are_as_many_as_the_ranking_needs() -> None:
    english = [author for author in EVERY if author.language == "en"]
    kinds = Counter(one["kind"] for author in english for one in author.conversations)
    languages = Counter(author.language for author in EVERY if author.conversations)

    assert kinds["dialogue"] >= 60
    assert kinds["chat"] >= 54
    assert kinds["notes"] >= 12
    assert all(languages[one] >= 3 for one in SMALL_WORDS)


@pytest.mark.parametrize("author", [one for one in EVERY if one.guards], ids=lambda author: author.id)
def test_every_secret_stands_in_its_turn_and_every_kind_is_there(author: Author) -> None:
    kinds = Counter(one.kind for one in author.guards)

    assert len(author.guards) >= 230
    assert all(kinds[kind] >= 25 for kind in GUARD_KINDS)


@pytest.mark.parametrize("author", [one for one in EVERY if one.wishes], ids=lambda author: author.id)
def test_wishes_of_every_kind_stand_beside_turns_without(author: Author) -> None:
    kinds = Counter(wish.kind for one in author.wishes for wish in one.wishes)

    assert len(author.wishes) >= 180
    assert all(kinds[kind] >= 50 for kind in WISH_KINDS)
    assert sum(not one.wishes for one in author.wishes) >= 45


@pytest.mark.parametrize("author", [one for one in EVERY if one.stories], ids=lambda author: author.id)
def test_every_story_says_what_ends_and_what_is_told_again(author: Author) -> None:
    told = Counter(relation for story in author.stories for relation, _ in story.told.values())

    assert len(author.stories) >= 35
    if "(stories of friends only)" in author.register:  # in which little ends
        assert told["replaces"] + told["ends"] >= 60
        assert sum(not story.told for story in author.stories) >= 10
    else:
        assert told["replaces"] >= 90
        assert told["ends"] >= 30
        assert told["repeats"] >= 15
    assert all(bool(claims) == (relation != "repeats") for s in author.stories for relation, claims in s.told.values())


def test_two_labellers_agree() -> None:
    agreement = measure()

    assert agreement.decisions >= 0.95
    assert agreement.types >= 0.95
    assert agreement.changes >= 0.95


def test_no_text_stands_in_two_splits() -> None:
    where: dict[str, set[str]] = {}
    for author in EVERY:
        for said in (*author.utterances, *author.guards, *author.wishes):
            where.setdefault(" ".join(said.text.lower().split()), set()).add(author.split)

    short = 24  # "thanks!" may be written by anybody
    assert [text for text, splits in where.items() if len(splits) > 1 and len(text) > short] == []


@pytest.mark.parametrize(
    "record",
    [
        {"id": "b1-u1", "time": "2026-03-02T08:15:00Z", "text": "x", "drop": [{"quote": "x", "why": "low_signal"}]},
        {"id": "a1-u1", "time": "2026-03-02T08:15:00Z", "text": "x", "drop": [{"quote": "y", "why": "low_signal"}]},
        {"id": "a1-u1", "time": "2026-03-02T08:15:00Z", "text": "x", "drop": [{"quote": "x", "why": "dull"}]},
        {"id": "a1-u1", "time": "2026-03-02T08:15:00Z", "text": "x"},
    ],
    ids=["another author's id", "a quote from elsewhere", "an unknown reason", "no label"],
)
def test_a_fault_of_the_format_is_named(tmp_path: Path, record: dict[str, object]) -> None:
    (tmp_path / "a1").mkdir()
    (tmp_path / "a1" / "utterances.jsonl").write_text(json.dumps(record) + "\n")

    with pytest.raises(CorpusFault, match="a1"):
        _ = Author("a1", "train", "en", "terse", root=tmp_path).utterances


@pytest.mark.parametrize("author", [one for one in EVERY if one.endings], ids=lambda author: author.id)
def test_endings_are_of_authors_whose_texts_the_comparer_does_not_learn_from(author: Author) -> None:
    assert {one.is_over for one in author.endings} <= {True, False}
    assert all(one.later.strip() and one.earlier.strip() for one in author.endings)
    assert author.split != "test"
    assert not author.pairs or author.split == "validation"


@pytest.mark.parametrize("author", [one for one in EVERY if one.parallel], ids=lambda author: author.id)
def test_statements_of_the_same_form_are_of_authors_who_wrote_nothing_else(author: Author) -> None:
    assert 0.3 <= sum(one.is_over for one in author.parallel) / len(author.parallel) <= 0.45
    assert all(one.is_over == bool(one.words) and not one.is_repeated for one in author.parallel)
    assert not author.pairs + author.stories + author.endings + author.utterances


@pytest.mark.parametrize("author", [one for one in EVERY if one.events], ids=lambda author: author.id)
def test_events_are_of_authors_who_wrote_nothing_else(author: Author) -> None:
    assert 0.4 <= sum(one.is_over for one in author.events) / len(author.events) <= 0.5
    assert all(one.is_over == bool(one.words) for one in author.events)
    assert not author.pairs + author.stories + author.endings + author.utterances


@pytest.mark.parametrize("author", [one for one in EVERY if one.short], ids=lambda author: author.id)
def test_short_turns_are_short_and_of_every_outcome(author: Author) -> None:
    assert all(len(one.text.split()) <= 9 for one in author.short)
    assert {one.outcome for one in author.short} == set(OUTCOMES)
    assert not author.utterances + author.guards


def test_there_are_enough_endings_of_both_kinds_of_text() -> None:
    train = [author for author in EVERY if author.split == "train"]
    for has_stories in (True, False):
        told = [one.is_over for author in train if bool(author.stories) == has_stories for one in author.endings]
        assert len(told) >= 2_000
        assert 0.2 <= sum(told) / len(told) <= 0.8
