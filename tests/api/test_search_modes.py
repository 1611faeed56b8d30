"""mode in POST /memory/query: presets of filters and retrievers."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from tests.api.conftest import Caller
from tests.makers import make_scope
from text.extraction.code import has_code

pytestmark = pytest.mark.django_db(databases="__all__")

FERRY = ("Yesterday the ferry took 40 of us to Kotka.", "Yesterday Omar missed the ferry.")
PARSER = "The ferry bug is in timetable/parser.py, it raises KeyError."


def query(caller: Caller, mode: str | None, text: str = "ferry", status: int = 200, **fields: Any) -> Any:
    body = {"query": text, "k": 10} | fields | ({} if mode is None else {"mode": mode})
    response = caller("POST", "/memory/query", body)
    assert response.status_code == status, response.content
    return response.json()


def texts(caller: Caller, mode: str | None, text: str = "ferry", **fields: Any) -> set[str]:
    return {one["text"] for one in query(caller, mode, text, **fields)["memories"]}


@pytest.fixture
def stored(alice: Caller, acme: OpenedTenant) -> Caller:
    """Two events, what sums them up, code and an instruction, all about the ferry."""
    ids = [alice.add(text)["id"] for text in FERRY]
    alice.add(PARSER)
    rule = alice.add("Always check the ferry times twice.")["id"]
    scope = make_scope(acme)
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=rule).update(type="instruction")
    made = alice("POST", "/memory/summarize", {"memory_ids": ids, "lossless": True})
    assert made.status_code == 201, made.content
    return alice


def test_each_mode_finds_its_own(stored: Caller) -> None:
    every = texts(stored, None)
    summary = "\n".join(FERRY)
    assert every == {*FERRY, PARSER, summary, "Always check the ferry times twice."}

    assert texts(stored, "auto") == every
    assert texts(stored, "chunks") == every - {summary}
    assert texts(stored, "summaries") == {summary}
    assert texts(stored, "code") == {PARSER}
    assert texts(stored, "skills") == {"Always check the ferry times twice."}


def test_entities_are_found_by_who_is_named(stored: Caller) -> None:
    found = query(stored, "entities", "What about Omar?")

    assert set(found["routing"]["legs"]) <= {"entity", "graph"}
    assert FERRY[1] in {one["text"] for one in found["memories"]}
    assert texts(stored, "entities", "ferry") == set()


def test_code_looks_beyond_the_first_results(alice: Caller) -> None:
    for day in range(8):
        alice.add(f"Yesterday ferry {day} took the ferry line to Kotka.")
    alice.add(PARSER)

    assert texts(alice, "code", "ferry", k=1) == {PARSER}


def test_unknown_modes_and_double_filters_are_refused(alice: Caller) -> None:
    query(alice, "everything", status=422)
    for mode in ("summaries", "skills"):
        query(alice, mode, status=422, filters={"memory_type": "event"})
    query(alice, "chunks", filters={"memory_type": "event"})


@pytest.mark.parametrize(
    "text",
    [
        "Run `make test` first.", "It is in /etc/memsync/config.", "See settings.py for it.", "Call reload() again.",
        "max_depth is 3.", "It raises ValueError.", "The call fails with ECONNREFUSED.", "Then TS2345 appears.",
        "The flag is 0x1F.", "```\nfor (;;) {}\n```", r"Look in C:\work\logs for it.",
    ],
)  # fmt: skip
def test_code_is_known_by_its_marks(text: str) -> None:
    assert has_code(text)


@pytest.mark.parametrize(
    "text", ["I live in Lisbon.", "He earns 4,500 and/or more.", "Meet at 10:30, e.g. at Omar's.", "Nora (90) sang."]
)
def test_prose_is_no_code(text: str) -> None:
    assert not has_code(text)
