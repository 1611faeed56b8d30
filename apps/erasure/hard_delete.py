"""Permanent deletion of single memories: when their retention ends and, with all derived data, when they are erased."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from psycopg.sql import SQL, Composed, Identifier

from apps.core.queries import execute, fetch_value
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, SpaceShredded
from apps.erasure.project_tables import PROJECT_TABLES
from apps.ingest.models import DerivedFact
from apps.ingest.source_links import covering
from apps.memories import lineage, tombstones
from apps.memories.models import Memory
from apps.memories.spaces import lock_space
from apps.outbox.services import enqueue
from apps.projects.models import Project, Space
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import branches_of
from apps.sources.models import ObjectMemory
from apps.summaries.models import Cluster, ClusterMember
from apps.transfers.exports.files import discard

BATCH: Final = 200  # memories of one transaction

# Rows deleted with a memory: the kind as receipts count it, the table, and the columns with the memory's id.
ALONG: Final = (
    ("vectors", "memories_memoryvector", ("memory_id",)),
    ("terms", "memories_posting", ("memory_id",)),
    ("mentions", "entities_entitymention", ("memory_id",)),
    ("edges", "edges_memoryedge", ("from_memory_id", "to_memory_id")),
    ("claims", "memories_memoryclaim", ("memory_id",)),
    ("claims", "entities_entityclaim", ("memory_id",)),
    ("periods", "memories_memoryperiod", ("memory_id",)),
    ("feedback", "memories_memoryfeedback", ("memory_id",)),
    ("members", "summaries_clustermember", ("memory_id",)),
    ("links", "ingest_derivedfact", ("memory_id",)),
    ("links", "sources_objectmemory", ("memory_id",)),
)


def delete_rows(scope: Scope, ids: Sequence[int], *, now: datetime) -> None:
    """Permanently delete these memories, their derived rows, and every export file that contains one.

    Their history keeps ids and times only.  Call it inside the tenant's transaction, with the rows locked.
    """
    _forget_told(scope, ids)
    note_steps(scope, ids, "purged", now=now)
    mine: dict[str, Any] = {"tenant": scope.tenant_id, "ids": list(ids)}
    # A turn would tell again, in a summary or a search, what was deleted.
    execute(
        "update history_historyturn turn set is_withheld = true "
        "from ingest_derivedfact link, memories_memory memory "
        "where turn.tenant_id = %(tenant)s and link.tenant_id = turn.tenant_id and link.source_id = turn.id "
        "and memory.tenant_id = turn.tenant_id and memory.id = link.memory_id and not memory.is_summary "
        "and link.memory_id = any(%(ids)s)",
        mine,
    )
    # The old and new values of changed fields are content too.
    execute(
        "update memories_memorytransition set diff_ct = null, key_version = null, changed_fields = '{}' "
        "where tenant_id = %(tenant)s and memory_id = any(%(ids)s) and diff_ct is not null",
        mine,
    )
    # Not through Django, which would collect dependent rows first and then delete by id only.
    execute("delete from memories_memory where tenant_id = %(tenant)s and id = any(%(ids)s)", mine)
    discard(scope, memory_ids=ids, now=now)


def note_steps(scope: Scope, ids: Sequence[int], event: str, *, now: datetime) -> None:
    """Add the event to the history of each of these memories.  Call it inside the tenant's transaction."""
    execute(
        "insert into memories_memorytransition "
        "(tenant_id, memory_id, space_id, txid, event, actor, changed_fields, created_at) "
        "select tenant_id, id, space_id, changed_txid, %(event)s, %(actor)s, '{}', %(now)s from memories_memory "
        "where tenant_id = %(tenant)s and id = any(%(ids)s) order by id",
        {"tenant": scope.tenant_id, "ids": list(ids), "event": event, "actor": scope.principal.label, "now": now},
    )


def _forget_told(scope: Scope, ids: Sequence[int]) -> None:
    """Delete sent and pending webhook events about these memories.  Their deletion is announced after this."""
    for table in ("webhooks_webhookevent", "webhooks_webhookdelivery"):
        execute(
            f"delete from {table} told using memories_memory memory "  # noqa: S608  (a table of ours)
            "where told.tenant_id = %s and memory.tenant_id = told.tenant_id and memory.id = any(%s) "
            # An event about several end users has no space.
            "and (told.space_id = memory.space_id or told.space_id is null) and memory.id = any(told.memory_ids)",
            [scope.tenant_id, list(ids)],
        )


def copies_of(scope: Scope, memory_ids: Iterable[int]) -> list[int]:
    """Return the memories of branches that are copies of these, or that state the same; ascending.

    A branch has no branches.  Call it inside the tenant's transaction.
    """
    given = list(memory_ids)
    mine = Memory.objects.within_tenant(scope)
    found = set(mine.filter(copied_from__in=given).values_list("pk", flat=True))
    rows = mine.filter(pk__in=given).values_list("space_id", "public_id")
    origins = (
        Space.objects.within(scope).filter(pk__in={space_id for space_id, _ in rows}).values_list("uid", flat=True)
    )
    if branches := branches_of(scope, list(origins)):
        # A branch has its origin's identity key, and no other space has it: public ids are equal only in these.
        same = mine.filter(
            space_id__in=[one.pk for one in branches], public_id__in={public_id for _, public_id in rows}
        )
        found |= set(same.values_list("pk", flat=True))
    return sorted(found)


