"""Edges between memories: written once, read by whom both ends are open to, and hidden with either end."""

import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.edges.graph import graph_around
from apps.edges.models import MemoryEdge
from apps.edges.opened import Edge, NewEdge
from apps.edges.selectors import edges_of, neighbours
from apps.edges.services import RelationNotFound, SelfRelation, UnknownRelationType, connect, disconnect
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.key_management import rotation
from apps.memories.models import Memory
from apps.memories.selectors import MemoryNotFound
from apps.projects.scope import Environment, Scope
from apps.recall.retrievers.graph import follow
from tests.makers import NOW, make_scope, make_tenant

pytestmark = pytest.mark.django_db(databases="__all__")

# About different things, so that nothing is found between them at the write.
SAID = (
    "The spare key lies under the blue flower pot.",
    "Granite is an igneous rock made of quartz and feldspar.",
    "Our choir rehearses Fauré on Thursday evenings.",
    "Diesel trains still run between Faro and Lagos.",
)


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def keep(scope: Scope, *texts: str, **fields: Any) -> list[int]:
    """Remembered whole; the ids, in order."""
    proposals = [Proposal(text=Plaintext(text), importance=0.6, **fields) for text in texts]
    return [outcome.memory_ids[0] for outcome in remember(scope, proposals, now=NOW)]


def link(scope: Scope, from_id: int, to_id: int, type_: str = "supports", **fields: Any) -> Edge:
    (edge,) = connect(scope, [NewEdge(from_id=from_id, to_id=to_id, type=type_, **fields)], now=NOW)
    return edge


def change(scope: Scope, memory_id: int, **fields: Any) -> None:
    with tenant_transaction(scope):
        Memory.objects.within_tenant(scope).filter(pk=memory_id).update(**fields)


def step(scope: Scope, ids: Sequence[int], **options: Any) -> list[tuple[int, int]]:
    with tenant_transaction(scope):
        return [(one.node_id, one.memory_id) for one in neighbours(scope, scope.space, ids, now=NOW, **options)]


def test_edge_comes_back_as_it_was_written(scope: Scope) -> None:
    one, other, *_ = keep(scope, *SAID)

    edge = link(scope, one, other, confidence=0.4, metadata={"why": "both are grey"})

    assert edges_of(scope, [one], now=NOW) == [edge] == edges_of(scope, [other], now=NOW)
    assert (edge.from_id, edge.to_id, edge.type, edge.confidence) == (one, other, "supports", 0.4)
    assert edge.metadata == {"why": "both are grey"}
    assert not edge.is_automatic


def test_metadata_are_sealed(scope: Scope) -> None:
    one, other, *_ = keep(scope, *SAID)

    edge = link(scope, one, other, metadata={"why": "both are grey"})

    with tenant_transaction(scope):
        blob = bytes(MemoryEdge.objects.within(scope).get(pk=edge.id).metadata_ct or b"")
    assert blob
    assert b"grey" not in blob


def test_said_again_it_is_the_same_edge_with_what_was_said_last(scope: Scope) -> None:
    one, other, *_ = keep(scope, *SAID)
    before = link(scope, one, other, confidence=0.4, metadata={"why": "both are grey"})

    after = link(scope, one, other, confidence=0.9)

    assert (after.id, after.confidence, after.metadata) == (before.id, 0.9, {})
    assert edges_of(scope, [one], now=NOW) == [after]


def test_many_at_once_are_all_or_none(scope: Scope) -> None:
    one, other, third, *_ = keep(scope, *SAID)
    edges = [NewEdge(from_id=one, to_id=other, type="similar"), NewEdge(from_id=one, to_id=10**9, type="similar")]

    with pytest.raises(MemoryNotFound):
        connect(scope, edges, now=NOW)
    connect(scope, [replace(edge, to_id=third) for edge in edges], now=NOW)

    assert [edge.to_id for edge in edges_of(scope, [one], now=NOW)] == [third]


def test_types_are_those_of_the_ontology(scope: Scope) -> None:
    one, other, *_ = keep(scope, *SAID)

    with pytest.raises(UnknownRelationType):
        link(scope, one, other, "married_to")


def test_no_memory_is_related_to_itself(scope: Scope) -> None:
    (one,) = keep(scope, SAID[0])

    with pytest.raises(SelfRelation):
        link(scope, one, one)
    with pytest.raises(IntegrityError, match="edge_no_loop"):
        insert_at_once(scope, one, one)


def test_edge_is_taken_away_by_either_end_and_by_no_other(scope: Scope) -> None:
    one, other, third, *_ = keep(scope, *SAID)
    edge = link(scope, one, other)

    with pytest.raises(RelationNotFound):
        disconnect(scope, third, edge.id, now=NOW)
    disconnect(scope, other, edge.id, now=NOW)

    assert edges_of(scope, [one, other], now=NOW) == []
    with pytest.raises(RelationNotFound):
        disconnect(scope, one, edge.id, now=NOW)


# -- whose -------------------------------------------------------------------------------------------------------------


def others(acme: OpenedTenant) -> dict[str, Scope]:
    return {
        "another end user": make_scope(acme, "bob"),
        "another environment": make_scope(acme, environment=Environment.STAGING),
        "another tenant": make_scope(make_tenant("globex")),
    }


