"""History and state while keys turn: read under either key, known again after a compromise, and gone when shredded."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.crypto.services import key_version_of
from apps.history import state_queries, state_writes, turns
from apps.history.models import HistoryTurn, StateItem
from apps.history.state_writes import NewState
from apps.history.turns import NewTurn
from apps.ingest.conversation_sync import append_history
from apps.ingest.models import DerivedFact, TurnReceipt
from apps.ingest.turns import Turn, take_turn
from apps.key_management import rotation
from apps.memories.models import QuarantinedRow
from apps.memories.spaces import reread_space
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.tenants.services import set_policy
from tests.makers import NOW, make_scope
from tests.shredding import shred_space

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = (
    NewTurn(role="user", content=Plaintext("I live in Lisbon."), seq=0, payload={"n": [1]}, idempotency_key="k"),
    NewTurn(role="assistant", content=Plaintext("How nice!"), seq=1),
)
PUT = NewState(namespace=("users", "alice"), key="profile", value={"tone": "brief"}, source="api")
PLAIN = NewState(namespace=("users",), key="plain", value={"tone": "warm"}, source="api", is_indexed=False)


def append(scope: Scope) -> list[Any]:
    return turns.append(scope, "s1", SAID, source="api", metadata={}, now=NOW)


def everything(scope: Scope) -> tuple[Any, ...]:
    listed = state_queries.list_items(scope, ("users",), source="api", limit=10, now=NOW)
    found = state_queries.search(scope, Plaintext("which tone?"), (), source="api", limit=10, now=NOW)
    return turns.read(scope, "s1", source="api", limit=0, now=NOW), listed, found


def versions(scope: Scope) -> set[int]:
    with tenant_transaction(scope):
        rows: list[Any] = [*HistoryTurn.objects.within(scope), *StateItem.objects.within(scope)]
    blobs = [getattr(row, name, None) for row in rows for name in ("content_ct", "about_ct", "item_ct", "embedding_ct")]
    return {row.key_version for row in rows} | {key_version_of(bytes(blob)) for blob in blobs if blob}


def turn_keys(scope: Scope, **how: Any) -> None:
    asked = rotation.rotate(scope, reason="test", now=NOW, **how)
    assert rotation.work(asked.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.OVER


@pytest.fixture
def scope(acme: OpenedTenant) -> Iterator[Scope]:
    scope = make_scope(acme)
    append(scope)
    state_writes.put(scope, PUT, now=NOW)
    state_writes.put(scope, PLAIN, now=NOW)
    yield scope
    read_log.flush()


def test_every_row_is_sealed_anew_and_says_what_it_said(scope: Scope) -> None:
    before = everything(scope)

    turn_keys(scope)

    assert everything(scope) == before
    assert versions(scope) == {2}


def test_between_two_keys_everything_is_read(scope: Scope) -> None:
    before = everything(scope)
    rotation.rotate(scope, reason="test", now=NOW)

    assert everything(scope) == before
    assert [turn.is_new for turn in append(scope)] == [False, False]
    assert state_writes.put(scope, PUT, now=NOW).is_new is False


def test_after_a_compromise_what_was_known_is_known_again(scope: Scope) -> None:
    before = everything(scope)

    turn_keys(scope, is_compromise=True)
    again = reread_space(scope)

    assert everything(again) == before
    assert [turn.is_new for turn in append(again)] == [False, False]
    assert state_writes.put(again, PUT, now=NOW).is_new is False
    assert state_queries.list_namespaces(again, ("users",), source="api", max_depth=None, limit=9, now=NOW).total == 2
    assert len(state_writes.delete(again, ("users", "alice"), ["profile"], source="api", now=NOW)) == 1


def test_row_that_does_not_open_is_put_aside_and_the_rest_is_done(scope: Scope) -> None:
    with tenant_transaction(scope):
        broken = HistoryTurn.objects.within(scope).order_by("pk").first()
        assert broken is not None
        HistoryTurn.objects.within(scope).filter(pk=broken.pk).update(content_ct=b"\x00" * 80)

    turn_keys(scope)

    with tenant_transaction(scope):
        (listed,) = QuarantinedRow.objects.within(scope)
    assert (listed.table, listed.record_id) == ("history_turn", broken.pk)


def test_sealed_space_keeps_state_and_searches_it(acme: OpenedTenant) -> None:
    set_policy(acme.tenant, new_spaces="sealed", actor="test", now=NOW)
    sealed = make_scope(acme, "sealed")
    append(sealed)
    state_writes.put(sealed, PUT, now=NOW)

    _, listed, found = everything(sealed)

    assert [item.key for item in listed.items] == [item.key for item in found.items] == ["profile"]


def test_shredding_a_space_takes_all_of_it(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    append_history(scope, "alice", "s1", SAID, source="api", metadata={}, extract=True, now=NOW)
    take_turn(scope, "alice", Turn(text=Plaintext("My dog is called Rex."), source="chat"), now=NOW)
    state_writes.put(scope, PUT, now=NOW)
    counted: tuple[Any, ...] = (HistoryTurn, StateItem, DerivedFact, TurnReceipt)

    def counts() -> list[bool]:
        with tenant_transaction(scope):
            return [model.objects.within(scope).exists() for model in counted]

    assert counts() == [True] * 4
    shred_space(scope, scope.space.uid, now=NOW)

    assert counts() == [False] * 4
    after = make_scope(acme)
    append_history(scope, "alice", "s1", SAID, source="api", metadata={}, extract=True, now=datetime.now(NOW.tzinfo))
    assert turns.read(after, "s1", source=None, limit=0, now=NOW).total == 2
