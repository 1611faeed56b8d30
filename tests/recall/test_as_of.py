"""Recall of another time: what held then, and what was known then, by every way of finding."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.edges.opened import NewEdge
from apps.edges.services import connect
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.memories.indexing_mode import set_profile
from apps.projects.scope import Scope
from apps.recall import retrieval
from apps.recall.results import Filters, Hit
from apps.recall.retrievers.dense import DenseRetriever
from apps.recall.retrievers.lexical import LexicalRetriever
from apps.recall.services import recall
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from apps.tenants.models import Profile
from tests import once
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")
cast = once.cast

CITIES = {0: "I live in Lisbon.", 10: "I live in Porto.", 20: "I live in Braga."}


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


def say(scope: Scope, text: str, *, on: float, **fields: Any) -> int:
    (outcome,) = services.remember(scope, [Proposal(text=Plaintext(text), **fields)], now=day(on))
    return outcome.memory_ids[0]


def hits(scope: Scope, query: str = "Where do I live?", *, on: float = 100, **asked: Any) -> list[Hit]:
    times = {name: day(asked.pop(name)) for name in ("as_of", "known_at") if name in asked}
    found = recall(scope, Plaintext(query), filters=Filters(**times), limit=20, now=day(on), **asked)
    return list(found.hits)


def texts(scope: Scope, query: str = "Where do I live?", **asked: Any) -> list[str]:
    return [hit.memory.text.reveal() for hit in hits(scope, query, **asked)]


@pytest.fixture(scope="module", params=[Profile.SEARCHABLE, Profile.SEALED], ids=["searchable", "sealed"])
def scope(cast: tuple[OpenedTenant, OpenedTenant], request: pytest.FixtureRequest) -> Iterator[Scope]:
    """Of a person who moved twice."""
    with once.taken_back():
        scope = make_scope(cast[0])
        for on, text in CITIES.items():
            say(scope, text, on=on, session_id="talk")
        if request.param is Profile.SEALED:
            set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
            scope = make_scope(cast[0])
        yield scope


@pytest.mark.parametrize("profile", ["default", "memorysync", "rrf", "typed"])
def test_what_was_replaced_is_the_truth_of_its_time(scope: Scope, profile: str) -> None:
    assert texts(scope, profile=profile) == ["I live in Braga."]
    assert [texts(scope, as_of=at, profile=profile) for at in (-1, 0, 9.9, 10, 20, 99)] == [
        [], ["I live in Lisbon."], ["I live in Lisbon."], ["I live in Porto."], ["I live in Braga."],
        ["I live in Braga."],
    ]  # fmt: skip


def test_what_was_known_then_is_asked_of_then(scope: Scope) -> None:
    assert [texts(scope, known_at=at) for at in (-1, 5, 15, 25)] == [[], *([text] for text in CITIES.values())]


def test_both_times_are_told_apart(scope: Scope) -> None:
    """On day 15 it was thought that Porto goes on; on day 25 it is known that it ended on day 20."""
    assert texts(scope, as_of=22, known_at=15) == ["I live in Porto."]
    assert texts(scope, as_of=22, known_at=25) == ["I live in Braga."]
    assert texts(scope, as_of=5, known_at=25) == ["I live in Lisbon."]


def test_a_hit_says_when_it_held(scope: Scope) -> None:
    (porto,) = hits(scope, as_of=12)

    assert (porto.memory.valid_from, porto.memory.valid_to) == (day(10), day(20))
    assert porto.memory.validity == "superseded"


@pytest.mark.parametrize("leg", [DenseRetriever, LexicalRetriever])
def test_each_leg_finds_it_by_itself(scope: Scope, leg: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    if not scope.space.is_sealed:
        monkeypatch.setattr(retrieval, "RETRIEVERS", (leg(),))

    assert texts(scope, "live in Porto", as_of=12) == ["I live in Porto."]


def test_relations_lead_to_what_held_then(scope: Scope) -> None:
    harbour = say(scope, "The harbour festival begins at noon.", on=11, importance=0.6)
    (porto,) = hits(scope, as_of=12)[:1]
    connect(scope, [NewEdge(from_id=harbour, to_id=porto.memory.id, type="caused_by")], now=day(30))

    assert "I live in Porto." in texts(scope, "harbour festival noon", as_of=12)
    assert "I live in Porto." not in texts(scope, "harbour festival noon")
    assert "I live in Porto." not in texts(scope, "harbour festival noon", as_of=25)


def test_what_was_forgotten_is_gone_at_every_time(scope: Scope) -> None:
    (porto,) = hits(scope, as_of=12)
    # What was replaced is readable by its id and may be forgotten like anything else.
    assert soft_delete_selection(scope, MemorySelection(memory_ids=(porto.memory.id,)), now=day(40)) == [
        porto.memory.id
    ]

    assert texts(scope, as_of=12) == []
    assert texts(scope, known_at=12) == []


def test_what_is_past_its_time_is_gone_at_every_time(scope: Scope) -> None:
    say(scope, "The parking permit is in the glove box.", on=1, ttl_minutes=60, importance=0.6)

    assert texts(scope, "parking permit", on=1.01) != []
    assert "The parking permit is in the glove box." not in texts(scope, "parking permit", as_of=1.01, on=5)


def test_filters_hold_at_another_time_too(scope: Scope) -> None:
    asked = Filters(as_of=day(12), types=("event",))

    assert list(recall(scope, Plaintext("Where do I live?"), filters=asked, limit=5, now=day(50)).hits) == []


# -- at any time -------------------------------------------------------------------------------------------------------


def ever(scope: Scope, query: str = "Where do I live?", *, on: float = 100, **asked: Any) -> list[Hit]:
    filters = Filters(include_superseded=True, **asked)
    return list(recall(scope, Plaintext(query), filters=filters, limit=20, now=day(on)).hits)


def test_replaced_memories_are_found_too_each_behind_what_replaced_it(scope: Scope) -> None:
    found = ever(scope)

    assert [hit.memory.text.reveal() for hit in found] == list(reversed(CITIES.values()))
    assert [hit.memory.validity for hit in found] == ["current", "superseded", "superseded"]
    for hit in found:
        assert sum(hit.explanation.factors.values()) == pytest.approx(hit.score)


def test_replaced_memories_pass_the_other_filters_or_are_left_out(scope: Scope) -> None:
    say(scope, "I paint boats.", on=1, source="chat")

    assert [hit.memory.text.reveal() for hit in ever(scope, "What do I paint?", sources=("chat",))] == [
        "I paint boats."
    ]


def test_deleted_and_expired_memories_are_not_found_at_any_time(scope: Scope) -> None:
    lisbon = next(hit.memory.id for hit in ever(scope) if hit.memory.text.reveal() == CITIES[0])
    say(scope, "I live on a boat this week.", on=30, ttl_minutes=60)

    soft_delete_selection(scope, MemorySelection(memory_ids=(lisbon,)), now=day(50))

    assert CITIES[0] not in [hit.memory.text.reveal() for hit in ever(scope)]
    assert "I live on a boat this week." not in [hit.memory.text.reveal() for hit in ever(scope)]


def test_what_still_holds_is_found_without_them(scope: Scope) -> None:
    assert [hit.memory.text.reveal() for hit in hits(scope)] == [CITIES[20]]