def lock_copies(scope: Scope, memory_ids: Iterable[int]) -> list[int]:
    """Lock and return the copies of these memories that are not under a legal hold."""
    rows = Memory.objects.within_tenant(scope).filter(pk__in=copies_of(scope, memory_ids), legal_hold=False)
    return list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))


def with_derived(
    scope: Scope, memory_ids: Iterable[int], source_ids: Sequence[int] = ()
) -> tuple[list[int], list[int]]:
    """Return the existing ones of these memories, and all summaries derived from them, directly or indirectly.

    Both in ascending order.  source_ids: turns that are deleted too; the summaries that cover them are derived.
    Call it inside the tenant's transaction.
    """
    there = Memory.objects.within_tenant(scope).filter(pk__in=list(memory_ids))
    chosen = set(there.values_list("pk", flat=True))
    derived = set(covering(scope, source_ids)) - chosen
    newest = chosen | derived
    while newest:
        newest = set(lineage.summaries_of(scope, sorted(newest))) - derived - chosen
        derived |= newest
    return sorted(chosen), sorted(derived)


def count(scope: Scope, memory_ids: Sequence[int], *, with_sources: bool) -> Counter[str]:
    """Count by kind what ``erase`` would delete for these memories.  Changes nothing."""
    with tenant_transaction(scope):
        sources = _sources(scope, memory_ids)
        chosen, derived = with_derived(scope, memory_ids, sources if with_sources else ())
        found = Counter({"memories": len(chosen), "derived": len(derived), "copies": _copies_among(scope, chosen)})
        every = [*chosen, *derived]
        for kind, table, columns in ALONG:
            for column in columns:
                found[kind] += _count(scope, table, column, every)
        found["candidates"] = _count(scope, "ingest_candidate", "memory_id", every)
        objects = _objects(scope, chosen)
        found["sources" if with_sources else "residual_sources"] = len(sources) + len(objects)
    return +found


def erase(scope: Scope, memory_ids: Sequence[int], *, with_sources: bool, now: datetime) -> int:
    """Delete these memories, data derived from them, and pending candidates with the same text; return their number.

    Copies in branches are deleted too.  So are summaries; topic summaries are remade without them.
    with_sources: also delete the turns, state items and records of external objects they were made from.  Each batch
    is one transaction, so an interrupted call can be repeated.
    """
    gone = 0
    for space_id, ids in _by_space(scope, memory_ids):
        for start in range(0, len(ids), BATCH):
            with tenant_transaction(scope):
                gone += _erase(scope, space_id, ids[start : start + BATCH], with_sources=with_sources, now=now)
    with tenant_transaction(scope):
        # Of a branch that was made since the memories were looked up; its copies name what they are copies of.
        copies = copies_of(scope, memory_ids)
    return gone + erase(scope, copies, with_sources=with_sources, now=now) if copies else gone


def erase_turns(scope: Scope, turn_ids: Sequence[int], *, now: datetime) -> None:
    """Delete these turns of conversations, and the summaries that cover them.  May be repeated."""
    if not turn_ids:
        return
    with tenant_transaction(scope):
        _, summaries = with_derived(scope, (), turn_ids)
    erase(scope, summaries, with_sources=False, now=now)
    with tenant_transaction(scope):
        _delete_sources(scope, turn_ids)


def erase_waiting_of_project(scope: Scope, public_id: str) -> None:
    """Delete a project's pending candidates and its other rows in PROJECT_TABLES."""
    with tenant_transaction(scope):
        project_ids = list(Project.objects.within(scope).filter(public_id=public_id).values_list("pk", flat=True))
        for one in PROJECT_TABLES:
            _delete(scope, one.table, "project_id", project_ids)


def erase_project(scope: Scope, project_id: int) -> None:
    """Delete the row of an empty project, and its policy."""
    _delete(scope, "projects_project", "id", [project_id])