def test_no_edge_crosses_spaces_environments_or_tenants(acme: OpenedTenant, scope: Scope) -> None:
    (mine,) = keep(scope, SAID[0])
    for other in others(acme).values():
        (theirs,) = keep(other, SAID[1])
        for asking, one, two in ((scope, mine, theirs), (scope, theirs, mine), (other, mine, theirs)):
            with pytest.raises(MemoryNotFound):
                link(asking, one, two)


def test_database_itself_refuses_an_edge_across_spaces(acme: OpenedTenant, scope: Scope) -> None:
    (mine,) = keep(scope, SAID[0])
    bob = make_scope(acme, "bob")
    (theirs,) = keep(bob, SAID[1])

    with pytest.raises(IntegrityError, match="in_space"):
        insert_at_once(scope, mine, theirs)


def insert_at_once(scope: Scope, from_id: int, to_id: int) -> None:
    with tenant_transaction(scope), connection.cursor() as cursor:
        MemoryEdge.objects.create(
            scope, space_id=scope.space.id, from_memory_id=from_id, to_memory_id=to_id,
            type="similar", key_version=1, created_at=NOW,
        )  # fmt: skip
        cursor.execute("set constraints all immediate")


def test_strangers_see_no_edge(acme: OpenedTenant, scope: Scope) -> None:
    one, other, *_ = keep(scope, *SAID)
    edge = link(scope, one, other)

    for stranger in others(acme).values():
        assert edges_of(stranger, [one, other], now=NOW) == []
        assert step(stranger, [one]) == []
        with pytest.raises(RelationNotFound):
            disconnect(stranger, one, edge.id, now=NOW)
    assert edges_of(scope, [one], now=NOW) == [edge]


def test_project_is_a_wall_for_each_end(acme: OpenedTenant, scope: Scope) -> None:
    in_project = replace(scope, project_id=acme.project.pk)
    (of_none,) = keep(scope, SAID[0])
    (of_project,) = keep(in_project, SAID[1])
    edge = link(in_project, of_none, of_project)
    elsewhere = replace(scope, project_id=acme.project.pk + 1_000_000)

    assert edges_of(in_project, [of_none], now=NOW) == [edge]
    assert edges_of(elsewhere, [of_none], now=NOW) == []
    assert step(elsewhere, [of_none]) == []


# -- liveness ----------------------------------------------------------------------------------------------------------

GONE: dict[str, dict[str, Any]] = {
    "soft-deleted": {"retention_status": "soft_deleted"},
    "about to be purged": {"retention_status": "hard_delete_pending"},
    "purged": {"retention_status": "purged"},
    "past its time": {"expires_at": NOW - timedelta(seconds=1)},
}


@pytest.mark.parametrize("fields", GONE.values(), ids=GONE.keys())
def test_memory_that_goes_hides_its_edges_and_brings_them_back(scope: Scope, fields: dict[str, Any]) -> None:
    one, other, *_ = keep(scope, *SAID)
    edge = link(scope, one, other)
    before = {"retention_status": "active", "expires_at": None}

    change(scope, other, **fields)

    assert edges_of(scope, [one], now=NOW) == [] == edges_of(scope, [other], now=NOW)
    assert step(scope, [one]) == []
    change(scope, other, **before)
    assert edges_of(scope, [one], now=NOW) == [edge]


@pytest.mark.parametrize("fields", [{"retention_status": "archived"}, {"validity": "superseded"}], ids=str)
def test_what_is_readable_and_not_recalled_shows_its_edges_and_leads_nowhere(
    scope: Scope, fields: dict[str, Any]
) -> None:
    one, other, *_ = keep(scope, *SAID)
    edge = link(scope, one, other)

    change(scope, other, **fields)

    assert edges_of(scope, [one], now=NOW) == [edge]
    assert edges_of(scope, [one], live=True, now=NOW) == []
    assert step(scope, [one]) == []


# -- steps -------------------------------------------------------------------------------------------------------------


def test_steps_lead_both_ways_and_never_along_a_contradiction(scope: Scope) -> None:
    one, two, three, four = keep(scope, *SAID)
    link(scope, one, two)
    link(scope, three, one)
    link(scope, one, four, "contradiction")

    assert sorted(step(scope, [one])) == [(one, two), (one, three)]
    assert step(scope, [two]) == [(two, one)]
    assert step(scope, [four]) == []


def test_strongest_steps_are_kept(scope: Scope) -> None:
    one, two, three, four = keep(scope, *SAID)
    link(scope, one, two, "similar", confidence=1.0)
    link(scope, one, three, "supports", confidence=0.9)
    link(scope, four, one, "supports", confidence=0.8)

    assert step(scope, [one], limit=2) == [(one, three), (one, four)]


