"""Every extraction model keeps the same promises, however its endpoint behaves: those of
``apps.adapters.extractors.base``."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.breaker import Breaker
from apps.adapters.extractors.asking import read_answer
from apps.adapters.extractors.base import ExtractionFailed, Extractor, Proposed
from apps.adapters.extractors.chat import MOST_TEXT, ChatExtractor
from tests.fakes.chat import FAULTS, FakeChat, proposed

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SECONDS = 0.5
CAUSES = {
    "malformed": "malformed", "not_json": "malformed", "no_choices": "malformed", "endless": "malformed",
    "wrong_schema": "schema", "extra_field": "schema", "truncated": "truncated", "refusing": "refused",
    "filtered": "refused", "error_500": "unavailable", "redirect": "unavailable", "disconnect": "unavailable",
    "down": "unavailable", "throttled_429": "throttled", "slow": "timeout", "drip": "timeout",
}  # fmt: skip


@pytest.fixture
def endpoint() -> Iterator[FakeChat]:
    with FakeChat() as chat:
        yield chat


@pytest.fixture
def extractor(endpoint: FakeChat) -> ChatExtractor:
    return ChatExtractor(url=endpoint.base_url, model="small", key="only-for-tests", price_in=0.5, price_out=2.0)


def ask(extractor: Extractor, text: str = "I live in Lisbon.") -> Any:
    return extractor.propose(text, said_at=NOW, seconds=SECONDS)


def test_it_is_an_extractor(extractor: ChatExtractor) -> None:
    assert isinstance(extractor, Extractor)


def test_a_turn_is_read_into_proposals_and_counted(extractor: ChatExtractor) -> None:
    made = ask(extractor, "Hello! I live in Lisbon. Bye.")

    assert made.proposed == [
        Proposed(quote="I live in Lisbon.", type="fact", key="user.home.city", value="lisbon", confidence=0.95)
    ]
    assert (made.tokens_in, made.tokens_out) == (412, 57)
    assert extractor.cost(412, 57) == 412 * 0.5 + 57 * 2.0
    assert made.tokens_in + made.tokens_out <= extractor.most_tokens(len("Hello! I live in Lisbon. Bye."))


def test_nothing_worth_remembering_is_an_answer(extractor: ChatExtractor) -> None:
    assert ask(extractor, "What a day it was!").proposed == []


@pytest.mark.parametrize(
    "text", ["naïve café, Ångström", "日本語のテキスト", "\x00\x07\u200b", "👨‍👩‍👧 family", "x" * MOST_TEXT]
)
def test_any_text_can_be_sent(text: str, extractor: ChatExtractor) -> None:
    assert ask(extractor, text).proposed == []


def test_only_the_turn_and_its_day_are_sent(endpoint: FakeChat, extractor: ChatExtractor) -> None:
    ask(extractor, "I live in Lisbon.")

    (body,) = endpoint.asked
    told = orjson.loads(body["messages"][1]["content"])
    assert told == {"said_on": "2026-11-21", "turn": "I live in Lisbon."}
    assert body["response_format"]["json_schema"]["strict"] is True
    assert {"model", "messages", "temperature", "max_tokens", "response_format"} == set(body)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "invented"])
def test_every_fault_has_its_cause_and_is_told_in_time(
    fault: str, endpoint: FakeChat, extractor: ChatExtractor
) -> None:
    endpoint.break_with(fault)
    started = time.monotonic()

    with pytest.raises(ExtractionFailed) as failed:
        ask(extractor)

    assert failed.value.cause == CAUSES[fault]
    assert time.monotonic() - started <= SECONDS * 1.2
    assert "Lisbon" not in repr(failed.value) + str(failed.value)
    assert failed.value.__context__ is None or "Lisbon" not in repr(failed.value.__context__)


def test_it_works_again_once_the_endpoint_does(endpoint: FakeChat, extractor: ChatExtractor) -> None:
    endpoint.break_with("down")
    with pytest.raises(ExtractionFailed):
        ask(extractor)
    endpoint.mend()

    assert len(ask(extractor).proposed) == 1


def test_after_failures_in_a_row_nobody_asks_for_a_while(endpoint: FakeChat) -> None:
    clock = [0.0]
    breaker = Breaker(failures=3, rest_seconds=30, clock=lambda: clock[0])
    extractor = ChatExtractor(url=endpoint.base_url, model="small", breaker=breaker)
    endpoint.break_with("error_500")
    for _ in range(3):
        with pytest.raises(ExtractionFailed, match="unavailable"):
            ask(extractor)

    with pytest.raises(ExtractionFailed, match="circuit_open"):
        ask(extractor)
    clock[0] = 31.0
    with pytest.raises(ExtractionFailed, match="unavailable"):
        ask(extractor)
    with pytest.raises(ExtractionFailed, match="circuit_open"):
        ask(extractor)
    assert endpoint.calls["chat"] == 4
    endpoint.mend()
    clock[0] = 62.0

    assert [len(ask(extractor).proposed) for _ in range(3)] == [1, 1, 1]


def test_answers_without_sense_do_not_open_the_circuit(endpoint: FakeChat, extractor: ChatExtractor) -> None:
    endpoint.break_with("malformed")

    for _ in range(8):
        with pytest.raises(ExtractionFailed, match="malformed"):
            ask(extractor)


@pytest.mark.parametrize(
    "url",
    ["", "lisbon", "ftp://127.0.0.1/v1", "http://models.example/v1", "https:///v1", "https://a:b@models.example/v1",
     "https://models.example/v1?key=1", "file:///etc/passwd"],
)  # fmt: skip
def test_an_address_that_may_not_be_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured):
        ChatExtractor(url=url, model="small")


@pytest.mark.parametrize(
    ("url", "options", "is_self_hosted"),
    [
        ("https://models.example/v1", {}, False),
        ("http://models.internal/v1", {"self_hosted": True}, True),
        ("http://127.0.0.1:8080/v1", {}, True),
        ("http://localhost:11434/v1", {}, True),
    ],
)
def test_whether_texts_stay_with_the_operator_is_told(url: str, options: Any, is_self_hosted: bool) -> None:
    assert ChatExtractor(url=url, model="small", **options).is_self_hosted is is_self_hosted


def answer(*memories: object) -> bytes:
    message = {"content": orjson.dumps({"memories": memories}).decode()}
    return orjson.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.mark.parametrize(
    "memory",
    [
        "I live in Lisbon.",
        {},
        proposed("") | {"quote": 5},
        proposed(" "),
        proposed("I live in Lisbon.", "mood"),
        proposed("I live in Lisbon.", confidence=1.5),
        proposed("I live in Lisbon.", confidence=True),
        proposed("I live in Lisbon.", confidence="0.9"),
        proposed("I live in Lisbon.", key=""),
        proposed("I live in Lisbon.", key="k" * 129),
        proposed("I live in Lisbon.", value=5),
        proposed("I live in Lisbon.", event_date="yesterday"),
        proposed("I live in Lisbon.", event_date="2026-02-30"),
        proposed("I live in Lisbon.", event_date=20261121),
        proposed("I live in Lisbon.", more="x"),
    ],
)
def test_what_is_not_as_asked_is_refused_whole(memory: object) -> None:
    with pytest.raises(ExtractionFailed) as failed:
        read_answer(answer(proposed("I live in Porto."), memory))

    assert failed.value.cause == "schema"


def test_more_than_a_turn_can_say_is_refused() -> None:
    with pytest.raises(ExtractionFailed, match="schema"):
        read_answer(answer(*[proposed("I live in Porto.")] * 21))


def test_a_failed_answer_tells_what_it_cost(endpoint: FakeChat, extractor: ChatExtractor) -> None:
    endpoint.break_with("truncated")

    with pytest.raises(ExtractionFailed) as failed:
        ask(extractor)

    assert (failed.value.tokens_in, failed.value.tokens_out) == (412, 57)