def _by_space(scope: Scope, memory_ids: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    with tenant_transaction(scope):
        rows = Memory.objects.within_tenant(scope).filter(pk__in=list(memory_ids)).order_by("space_id", "pk")
        found: dict[int, list[int]] = {}
        for memory_id, space_id in rows.values_list("pk", "space_id"):
            found.setdefault(space_id, []).append(memory_id)
    yield from found.items()


def _erase(scope: Scope, space_id: int, memory_ids: Sequence[int], *, with_sources: bool, now: datetime) -> int:
    cipher = _lock(scope, space_id)
    sources = _sources(scope, memory_ids) if with_sources else []
    chosen, derived = with_derived(scope, memory_ids, sources)
    every = [*chosen, *derived]
    rows = Memory.objects.within_tenant(scope).filter(pk__in=every).order_by("pk").select_for_update()
    locked = list(rows.only("pk", "tenant_id", "text_mac", "said_mac", "is_summary"))
    digests = _digests(locked)
    clusters = set(
        ClusterMember.objects.within(scope).filter(memory_id__in=chosen).values_list("cluster_id", flat=True)
    )
    if with_sources:
        _delete_sources(scope, sources)
        _delete(scope, "sources_externalobject", "id", _objects(scope, chosen))
    for table, column, values in (
        ("ingest_candidate", "memory_id", every),
        ("ingest_candidate", "digest", digests),
        ("ingest_reviewitem", "memory_id", every),
        ("ingest_reviewitem", "digest", digests),
        ("memories_quarantinedrow", "record_id", every),
        ("recall_recalltrace", "space_id", [space_id]),
    ):
        _delete(scope, table, column, values)
    if cipher is not None:
        tombstones.record_erased_texts(
            scope, space_id, cipher, _digests(row for row in locked if not row.is_summary), now=now
        )
    delete_rows(scope, every, now=now)
    _tend(scope, clusters, now=now)
    return len(chosen)


def _digests(rows: Iterable[Memory]) -> list[bytes]:
    """Return the text digests of these memories, and of their earlier texts if a part of the text has ended."""
    return [bytes(mac) for row in rows for mac in (row.text_mac, row.said_mac) if mac]


def _lock(scope: Scope, space_id: int) -> SpaceCipher | None:
    """Lock the space against writers and invalidate its cached responses; return its cipher.

    Returns None if the space is shredded.
    """
    space = Space.objects.within(scope).get(pk=space_id)
    there = replace(scope, environment=Environment(space.environment)).in_spaces(space.ref)
    try:
        locked, cipher = lock_space(there)
    except SpaceShredded:
        return None
    locked.txid += 1
    locked.save(update_fields=["txid"])
    return cipher


def _sources(scope: Scope, memory_ids: Sequence[int]) -> list[int]:
    """Return the ids of the turns and state items from which these memories were extracted."""
    links = DerivedFact.objects.within(scope).filter(memory_id__in=list(memory_ids), memory__is_summary=False)
    return sorted(set(links.values_list("source_id", flat=True)))


def _objects(scope: Scope, memory_ids: Sequence[int]) -> list[int]:
    """Return the ids of the external objects that state or stated these memories."""
    links = ObjectMemory.objects.within(scope).filter(memory_id__in=list(memory_ids))
    return sorted(set(links.values_list("object_id", flat=True)))


def _delete_sources(scope: Scope, source_ids: Sequence[int]) -> None:
    _delete(scope, "ingest_reviewitem", "source_id", source_ids)
    _delete(scope, "ingest_derivedfact", "source_id", source_ids)
    _delete(scope, "history_historyturn", "id", source_ids)
    _delete(scope, "history_stateitem", "id", source_ids)


def _tend(scope: Scope, cluster_ids: Iterable[int], *, now: datetime) -> None:
    """Delete the topics that are now empty, and queue new summaries of the other topics."""
    left = set(
        ClusterMember.objects.within(scope)
        .filter(cluster_id__in=list(cluster_ids))
        .values_list("cluster_id", flat=True)
    )
    _delete(scope, "summaries_cluster", "id", sorted(set(cluster_ids) - left))
    Cluster.objects.within(scope).filter(pk__in=left).update(summary_id=None)
    enqueue(scope, "summarize", sorted(left), now=now)


def _copies_among(scope: Scope, memory_ids: Sequence[int]) -> int:
    """Count those of these memories that are in branches."""
    branches = Space.objects.within(scope).exclude(origin_uid=None).values("pk")
    return Memory.objects.within_tenant(scope).filter(pk__in=memory_ids, space_id__in=branches).count()


def _count(scope: Scope, table: str, column: str, values: Sequence[Any]) -> int:
    mine = SQL("select count(*) from {} where tenant_id = {} and {} = any({})")
    return int(fetch_value(mine.format(Identifier(table), scope.tenant_id, Identifier(column), _some_of(values))))


def _delete(scope: Scope, table: str, column: str, values: Sequence[Any]) -> None:
    # Not through Django, which would collect dependent rows first and then delete by id only.
    mine = SQL("delete from {} where tenant_id = {} and {} = any({})")
    execute(mine.format(Identifier(table), scope.tenant_id, Identifier(column), _some_of(values)))


def _some_of(values: Sequence[Any]) -> Composed:
    """Return the values as an SQL array.

    Ids are cast to bigint, the column's type: arrays of smaller integers would be compared one by one, not by hash.
    """
    is_ids = bool(values) and isinstance(values[0], int)
    return SQL("{}::bigint[]" if is_ids else "{}").format(list(values))
