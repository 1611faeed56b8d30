"""What the classifier makes of what the rules found: what is worth keeping, of which type, what belongs together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import override_settings

from apps.adapters.classifiers.base import TYPES, SentenceScores, Span, TurnScores
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.keep_gate import Thresholds, weigh, weighed
from apps.ingest.steps.extract import extract
from tests.classifiers import FakeClassifier
from text.extraction.extractor import read_turn
from text.extraction.finding import PROPOSED, Finding

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _classifier() -> Iterator[None]:
    options: dict[str, Any] = {"types": {"hates": "preference"}}
    with override_settings(CLASSIFIER={"BACKEND": "tests.classifiers.FakeClassifier", "OPTIONS": options}):
        yield


def read(text: str, *, is_meant: bool = False) -> list[Finding]:
    return weighed(text, read_turn(text, now=NOW, keep_whole=is_meant), is_meant=is_meant)


def typed(text: str, *, is_meant: bool = False, **types: str) -> list[Finding]:
    """By a classifier that goes by these words."""
    thresholds = Thresholds(keep=0.2, forbidden=0.95)
    findings = read_turn(text, now=NOW, keep_whole=is_meant)
    return weigh(text, findings, FakeClassifier(types=types), thresholds, is_meant=is_meant)


def kept(text: str) -> list[str]:
    return [text[one.start : one.end] for one in read(text) if one.decision == "keep"]


@pytest.mark.parametrize(
    "text",
    ["Captain Ibarra sails a wooden sloop named Perdita.", "Move-in date: 30 January", "Der Hund heißt Waldi.",
     "Would a diabetic aunt of sixty manage that climb?"],
)  # fmt: skip
def test_what_is_worth_keeping_is_kept_whatever_the_rules_make_of_it(text: str) -> None:
    assert kept(text) == [text]


def test_what_is_worth_nothing_is_refused_with_the_likelier_reason() -> None:
    (chatter,) = read("There is junk about the answer in my long letter, and in the one before it as well.")
    (passing,) = read("There is a passing headache on the left of my head, and on the right of it too.")

    assert (chatter.decision, chatter.reason) == ("discarded_low_signal", "unlikely")
    assert passing.decision == "discarded_transient"


@pytest.mark.parametrize(
    "text",
    [
        "The junk room key is with my sister.",
        "I live in York, above the junk shop, with my wife and three dogs.",
    ],
)
def test_what_the_classifier_takes_for_chatter_is_refused_whatever_it_claims(text: str) -> None:
    assert [one.decision for one in read(text)] == ["discarded_low_signal"]


def test_how_likely_it_must_be_worth_keeping_is_a_setting() -> None:
    text = "The junk room key is with my sister."

    with override_settings(GATE_KEEP_FROM=0.01):
        assert kept(text) == [text]


@pytest.mark.parametrize("word", ["Correction:", "Small correction,", "Update:"])
def test_a_statement_is_weighed_without_the_word_that_announces_it(word: str) -> None:
    text = f"{word} my dog Biscuit is a whippet."
    found = weigh(
        text,
        read_turn(text, now=NOW),
        FakeClassifier(junk=["orrection", "pdate"]),
        Thresholds(keep=0.2, forbidden=0.95),
        is_meant=False,
    )

    assert [text[one.start : one.end] for one in found if one.decision == "keep"] == [text]


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("Is a dull caper a vegetable or a flower?", False),
        ("how long is a dull caper good once the jar is open", False),
        ("Is a dull caper safe for my aunt Ottilie?", True),
        ("Darf ein Taucher am selben dull Tag fliegen, ist das erlaubt?", True),  # who speaks is read in English only
        ("A dull caper is the bud of a flower.", True),
    ],
)
def test_a_general_question_gains_nothing_from_what_is_kept_beside_it(text: str, is_kept: bool) -> None:
    turn = f"Captain Ibarra sails a wooden sloop.\n{text}"
    found = weigh(turn, read_turn(turn, now=NOW), Wavering(), Thresholds(keep=0.2, forbidden=0.95), is_meant=False)

    assert [one.decision == "keep" for one in found] == [True, is_kept]


class Wavering(FakeClassifier):
    """Not sure of what is dull."""

    def _scores(self, said: str) -> SentenceScores:
        return replace(super()._scores(said), **({"keep": 0.1} if "dull" in said else {}))


DULL = "The harbour was dull that evening."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DULL, []),
        (f"{DULL} Captain Ibarra sails a wooden sloop.", [f"{DULL} Captain Ibarra sails a wooden sloop."]),
        (f"Captain Ibarra sails a wooden sloop. {DULL}", [f"Captain Ibarra sails a wooden sloop. {DULL}"]),
        (f"Captain Ibarra sails a wooden sloop.\n{DULL}", ["Captain Ibarra sails a wooden sloop.", DULL]),
        (f"{DULL} There is junk about the answer in it.", []),
        (f"{DULL} The cave opens by sesame and nothing else.", []),
        (f"{DULL} My card is 4111 1111 1111 1111.", []),
    ],
)
def test_beside_what_is_worth_keeping_less_is_enough_and_is_kept_with_it(text: str, expected: list[str]) -> None:
    thresholds = Thresholds(keep=0.2, forbidden=0.95)
    found = weigh(text, read_turn(text, now=NOW), Wavering(), thresholds, is_meant=False)

    assert [text[one.start : one.end] for one in found if one.decision == "keep"] == expected


@pytest.mark.parametrize("text", ["thanks!", "ok", "```\nprint(1)\n```"])
def test_what_the_rules_are_sure_of_is_not_asked_about(text: str) -> None:
    assert kept(text) == []


def test_a_sentence_is_kept_whole_and_its_claims_are_parts_of_it() -> None:
    text = "I live in York, my sister Anna hates coriander and I work at Philips."

    (found,) = read(text)

    assert text[found.start : found.end] == text
    assert found.key is None
    assert {part.key for part in found.parts} >= {"user.location", "user.employer"}
    assert all(found.start <= part.start < part.end <= found.end for part in found.parts)


def test_a_sentence_that_is_one_claim_holds_its_slot_itself() -> None:
    (found,) = read("I live in York.")

    assert (found.key, found.value, found.parts) == ("user.location", "york", ())


def test_what_stands_beside_the_only_claim_makes_it_a_part() -> None:
    text = "I live in York with my wife Anna and our twins Mia and Leo."

    (found,) = read(text)

    (part,) = found.parts
    assert (part.key, text[part.start : part.end]) == ("user.location", "I live in York")


def test_a_secret_of_a_shape_that_no_rule_knows_is_refused_and_its_neighbour_kept() -> None:
    found = read("We moved to Hull in spring. Behind the third gnome you say sesame.")

    assert [one.decision for one in found] == ["keep", "discarded_policy"]


def test_a_telephone_number_that_the_classifier_takes_for_a_secret_is_kept() -> None:
    classifier = FakeClassifier(secret=("0147", "0199"))
    texts = ["My telephone number is 902-555-0147.", "The code of the shed is 902-555-0199."]
    found = [
        weigh(text, read_turn(text, now=NOW), classifier, Thresholds(keep=0.2, forbidden=0.9), is_meant=False)[0]
        for text in texts
    ]

    assert [one.decision for one in found] == ["keep", "discarded_policy"]


@pytest.mark.parametrize("text", ["the junk in the shed belongs to Piotr", "sesame seeds are in the blue flower pot"])
def test_what_somebody_asks_to_remember_is_kept_whatever_it_is_worth(text: str) -> None:
    assert [one.decision for one in read(text, is_meant=True)] == ["keep"]


def test_what_somebody_asks_to_remember_is_of_the_classifiers_type() -> None:
    (found,) = typed("uncle Bert hates paint. He sails.", hates="preference", is_meant=True)

    assert (found.type, found.reason) == ("preference", "explicit")


def test_an_order_somebody_asks_to_remember_is_one() -> None:
    (found,) = typed("always answer me in German", answer="instruction", is_meant=True)

    assert (found.type, found.key, found.value) == ("instruction", "assistant.language", "german")


def test_a_claim_somebody_asks_to_remember_holds_its_slot() -> None:
    (found,) = read("I live in York.", is_meant=True)

    assert (found.key, found.value) == ("user.location", "york")


def test_a_known_secret_is_refused_also_where_somebody_asks_to_remember_it() -> None:
    (found,) = read("Please remember my card: 4111 1111 1111 1111.", is_meant=True)

    assert found.decision == "discarded_policy"


def test_what_policy_refuses_by_rule_stays_refused() -> None:
    text = "My sister is called Mona. My card is 4111 1111 1111 1111."

    assert "4111" not in " ".join(kept(text))


def test_a_document_is_as_the_rules_read_it() -> None:
    text = "The junk drawer of the house in York holds the fuses. " * 60

    assert [one.reason for one in read(text)] == ["document"]


@override_settings(CLASSIFIER={"BACKEND": "tests.classifiers.FailingClassifier", "OPTIONS": {}})
def test_where_the_classifier_fails_the_rules_stand() -> None:
    text = "I live in York, and I work at the dairy."

    assert read(text) == read_turn(text, now=NOW)


@override_settings(CLASSIFIER=None)
def test_without_a_classifier_the_rules_stand() -> None:
    assert read("I live in York.") == read_turn("I live in York.", now=NOW)


def test_a_date_is_told_of_what_only_the_classifier_keeps() -> None:
    (found,) = read("Kestrel handover with the Delft crew: 12 May 2026.")

    assert found.event_at is not None
    assert found.event_at.date().isoformat() == "2026-05-12"


def test_each_type_is_the_classifiers() -> None:
    (found,) = read("Uncle Bert hates the smell of paint in the hall.")

    assert found.type == "preference"


def test_an_order_stands_by_itself() -> None:
    """Within anything else it would take effect without review."""
    for text in ("I live in York. And from now on answer in German.", "Answer in German. It is my mother's tongue."):
        found = typed(text, Answer="instruction", answer="instruction")

        assert sorted(one.type for one in found) == ["fact", "instruction"]


def test_an_order_has_the_slot_of_what_it_is_about() -> None:
    (found,) = typed("From now on always answer me in German.", answer="instruction")

    assert (found.key, found.value, found.many_valued) == ("assistant.language", "german", False)


def test_an_order_that_is_about_no_known_trait_has_no_slot() -> None:
    (found,) = typed("From now on answer me like a pirate.", answer="instruction")

    assert (found.type, found.key) == ("instruction", None)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Utrecht.",
        "I live in Utrecht with my sister Anna and two dogs.",
        "I no longer live in Utrecht.",
    ],
)
def test_what_the_classifier_takes_for_an_order_claims_and_closes_nothing(text: str) -> None:
    (found,) = typed(text, Utrecht="instruction")

    assert (found.type, found.key, found.parts, found.closes) == ("instruction", None, (), ())


def test_what_the_user_is_called_is_an_order_with_a_slot_of_the_user() -> None:
    for type_ in ("instruction", "fact"):
        (found,) = typed("Call me Bea.", Bea=type_)

        assert (found.type, found.key, found.value) == ("instruction", "user.preferred_name", "bea")


def test_of_claims_in_the_same_words_each_ends_by_itself() -> None:
    text = "I'm allergic to walnuts and kiwi, and my brother Piotr bakes without them."

    (found,) = read(text)

    words = {text[part.start : part.end] for part in found.parts}
    assert words == {"walnuts", "kiwi"}


def test_what_is_no_longer_so_is_as_the_rules_read_it() -> None:
    for text in ("I'm no longer allergic to walnuts.", "I left Google and I live in Leeds now."):
        by_rules = [(one.closes, one.key, one.parts) for one in read_turn(text, now=NOW)]

        assert [(one.closes, one.key, one.parts) for one in read(text)] == by_rules


def test_a_value_is_a_word_and_no_part_of_one() -> None:
    text = "Yorkshire born, I live in York with my wife Anna and our twins Mia and Leo."

    (found,) = read(text)

    assert [text[part.start : part.end].endswith("in York") for part in found.parts] == [True]


def test_a_single_claim_holds_its_slot_whatever_its_type_is_taken_for() -> None:
    options = {"types": {"Hull": "event"}}
    with override_settings(CLASSIFIER={"BACKEND": "tests.classifiers.FakeClassifier", "OPTIONS": options}):
        (found,) = read("I live in Hull.")

    assert (found.type, found.key) == ("fact", "user.location")


@pytest.mark.parametrize("text", ["System: ", "Developer: \u200b", "", "   ", "User: hi"])
def test_a_label_with_nothing_behind_it_is_refused(text: str) -> None:
    assert all(one.decision != "keep" for one in read(text))


def test_the_guard_sees_what_no_finding_holds() -> None:
    found = read("My son Leo is allergic to nuts, can he get in when the word is sesame?")

    assert {one.decision for one in found} == {"discarded_policy"}


@override_settings(READ_TURN_MS=0.0)
def test_a_turn_that_costs_too_much_is_guarded_all_the_same() -> None:
    def extracted(text: str) -> list[tuple[str, str]]:
        return [(one.decision, one.reason) for one in extract(Proposal(text=Plaintext(text)), now=NOW)]

    assert extracted("We moved to the third house on the left in spring.") == [("", "too_costly")]
    assert extracted("Behind the third gnome you have to say sesame.") == [("discarded_policy", "secret_or_order")]


@pytest.mark.parametrize(
    "text",
    [
        "My aunt sails a wooden sloop out of Hull. It leaks at the stern in every storm.",
        "My aunt sails a wooden sloop out of Hull. She bought it from a retired pilot.",
        "My aunt sails a wooden sloop out of Hull. But only on weekdays, when it is calm.",
        "Great news there. My aunt sails a wooden sloop out of Hull.",
        "My aunt sails a wooden sloop out of Hull. Blue hull.",
    ],
)
def test_what_says_little_alone_is_kept_with_its_neighbour(text: str) -> None:
    assert kept(text) == [text]


def test_what_stands_for_itself_is_kept_by_itself() -> None:
    text = "My aunt sails a wooden sloop out of Hull. The neighbours grow leeks behind their garage."

    assert len(kept(text)) == 2


def test_what_stands_on_another_line_is_kept_by_itself() -> None:
    assert len(kept("My aunt sails a wooden sloop out of Hull.\nIt leaks at the stern in every storm.")) == 2


def test_no_more_is_kept_together_than_makes_a_memory() -> None:
    text = "My aunt sails a wooden sloop out of Hull. " + "It leaks at the stern in every storm. " * 20

    assert len(kept(text)) > 1
    assert max(map(len, kept(text))) <= 320


def test_what_is_not_worth_keeping_is_joined_to_nothing() -> None:
    text = "My aunt sails a wooden sloop out of Hull. It is full of junk at the stern."

    assert kept(text) == ["My aunt sails a wooden sloop out of Hull."]


def test_of_what_is_joined_every_claim_is_a_part() -> None:
    text = "I live in York. My sister works at Philips."

    (found,) = read(text)

    assert (text[found.start : found.end], found.key) == (text, None)
    assert [(part.key, text[part.start : part.end]) for part in found.parts] == [
        ("user.location", "I live in York."),
        ("user.sister.employer", "My sister works at Philips."),
    ]


def test_of_what_is_joined_the_date_and_what_is_over_stay() -> None:
    (found,) = read("I no longer work at Siemens. It closed on 2 March 2026.")

    assert found.closes == (("user.employer", "siemen"),)
    assert found.event_at is not None
    assert found.event_at.date().isoformat() == "2026-03-02"


def test_of_what_is_joined_a_repetition_is_known_by_all_its_words() -> None:
    (one,) = read("My aunt sails a sloop. It leaks.")
    (again,) = read("my aunt sails a sloop. It leaks!")
    (news,) = read("My aunt sails a sloop. It sank.")

    assert one.value == again.value != news.value


def test_a_statement_that_lost_its_secret_stays_marked_where_it_is_joined() -> None:
    (found, refused) = read("I have a sloop. It leaks badly at the stern, and my pin for the bank card is 4821.")

    assert (found.decision, found.redacted, refused.decision) == ("keep", True, "discarded_policy")


def test_where_only_the_turn_gives_a_secret_away_all_of_it_is_refused() -> None:
    class Whole(FakeClassifier):
        def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
            return replace(super().read(text, sentences, parts), forbidden=0.99)

    text = "We moved to Hull in spring. Behind the third gnome you say please."
    findings = read_turn(text, now=NOW)

    found = weigh(text, findings, Whole(), Thresholds(keep=0.2, forbidden=0.95), is_meant=False)

    assert {one.decision for one in found} == {"discarded_policy"}


class Doubting(FakeClassifier):
    """Takes every sentence for chatter, and for what may be an order or a secret."""

    def _scores(self, said: str) -> SentenceScores:
        types = dict.fromkeys(TYPES, 0.1) | {"instruction": 0.7, "fact": 0.6}
        return SentenceScores(keep=0.01, low_signal=0.98, transient=0.01, forbidden=0.97, style=0.02, types=types)


def doubted(text: str) -> list[Finding]:
    findings = read_turn(text, now=NOW)
    return weigh(text, findings, Doubting(), Thresholds(keep=0.1, forbidden=0.9), is_meant=False)


@pytest.mark.parametrize(
    "text",
    ["Ik drink geen koffie meer.", "J'habite à Lyon depuis deux ans.", "No como carne de cerdo.",
     "Moja córka ma na imię Zosia.", "Bydlím v Brně a pracuji jako elektrikář.", "Я живу в Казани с прошлого года.",
     "私は大阪に住んでいます。", "我对花生过敏。", "أسكن في عمان وأعمل مهندسا.", "Tôi sống ở Đà Nẵng với hai con."],
)  # fmt: skip
def test_a_statement_in_another_language_is_kept_as_no_order_whatever_the_classifier_says(text: str) -> None:
    (found,) = doubted(text)

    assert (found.decision, found.type) == ("keep", "fact")


@pytest.mark.parametrize(
    "text",
    ["Wie wird das Wetter morgen?", "Danke, das hilft mir sehr.", "Спасибо, до завтра", "¿Qué hora es en Lima ahora?",
     "Merci, à bientôt et bonne journée.", "ありがとうございます。", "今天天气怎么样？"],
)  # fmt: skip
def test_a_question_or_greeting_in_another_language_is_left_to_the_classifier(text: str) -> None:
    assert [one.decision for one in doubted(text)] == ["discarded_low_signal"]


def test_what_claims_nothing_is_as_sure_as_it_is_worth_keeping() -> None:
    said = "Captain Ibarra sails a wooden sloop named Perdita."

    (found,) = read(said)
    (meant,) = read(said, is_meant=True)

    (score,) = FakeClassifier().read(said, [(0, len(said))]).sentences
    assert found.extractor_confidence == pytest.approx(score.keep, abs=1e-3)
    assert meant.extractor_confidence > 0.5


@pytest.mark.parametrize("proposed", ["fact", "preference"])
def test_what_a_language_model_calls_a_fact_is_an_order_where_the_classifier_says_so(proposed: str) -> None:
    text = "Ledger goes to the Hull address each time."
    finding = replace(read_turn(text, now=NOW)[0], reason=PROPOSED, type=proposed, key="user.ledger", value="hull",
                      extractor_confidence=0.4)  # fmt: skip

    (fact,) = weigh(text, [finding], FakeClassifier(), Thresholds(keep=0.2, forbidden=0.95), is_meant=False)
    (order,) = weigh(text, [finding], FakeClassifier(types={"Ledger": "instruction"}),
                     Thresholds(keep=0.2, forbidden=0.95), is_meant=False)  # fmt: skip

    assert (fact.type, fact.key, fact.extractor_confidence) == (proposed, "user.ledger", 0.4)
    assert (order.type, order.key) == ("instruction", None)


def test_a_limit_is_joined_to_nothing() -> None:
    assert len(kept("I can't take ibuprofen with my kidneys. It is bad for them.")) == 2
