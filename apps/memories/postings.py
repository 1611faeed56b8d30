"""The blinded word index: keyed tokens of each memory, and BM25 over them, from an index alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.core.queries import execute, fetch_all
from apps.crypto.services import SpaceCipher
from apps.memories.models import Memory
from apps.projects.scope import Scope, SpaceRef
from text.bm25 import bm25_parameters, idf
from text.terms import indexed, rounded_length


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    memory_id: int
    space_id: int
    counts: Mapping[int, int]  # token -> frequency, capped
    length: int  # in terms, rounded


def posting_of(memory: Memory, text_terms: Sequence[str], cipher: SpaceCipher) -> Posting:
    """The index entry of a text, without tokens if the space is sealed."""
    counts = indexed(text_terms) if cipher.is_searchable else {}
    tokens = dict(zip(cipher.term_tokens(counts), counts.values(), strict=True))
    return Posting(memory_id=memory.pk, space_id=memory.space_id, counts=tokens, length=rounded_length(len(text_terms)))


def write(scope: Scope, postings: Sequence[Posting]) -> None:
    """Index these memories.  Inside the caller's transaction."""
    rows = [(posting, token, tf) for posting in postings for token, tf in posting.counts.items()]
    if not rows:
        return
    # Sorted by token, so that neighbouring index pages are written together.
    rows.sort(key=lambda row: row[1])
    execute(
        "insert into memories_posting (tenant_id, space_id, token, memory_id, tf, length) "
        "select %s, space_id, token, memory_id, tf, length "
        "from unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::smallint[], %s::smallint[]) "
        "t(space_id, token, memory_id, tf, length)",
        [
            scope.tenant_id,
            [posting.space_id for posting, _, _ in rows],
            [token for _, token, _ in rows],
            [posting.memory_id for posting, _, _ in rows],
            [tf for _, _, tf in rows],
            [posting.length for posting, _, _ in rows],
        ],
        prepared=True,
    )


def remove(scope: Scope, memory_ids: Sequence[int]) -> None:
    """Remove these memories from the index.  Inside the caller's transaction."""
    execute(
        "delete from memories_posting where tenant_id = %s and memory_id = any(%s)", [scope.tenant_id, list(memory_ids)]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTerms:
    """The distinct terms of a query, as tokens under each live key version: all terms in order, then all again.

    A memory is indexed under one version, so the counts of one term under two versions are added.
    """

    tokens: Sequence[int]
    terms: int

    @classmethod
    def under(cls, ciphers: Sequence[SpaceCipher], asked: Sequence[str]) -> "AskedTerms":
        return cls(tokens=[token for cipher in ciphers for token in cipher.term_tokens(asked)], terms=len(asked))


def frequencies(scope: Scope, space: SpaceRef, asked: AskedTerms) -> list[int]:
    """How many memories of the space contain each term, in the order of the query."""
    if not asked.terms:
        return []
    rows = fetch_all(
        "select token, count(*) from memories_posting "
        "where tenant_id = %s and space_id = %s and token = any(%s) group by token",
        [scope.tenant_id, space.id, list(asked.tokens)],
        prepared=True,
    )
    counts: dict[int, int] = dict(rows)
    return [sum(counts.get(token, 0) for token in asked.tokens[at :: asked.terms]) for at in range(asked.terms)]


def best(
    scope: Scope,
    space: SpaceRef,
    asked: AskedTerms,
    *,
    frequencies: Sequence[int],
    documents: int,
    average_length: float,
    where: str,
    values: Sequence[Any],
    limit: int,
    now: datetime,
) -> list[tuple[int, float]]:
    """(memory id, score), best first, by BM25 with capped counts and rounded lengths.

    frequencies: of each term, as ``frequencies`` counts them.  where, values: further SQL conditions on ``memory``,
    applied before the limit, so that frequent kinds of memory do not crowd out a rare one.
    """
    k1, b = bm25_parameters(average_length)
    weights = [idf(frequency, documents) * (k1 + 1) for frequency in frequencies]
    sql = f"""
        with scored as (
            select hit.memory_id, sum(asked.weight * hit.tf / (hit.tf + %s + %s * hit.length)) as score
            from unnest(%s::bigint[], %s::float8[]) asked(token, weight) cross join lateral (
                select memory_id, tf, length from memories_posting
                where tenant_id = %s and space_id = %s and token = asked.token
            ) hit group by hit.memory_id
        )
        select best.memory_id, best.score from (
            -- Sorted before they are looked at, so that looking ends with the last that is wanted.
            select * from scored order by score desc, memory_id
        ) best cross join lateral (
            -- By id, one at a time: before the first statistics the planner would scan the space for each.
            select * from memories_memory where tenant_id = %s and id = best.memory_id limit 1
        ) memory
        where memory.space_id = %s and memory.retention_status = 'active'
          and (memory.expires_at is null or memory.expires_at > %s) {where}
        order by best.score desc, best.memory_id limit %s
    """  # noqa: S608  (``where`` is built from constants in apps.recall.search; values are parameters)
    rows = fetch_all(
        sql,
        [
            k1 * (1 - b), k1 * b / max(average_length, 1e-9),
            list(asked.tokens), weights * (len(asked.tokens) // asked.terms), scope.tenant_id, space.id,
            scope.tenant_id, space.id, now, *values, limit,
        ],
        prepared=True,
    )  # fmt: skip
    return [(memory_id, float(score)) for memory_id, score in rows]
