"""The search that a retriever runs, with the filter as SQL.  Retrievers return ranked ids and no plaintext."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from apps.crypto.services import SpaceCipher
from apps.memories.lineage import NOT_STALE
from apps.memories.postings import AskedTerms
from apps.memories.speakers import first_name
from apps.memories.validity import EVER, AsOf, Moment, true_sql
from apps.projects.scope import Scope, SpaceRef
from apps.recall.question import Question
from apps.recall.results import Filters

Ranking = list[tuple[int, float]]  # (memory id, score), best first


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search of one space.  Only keyed tokens and a blinded vector of the question reach the database.

    question: parsed; it stays in this process.  asked: its distinct terms, in order, as tokens under each key version
    that rows may have.  vector: from the embedder; None while it is down.
    frequencies: number of memories of the space that contain each term.  documents, average_length: of the index.
    where, values: the filter, as SQL conditions on ``memory``.  is_filtered: whether the caller asked for a filter.
    moment: the time asked about, if not the present; EVER for replaced memories too.
    opened: cache of decrypted embeddings, by memory id.
    """

    scope: Scope
    space: SpaceRef
    cipher: SpaceCipher
    question: Question
    asked: AskedTerms
    vector: NDArray[np.float32] | None
    embedder: str
    frequencies: Sequence[int]
    documents: int
    average_length: float
    where: str
    values: Sequence[Any]
    is_filtered: bool
    now: datetime
    moment: Moment | None = None
    opened: dict[int, NDArray[np.float32]] = field(default_factory=dict)


class Retriever(Protocol):
    name: str

    def rank(self, search: Search, *, limit: int) -> Ranking:
        """The memories of the space that this retriever finds, best first, with unique ids."""
        ...


# A memory dated only by when it was said (valid_from) has no date of its own; precision "unknown" means no known date.
_HAPPENED: Final = (
    "memory.event_at is not null and memory.event_precision <> 'unknown' "
    "and memory.event_at is distinct from memory.valid_from "
    "and coalesce(memory.event_range, tstzrange(memory.event_at, memory.event_at, '[]')) && %s::tstzrange"
)


def conditions(filters: Filters, scope: Scope, cipher: SpaceCipher, *, now: datetime) -> tuple[str, list[Any], bool]:
    """The whole filter as SQL on ``memory``, its values, and whether the caller asked for any filter.

    A sealed space stores no tag, speaker or session tokens: the code that decrypts it filters by those.
    """
    asked: list[tuple[str, Any]] = []
    if filters.types:
        asked.append(("memory.type = any(%s)", list(filters.types)))
    if filters.sources:
        asked.append(("memory.source = any(%s)", list(filters.sources)))
    if filters.tiers:
        asked.append(("memory.tier = any(%s)", list(filters.tiers)))
    if filters.tags and cipher.is_searchable:
        asked.append(
            ("memory.tag_tokens && %s::bigint[]", [one.tag_token(tag) for one in cipher.live() for tag in filters.tags])
        )
    if filters.since:
        asked.append(("memory.created_at >= %s", filters.since))
    if filters.until:
        asked.append(("memory.created_at <= %s", filters.until))
    if filters.happened:
        begin, end = filters.happened
        asked.append((_HAPPENED, f"[{begin.isoformat()},{end.isoformat()})"))
    if not filters.include_summaries:
        asked.append(("memory.is_summary = %s", False))
    if filters.speakers and cipher.is_searchable:
        tokens = [cipher.actor_token(first_name(name)) for name in filters.speakers]
        asked.append(("memory.actor_token = any(%s)", tokens))
    if filters.session_id and cipher.is_searchable:
        asked.append(("memory.session_token = %s", cipher.session_token(filters.session_id)))
    moment = moment_of(filters, now=now)
    truth, at = true_sql("memory", moment, now=now)
    always: list[tuple[str, Any]] = [(NOT_STALE, now)]
    if scope.project_id is not None:
        always.append(("(memory.project_id is null or memory.project_id = %s)", scope.project_id))
    every = always + asked
    where = f" and {truth}" + "".join(f" and {sql}" for sql, _ in every)
    return where, [*at, *(value for _, value in every)], bool(asked) or moment is not None


def moment_of(filters: Filters, *, now: datetime) -> Moment | None:
    """The time asked about, or EVER; None for the present."""
    return EVER if filters.include_superseded else AsOf.asked(filters.as_of, filters.known_at, now=now)
