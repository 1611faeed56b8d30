"""Where rows of others could only take a place: under a limit, in a queue for a lock, between two turns of a session.

No answer ever holds them, so nothing but these tests would miss the condition that keeps them out (``test_filters``).
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from apps.adapters.instances import get_embedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.edges.opened import NewEdge
from apps.edges.services import connect
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.ingest.models import TurnReceipt
from apps.ingest.turns import REPLAY_WINDOW, Turn, take_turn
from apps.memories import nearest
from apps.memories.analyses import fetch_analyses, open_texts
from apps.memories.models import Memory
from apps.memories.services import count_accesses
from apps.projects.scope import Scope
from apps.recall import options
from apps.recall.cache import answers
from apps.recall.services import recall
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

TALK = (
    "The heron nests beside the northern lock.",
    "It came back on Sunday morning.",
    "Two eggs were counted through the binoculars.",
    "The ranger put a fence around the reeds.",
    "Nobody may land a boat there until July.",
    "In August the young ones fly.",
)


def remember(scope: Scope, *texts: str, **fields: Any) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6, **fields) for text in texts]
    return [outcome.memory_ids[0] for outcome in services.remember(scope, proposals, now=NOW)]


def test_the_nearest_are_as_many_as_were_asked_for(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "_SPARE", 0)
    mine, theirs = make_scope(acme), make_scope(globex)
    ids = remember(mine, *TALK)
    remember(theirs, *TALK)
    (vector,) = get_embedder().embed([TALK[0]])

    with tenant_transaction(mine):
        cipher = open_space(mine.tenant, mine.space)
        found = nearest.nearest(mine, mine.space, vector, cipher, limit=len(TALK), now=NOW)

    assert {memory_id for memory_id, _ in found} == set(ids)


def test_the_turn_after_is_the_next_of_ones_own(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "candidates_per_retriever", lambda limit: 1)
    mine, theirs = make_scope(acme), make_scope(globex)
    remember(mine, TALK[0], session_id="talk")
    remember(theirs, *TALK, session_id="talk")
    remember(mine, *TALK[1:], session_id="talk")

    found = recall(mine, Plaintext(TALK[0]), limit=50, now=NOW)

    assert [hit.memory.text.reveal() for hit in found.hits] == list(TALK[:2])


def test_the_turn_before_counts_with_its_vector_whichever_way_it_was_found(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "candidates_per_retriever", lambda limit: 1)
    mine = make_scope(acme)
    remember(mine, *TALK, session_id="talk")

    def score() -> float:
        return recall(mine, Plaintext(TALK[-1]), limit=1, now=NOW).hits[0].score

    among_the_nearest = score()
    monkeypatch.setattr(nearest, "_SPARE", 0)
    answers.clear()

    assert score() == among_the_nearest


def test_texts_and_analyses_are_of_ones_own_space(acme: OpenedTenant, globex: OpenedTenant) -> None:
    mine, beside, theirs = make_scope(acme), make_scope(acme, "bob"), make_scope(globex)
    (own,), (next_door,), (foreign,) = remember(mine, TALK[0]), remember(beside, TALK[1]), remember(theirs, TALK[2])
    ids = [own, next_door, foreign]

    with tenant_transaction(mine):
        cipher = open_space(mine.tenant, mine.space)
        texts = open_texts(mine, mine.space, ids, cipher, None, now=NOW)
        sealed = fetch_analyses(mine, mine.space, ids, None)

    assert {memory_id: text.reveal() for memory_id, text in texts.items()} == {own: TALK[0]}
    assert [row.id for row in sealed] == [own]


def test_a_relation_leads_to_what_nothing_else_finds(acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "candidates_per_retriever", lambda limit: 1)
    mine = make_scope(acme)
    heron, boats = remember(mine, TALK[0], TALK[4])
    connect(mine, [NewEdge(from_id=heron, to_id=boats, type="caused_by")], now=NOW)

    found = recall(mine, Plaintext(TALK[0]), limit=50, now=NOW)

    assert {hit.memory.id for hit in found.hits} == {heron, boats}


def test_a_hundred_old_receipts_of_ones_own_go_with_each_turn(acme: OpenedTenant, globex: OpenedTenant) -> None:
    mine, theirs = make_scope(acme), make_scope(globex)
    for scope in (theirs, mine):
        with tenant_transaction(scope):
            TurnReceipt.objects.bulk_create(
                scope,
                (
                    TurnReceipt(
                        space_id=scope.space.id,
                        turn_mac=number.to_bytes(16),
                        created_at=NOW - REPLAY_WINDOW - timedelta(days=1),
                    )
                    for number in range(150)
                ),
            )

    take_turn(mine, "alice", Turn(text=Plaintext("My dog is called Rex."), source="chat"), now=NOW)

    assert [receipts(scope) for scope in (mine, theirs)] == [51, 150]


def receipts(scope: Scope) -> int:
    with tenant_transaction(scope):
        return TurnReceipt.objects.within(scope).count()


@pytest.fixture
def impatient() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("set lock_timeout = '2s'")
        yield
        cursor.execute("reset lock_timeout")


@pytest.mark.django_db(transaction=True, databases="__all__")
@pytest.mark.usefixtures("impatient")
def test_counting_accesses_waits_for_no_row_of_somebody_else(
    acme: OpenedTenant, globex: OpenedTenant, superuser_url: str
) -> None:
    mine, theirs = make_scope(acme), make_scope(globex)
    (own,), (foreign,) = remember(mine, TALK[0]), remember(theirs, TALK[0])
    name = connections["default"].settings_dict["NAME"]

    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{name}") as busy:
        busy.execute("select from memories_memory where id = %s for update", [foreign])
        count_accesses(mine, {own: 1, foreign: 1}, now=NOW)

    with tenant_transaction(mine):
        assert Memory.objects.within(mine).get(pk=own).access_count == 1