def test_hub_of_ten_thousand_costs_its_best_few_and_no_scan(scope: Scope) -> None:
    hub, *rest = keep(scope, *SAID)
    with tenant_transaction(scope), connection.cursor() as cursor:
        columns = [
            field.column for field in Memory._meta.concrete_fields if field.column not in ("id", "public_id", "slot")
        ]
        names = ", ".join(columns)
        cursor.execute(
            f"insert into memories_memory (id, public_id, {names}) "  # noqa: S608
            f"select nextval('memories_memory_id_seq'), 'copy' || n, {names} from memories_memory, "
            "generate_series(1, 10000) n where id = %s returning id",
            [rest[0]],
        )
        spokes = [row[0] for row in cursor.fetchall()]
        cursor.execute("discard plans")  # foreign keys are checked by one made when the table had three rows
        cursor.execute(
            "insert into edges_memoryedge (tenant_id, space_id, from_memory_id, to_memory_id, type, confidence, "
            "is_automatic, key_version, revision, created_at) "
            "select %s, %s, %s, id, 'supports', 0.5, false, 1, 1, %s from unnest(%s::bigint[]) id",
            [scope.tenant_id, scope.space.id, hub, NOW, spokes],
        )
        plans: list[str] = []

        def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            if sql.startswith("select node.id"):
                execute(f"explain {sql}", params, many, context)
                plans.extend(line for (line,) in context["cursor"].fetchall())
            return execute(sql, params, many, context)

        with connection.execute_wrapper(explained):
            steps = neighbours(scope, scope.space, [hub], now=NOW)

        drawn = graph_around(scope, hub, depth=2, limit=50, now=NOW)

    assert len(steps) == 10
    assert drawn.is_truncated
    assert plans
    assert [line for line in plans if "Seq Scan" in line] == []


# -- any graph ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_what_is_reached_is_what_a_plain_walk_over_visible_memories_reaches(
    acme: OpenedTenant, scope: Scope, seed: int
) -> None:
    chance = random.Random(seed)
    # Without deduplication nothing goes by likeness: there are no edges but those that are stated.
    bob = make_scope(acme, "bob")
    mine = keep(scope, *(f"Locker {n} holds volume {n} of the old atlas." for n in range(14)), deduplicate=False)
    theirs = keep(bob, *(f"Locker {n} holds volume {n} of the old atlas." for n in range(6)), deduplicate=False)
    links = {tuple(chance.sample(mine, 2)) for _ in range(22)}
    connect(scope, [NewEdge(from_id=one, to_id=two, type="supports") for one, two in sorted(links)], now=NOW)
    connect(bob, [NewEdge(from_id=theirs[0], to_id=two, type="supports") for two in theirs[1:]], now=NOW)
    hidden = set(chance.sample(mine[1:], 4))
    for memory_id in hidden:
        change(scope, memory_id, **chance.choice([*GONE.values(), {"validity": "superseded"}]))

    for hops in (1, 2, 3):
        with tenant_transaction(scope):
            found = follow(
                lambda ids: neighbours(scope, scope.space, ids, limit=50, now=NOW), {mine[0]: 1.0}, hops=hops
            )
        assert found.keys() == walk(mine[0], links, hidden, hops)


def walk(start: int, links: Iterable[tuple[int, ...]], hidden: set[int], hops: int) -> set[int]:
    seen, frontier = {start}, {start}
    for _ in range(hops):
        ends = {end for link in links if frontier & set(link) for end in link}
        frontier = ends - seen - hidden
        seen |= frontier
    return seen - {start}


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_same_edge_stated_by_many_at_once_is_one(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    one, other = keep(scope, *SAID[:2])

    def state(at: int) -> int:
        try:
            return link(scope, one, other, confidence=at / 10).id
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        edge_ids = set(pool.map(state, range(8)))

    assert len(edge_ids) == 1
    assert [edge.id for edge in edges_of(scope, [one], now=NOW)] == list(edge_ids)


@pytest.mark.parametrize("live", [False, True])
def test_edges_of_a_memory_are_read_by_index(scope: Scope, live: bool) -> None:
    one, other, *_ = keep(scope, *SAID)
    link(scope, one, other)
    plans: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "edges_memoryedge" in sql:
            execute(f"explain {sql}", params, many, context)
            plans.extend(line for (line,) in context["cursor"].fetchall())
        return execute(sql, params, many, context)

    with tenant_transaction(scope), connection.cursor() as cursor:
        # Tables this small are scanned whole for good reason: what is asked is whether they have to be.
        cursor.execute("set local enable_seqscan = off")
        with connection.execute_wrapper(explained):
            edges_of(scope, [one], live=live, now=NOW)

    assert plans
    assert [line for line in plans if "Seq Scan" in line] == []


# -- keys --------------------------------------------------------------------------------------------------------------


def test_edges_are_sealed_anew_when_the_key_turns(scope: Scope) -> None:
    one, other, *_ = keep(scope, *SAID)
    edge = link(scope, one, other, metadata={"why": "both are grey"})

    turning = rotation.rotate(scope, reason="test", now=NOW)
    while rotation.work(turning.pk, seconds=60, workers=1, clock=lambda: NOW) != SliceOutcome.OVER:
        pass

    with tenant_transaction(scope):
        row = MemoryEdge.objects.within(scope).get(pk=edge.id)
    assert row.key_version == 2
    assert edges_of(scope, [one], now=NOW) == [edge]
