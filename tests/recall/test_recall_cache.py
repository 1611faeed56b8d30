"""The same question a moment later: not searched again, and never answered with what no longer holds."""

import pickle
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from apps.adapters.instances import get_embedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.edges.opened import NewEdge
from apps.edges.services import connect, disconnect
from apps.ingest import services as ingest
from apps.ingest.candidates import Proposal
from apps.memories.editing import Edit, edit
from apps.memories.embedding import embed_memories
from apps.memories.feedback import give_feedback
from apps.memories.feedback_aggregation import Signal
from apps.memories.models import Memory
from apps.memories.soft_delete import restore
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.recall.cache import answers
from apps.recall.results import Filters, Recall
from apps.recall.services import recall
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

QUERY = "where does the heron nest?"
TEXTS = ("The heron nests beside the northern lock.", "It came back on Sunday.", "Bees live behind the mill.")


@pytest.fixture(autouse=True)
def _nothing_kept_from_before() -> Iterator[None]:
    answers.clear()
    yield
    answers.clear()


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


@pytest.fixture
def ids(scope: Scope) -> list[int]:
    return [remember(scope, text) for text in TEXTS]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each recall that searched."""
    done: list[str] = []
    from apps.recall import pipeline

    search = pipeline.answer_question

    def counted(*args: Any, **options: Any) -> Any:
        done.append("searched")
        return search(*args, **options)

    monkeypatch.setattr(pipeline, "answer_question", counted)
    return done


def remember(scope: Scope, text: str, **fields: Any) -> int:
    (outcome,) = ingest.remember(scope, [Proposal(text=Plaintext(text), importance=0.6, **fields)], now=NOW)
    return outcome.memory_ids[0]


def ask(scope: Scope, query: str = QUERY, **options: Any) -> Recall:
    return recall(scope, Plaintext(query), **{"now": NOW} | options)


def said(found: Recall) -> list[tuple[Any, ...]]:
    return [(hit.memory.id, hit.memory.text.reveal(), hit.score, hit.explanation) for hit in found.hits]


def test_the_same_question_is_answered_again_without_a_search(
    scope: Scope, ids: list[int], searches: list[str]
) -> None:
    first, again = ask(scope), ask(scope, now=NOW + timedelta(seconds=59))

    assert said(again) == said(first)
    assert again.legs == first.legs
    assert again.query_id != first.query_id
    assert len(searches) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"query": "where does the heron live?"},
        {"limit": 2},
        {"depth": 1},
        {"profile": "rrf"},
        {"weights": {"lexical": 0.7}},
        {"session_id": "talk"},
        {"legs": ["dense"]},
        {"filters": Filters(types=["fact"])},
        {"filters": Filters(metadata={"n": 10**30})},
        {"filters": Filters(as_of=NOW)},
        {"now": NOW + timedelta(seconds=61)},
    ],
    ids=str,
)
def test_another_question_is_searched_for(
    other: dict[str, Any], scope: Scope, ids: list[int], searches: list[str]
) -> None:
    ask(scope)
    ask(scope, **other)

    assert len(searches) == 2


def test_nobody_else_is_answered_from_it(
    acme: OpenedTenant, globex: OpenedTenant, scope: Scope, ids: list[int]
) -> None:
    strangers = [make_scope(acme, "bob"), make_scope(globex)]
    for stranger in strangers:
        remember(stranger, "Bees live behind the mill.")
    ask(scope)

    for stranger in strangers:
        assert not {hit.memory.id for hit in ask(stranger).hits} & set(ids)


# -- every write makes it void -----------------------------------------------------------------------------------------


def _forget_and_restore(scope: Scope, ids: list[int]) -> None:
    soft_delete_selection(scope, MemorySelection(memory_ids=(ids[0],)), now=NOW)
    ask(scope)
    restore(scope, ids[0], now=NOW)


def _connect_and_disconnect(scope: Scope, ids: list[int]) -> None:
    edge = NewEdge(from_id=ids[0], to_id=ids[2], type="supports")
    (made,) = connect(scope, [edge], now=NOW)
    ask(scope)
    disconnect(scope, ids[0], made.id, now=NOW)


def _embed(scope: Scope, ids: list[int]) -> None:
    with tenant_transaction(scope):
        embed_memories(scope, ids, get_embedder(), now=NOW)


WRITES: dict[str, Callable[[Scope, list[int]], Any]] = {
    "add": lambda scope, _: remember(scope, "Another heron nests by the bridge."),
    "edit": lambda scope, ids: edit(scope, Edit(memory_id=ids[0], tags=["birds"]), now=NOW),
    "forget": lambda scope, ids: soft_delete_selection(scope, MemorySelection(memory_ids=(ids[0],)), now=NOW),
    "restore": _forget_and_restore,
    "feedback": lambda scope, ids: give_feedback(scope, ids[0], Signal.POSITIVE, now=NOW),
    "connect": lambda scope, ids: connect(scope, [NewEdge(from_id=ids[0], to_id=ids[2], type="supports")], now=NOW),
    "disconnect": _connect_and_disconnect,
    "embed": _embed,
}


@pytest.mark.parametrize("write", WRITES)
def test_after_a_write_it_is_answered_as_if_nothing_had_been_kept(write: str, scope: Scope, ids: list[int]) -> None:
    ask(scope)
    with tenant_transaction(scope):
        before = Space.objects.within(scope).get(pk=scope.space.id).txid

    WRITES[write](scope, ids)
    found = ask(scope)

    answers.clear()
    assert said(found) == said(ask(scope))
    with tenant_transaction(scope):
        assert Space.objects.within(scope).get(pk=scope.space.id).txid > before


def test_what_has_expired_is_not_answered(scope: Scope, searches: list[str]) -> None:
    short = remember(scope, "The heron nests on the barge.", ttl_minutes=1)
    begun = NOW + timedelta(seconds=30)
    assert [hit.memory.id for hit in ask(scope, now=begun).hits] == [short]

    assert ask(scope, now=begun + timedelta(seconds=31)).hits == []
    assert len(searches) == 2


def test_what_fails_its_seal_is_not_answered(scope: Scope, ids: list[int]) -> None:
    assert ids[0] in {hit.memory.id for hit in ask(scope).hits}
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=ids[0]).update(text_ct=b"\x01\x01" + bytes(200))

    assert ids[0] not in {hit.memory.id for hit in ask(scope).hits}


def test_nothing_that_was_said_is_kept(scope: Scope, ids: list[int]) -> None:
    ask(scope)

    kept = pickle.dumps([list(entries.items()) for entries in answers._projects.values()])

    assert len(answers) == 1
    assert not [word for word in (b"heron", b"Sunday", b"nest", b"alice", b"acme") if word in kept]


def test_an_answer_that_was_cut_is_not_kept(scope: Scope, ids: list[int], settings: Any) -> None:
    settings.RECALL_BUDGET_MS = 0.001

    assert ask(scope).legs_cut
    assert len(answers) == 0
