"""The blinded word index: keyed tokens of each memory, and BM25 over them in one index-only statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from apps.memories.words import bm25_parameters
from apps.projects.scope import Scope, SpaceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    memory_id: int
    counts: Mapping[int, int]  # token -> how often, capped
    length: int  # in terms, rounded


def write(scope: Scope, space: SpaceRef, postings: Sequence[Posting]) -> None:
    """Index these memories.  Inside the caller's transaction."""
    rows = [(posting, token, tf) for posting in postings for token, tf in posting.counts.items()]
    if not rows:
        return
    with connection.cursor() as cursor:
        # Sorted by token, so that neighbouring index pages are written together.
        rows.sort(key=lambda row: row[1])
        cursor.execute(
            "insert into memories_posting (tenant_id, space_id, token, memory_id, tf, length) "
            "select %s, %s, token, memory_id, tf, length "
            "from unnest(%s::bigint[], %s::bigint[], %s::smallint[], %s::smallint[]) t(token, memory_id, tf, length)",
            [
                scope.tenant_id,
                space.id,
                [token for _, token, _ in rows],
                [posting.memory_id for posting, _, _ in rows],
                [tf for _, _, tf in rows],
                [posting.length for posting, _, _ in rows],
            ],
        )


def frequencies(scope: Scope, space: SpaceRef, tokens: Sequence[int]) -> dict[int, int]:
    """How many memories of the space hold each token."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select token, count(*) from memories_posting "
            "where tenant_id = %s and space_id = %s and token = any(%s) group by token",
            [scope.tenant_id, space.id, list(tokens)],
        )
        return dict(cursor.fetchall())


def best(
    scope: Scope,
    space: SpaceRef,
    tokens: Sequence[int],
    *,
    documents: int,
    average_length: float,
    where: str,
    values: Sequence[Any],
    limit: int,
    now: datetime,
) -> list[tuple[int, float]]:
    """(memory id, score), best first, by BM25 with capped counts and rounded lengths.

    where, values: further conditions on ``memory`` as SQL; they hold before the limit, so that a rare kind of memory
    is not crowded out by a frequent one.
    """
    k1, b = bm25_parameters(average_length)
    sql = f"""
        with hit as (
            select memory_id, tf::float8, length::float8, (count(*) over (partition by token))::float8 as frequency
            from memories_posting where tenant_id = %s and space_id = %s and token = any(%s)
        ), scored as (
            select memory_id, sum(
                ln(1 + (%s - frequency + 0.5) / (frequency + 0.5))
                * tf * (%s + 1) / (tf + %s * (1 - %s + %s * length / %s))
            ) as score
            from hit group by memory_id
        )
        select scored.memory_id, scored.score from scored cross join lateral (
            -- By id, one at a time: before the first statistics the planner would scan the space for each.
            select * from memories_memory where tenant_id = %s and id = scored.memory_id limit 1
        ) memory
        where memory.space_id = %s and memory.retention_status = 'active'
          and (memory.expires_at is null or memory.expires_at > %s) {where}
        order by scored.score desc, scored.memory_id limit %s
    """  # noqa: S608  (``where`` is built from constants in apps.recall.search; values are parameters)
    with connection.cursor() as cursor:
        cursor.execute(
            sql,
            [
                scope.tenant_id, space.id, list(tokens),
                float(documents), k1, k1, b, b, max(average_length, 1e-9),
                scope.tenant_id, space.id, now, *values, limit,
            ],
        )  # fmt: skip
        return [(memory_id, float(score)) for memory_id, score in cursor.fetchall()]
