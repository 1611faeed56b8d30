"""SQL of the pipeline: memories with the same text or slot, locked, and the last memory of each session."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from apps.core.prepared_sql import Columns
from apps.core.queries import execute, fetch_all, fetch_one
from apps.memories.models import Memory
from apps.memories.models.memory import Validity
from apps.projects.scope import Scope

_READ = (
    "id", "tenant_id", "type", "text_mac", "said_mac", "slot", "value_mac", "validity", "created_at",
    "superseded_by_id", "superseded_reason", "expires_at", "legal_hold", "valid_from", "valid_to", "known_from",
    "source", "source_kind", "source_strength", "pinned", "event_at", "outdated_by_id", "public_id",
    "repetition_count", "extractor_confidence", "type_prior", "last_used_at", "superseded_at", "changed_txid",
    "updated_at",
)  # fmt: skip


# Lateral, with bounds and an order that one index serves: each session's newest memory is the last index entry,
# however long the session is.
LAST_OF_SESSIONS = """
select wanted.token, last.id, last.said_at, vector.embedding_ct from unnest(%s::bigint[]) wanted(token)
cross join lateral (
    select memory.id, coalesce(memory.valid_from, memory.created_at) as said_at from memories_memory memory
    where memory.tenant_id = %s and memory.space_id = %s
      and memory.session_token >= wanted.token and memory.session_token <= wanted.token
      and memory.retention_status = 'active' and memory.validity <> 'superseded'
      and (memory.expires_at is null or memory.expires_at > %s)
      and (%s::bigint is null or memory.project_id is null or memory.project_id = %s)
    order by memory.session_token desc, memory.id desc limit 1
) last
cross join lateral (
    select embedding_ct from memories_memoryvector
    where tenant_id = %s and memory_id = last.id and embedder = %s limit 1
) vector
"""

MEMORY = Columns(Memory, "memory", only=_READ)
# Lateral, with bounds and an order that one index serves: a plan for all values may otherwise read the whole space.
# Rows are locked, so that the sweep removes none of them meanwhile, and in id order, as in all code that changes
# memories, so that there are no deadlocks.
ALIKE = f"""
select {MEMORY.sql} from (
    select same.* from unnest(%s::bytea[]) wanted(mac) cross join lateral (
        select tenant_id, id from memories_memory where tenant_id = %s and space_id = %s
        and text_mac >= wanted.mac and text_mac <= wanted.mac order by text_mac) same
    union
    select same.* from unnest(%s::bytea[]) wanted(mac) cross join lateral (
        select tenant_id, id from memories_memory where tenant_id = %s and space_id = %s
        and said_mac >= wanted.mac and said_mac <= wanted.mac order by said_mac) same
    union
    select same.* from unnest(%s::bytea[]) wanted(mac) cross join lateral (
        select tenant_id, id from memories_memory where tenant_id = %s and space_id = %s
        and slot >= wanted.mac and slot <= wanted.mac order by slot) same
    union
    select same.* from unnest(%s::text[]) wanted(id) cross join lateral (
        select tenant_id, id from memories_memory where tenant_id = %s and space_id = %s
        and public_id >= wanted.id and public_id <= wanted.id and retention_status = 'active' order by public_id) same
    union
    select same.* from unnest(%s::bytea[]) wanted(mac) cross join lateral (
        select tenant_id, memory_id from memories_memoryclaim where tenant_id = %s and space_id = %s
        and slot >= wanted.mac and slot <= wanted.mac order by slot) same
    order by id
) either cross join lateral (
    select * from memories_memory memory where (memory.tenant_id, memory.id) = (either.tenant_id, either.id)
    and memory.environment = %s and (%s::bigint is null or memory.project_id is null or memory.project_id = %s)
    and memory.retention_status = 'active' for no key update
) memory order by memory.id"""  # noqa: S608  (names of our own columns)
ROW_COLUMNS = Columns(
    Memory, "memory",
    only=("id", "type", "text_ct", "actor_token", "from_assistant", "created_at", "valid_from", "expires_at",
          "event_at", "said_ct", "parts_ct", "revision"),
)  # fmt: skip
ROW = f"""
select {ROW_COLUMNS.sql} from memories_memory memory where memory.tenant_id = %s and memory.space_id = %s
  and (%s::bigint is null or memory.project_id is null or memory.project_id = %s) and memory.id = %s"""  # noqa: S608


def execute_alike(
    cursor: Any,
    scope: Scope,
    space_id: int,
    *,
    macs: Collection[bytes],
    slots: Sequence[bytes],
    public_ids: Sequence[str],
) -> None:
    """Select and lock the memories with one of these digests, slots or public ids.

    The cursor's rows are ``MEMORY``'s.
    """
    mine, project_id = [scope.tenant_id, space_id], scope.project_id
    cursor.execute(
        ALIKE,
        [list(macs), *mine, list(macs), *mine, slots, *mine, public_ids, *mine, slots, *mine,
         scope.environment.value, project_id, project_id],
    )  # fmt: skip


def find_row(scope: Scope, space_id: int, memory_id: int) -> Memory | None:
    """A memory of the space, with the columns needed to open its text; None if it does not exist."""
    found = fetch_one(ROW, [scope.tenant_id, space_id, scope.project_id, scope.project_id, memory_id], prepared=True)
    return ROW_COLUMNS.row(found) if found else None


def last_of_sessions(
    scope: Scope, space_id: int, tokens: list[int], embedder: str, *, now: datetime
) -> list[tuple[int, int, datetime, bytes]]:
    """The last memory of each session: (session token, memory id, when it was said, encrypted embedding)."""
    if not tokens:
        return []
    return fetch_all(
        LAST_OF_SESSIONS,
        [tokens, scope.tenant_id, space_id, now, scope.project_id, scope.project_id, scope.tenant_id, embedder],
        prepared=True,
    )


_CHANGE = """
update memories_memory set repetition_count = %s, confidence = %s, expires_at = %s, outdated_by_id = %s,
    last_used_at = %s, validity = %s, superseded_at = %s, superseded_by_id = %s, superseded_reason = %s,
    valid_from = %s, valid_to = %s, known_from = %s, changed_txid = %s, updated_at = %s
where tenant_id = %s and id = %s"""
_CHANGE_VECTOR = """
update memories_memoryvector set live = %s, expires_at = %s where tenant_id = %s and memory_id = %s"""


def execute_change(scope: Scope, row: Memory) -> None:
    """Write what a batch changed of a memory, and the copies beside its vector.  row: one of ``MEMORY``'s, locked."""
    execute(
        _CHANGE,
        [row.repetition_count, row.confidence, row.expires_at, row.outdated_by_id, row.last_used_at, row.validity,
         row.superseded_at, row.superseded_by_id, row.superseded_reason, row.valid_from, row.valid_to,
         row.known_from, row.changed_txid, row.updated_at, scope.tenant_id, row.pk],
        prepared=True,
    )  # fmt: skip
    is_current = row.validity != Validity.SUPERSEDED
    execute(_CHANGE_VECTOR, [is_current, row.expires_at, scope.tenant_id, row.pk], prepared=True)
