"""All details of one memory: its versions, its sources, its confidence and vitality, the feedback on it, and its index
entries.  Of vectors and keys, only metadata is returned, never their contents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_column
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories import integrity, lineage
from apps.memories.decay import boost, days_since, freshness, half_life_of, salience
from apps.memories.feedback_aggregation import RECENT, Signal, Trend, trend_of
from apps.memories.lifetimes import Rule, lifetimes_of
from apps.memories.models import DIMENSIONS, Memory, MemoryFeedback, MemoryVector
from apps.memories.models.history import COMMENT
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_handles, open_memory
from apps.memories.selectors import MemoryNotFound
from apps.memories.validity import AsOf, holding, read
from apps.projects.scope import Scope

VERSIONS: Final = 40  # of one chain, in each direction
COMMENTS: Final = 10  # latest comments with text
RELATED: Final = 50  # sources of a summary, or summaries of a source

# Follows "was replaced by" in both directions, one step per index lookup.  Visibility is checked when the rows are
# read.
_CHAIN: Final = """
with recursive older(id, step) as (
    select %(id)s::bigint, 0
    union all
    select memory.id, older.step + 1 from older join memories_memory memory
        on memory.tenant_id = %(tenant)s and memory.superseded_by_id = older.id
    where older.step < %(most)s
), newer(id, step) as (
    select %(by)s::bigint, 0
    union all
    select memory.superseded_by_id, newer.step + 1 from newer join memories_memory memory
        on memory.tenant_id = %(tenant)s and memory.id = newer.id
    where newer.step < %(most)s
)
select id from older union select id from newer where id is not null limit %(most)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """held_then: it was true at the requested time.  stretches: periods [from, to) in which it held, as known now,
    oldest first."""

    memory: OpenedMemory
    held_then: bool
    stretches: Sequence[tuple[datetime, datetime | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A caller's comment on the memory."""

    signal: Signal
    comment: Plaintext
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVector:
    """The stored embedding.  size: of the encrypted embedding, in bytes."""

    vector_id: UUID
    embedder: str
    dimensions: int
    key_version: int
    size: int
    is_searchable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetail:
    """One memory with everything that is known of it.

    versions: all versions of the fact, oldest first, this memory included.  as_of: the requested time.  session,
    speaker: as the caller named them.  sources, summaries: ids of the memories it was made from, and of those made from
    it.  signals: number of feedback signals by kind.  freshness, salience: 0..1; boost: 1..3; see ``decay``.  ends_by:
    the rule that ends its retention; None if it is kept for good.  ages_from: when it was last used, or created.
    """

    versions: Sequence[Version]
    as_of: datetime | None
    session: str | None = field(repr=False)
    speaker: str | None = field(repr=False)
    sources: Sequence[int]
    summaries: Sequence[int]
    signals: Mapping[str, int]
    trend: Trend
    opinions: Sequence[Opinion]
    kept: StoredVector | None
    key_version: int
    revision: int
    source_strength: float
    extractor_confidence: float
    type_prior: float
    last_accessed_at: datetime | None
    ends_by: Rule | None
    ages_from: datetime
    half_life_days: float
    freshness: float
    boost: float
    salience: float


def get_memory_detail(scope: Scope, memory_id: int, *, as_of: datetime | None = None, now: datetime) -> MemoryDetail:
    """All details of a memory in the scope's one space.  The caller has already read the memory itself; the audit trail
    records how many other versions were decrypted.  Raises MemoryNotFound, DecryptError."""
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        row = Memory.objects.within(scope).filter(pk=memory_id).first()
        if row is None:
            raise MemoryNotFound
        versions = _versions(scope, row, cipher, as_of, now=now)
        handles = open_handles(row, cipher)
        mine = MemoryFeedback.objects.within(scope).filter(memory_id=memory_id)
        latest = list(mine.order_by("-pk").values_list("signal", flat=True)[:RECENT])
        signals: dict[str, int] = dict(mine.order_by().values_list("signal").annotate(Count("pk")))
        vector = MemoryVector.objects.within(scope).filter(memory_id=memory_id).first()
        days = days_since(row.created_at, row.last_accessed_at, now=now)
        half_life = half_life_of(row.type)
        ending = lifetimes_of(scope, [scope.space.id]).next_step(row)
        return MemoryDetail(
            versions=versions,
            as_of=as_of,
            session=handles.session,
            speaker=handles.actor,
            sources=lineage.sources_among(scope, [memory_id]).get(memory_id, [])[:RELATED],
            summaries=lineage.summaries_of(scope, [memory_id])[:RELATED],
            signals={one.value: signals.get(one.value, 0) for one in Signal},
            trend=trend_of([Signal(one) for one in latest]),
            opinions=_opinions(scope, mine.exclude(comment_ct=None).order_by("-pk")[:COMMENTS], cipher, now=now),
            kept=_kept(vector),
            key_version=row.key_version,
            revision=row.revision,
            source_strength=row.source_strength,
            extractor_confidence=row.extractor_confidence,
            type_prior=row.type_prior,
            last_accessed_at=row.last_accessed_at,
            ends_by=ending[1] if ending else None,
            ages_from=max(row.created_at, row.last_used_at or row.created_at),
            half_life_days=half_life,
            freshness=freshness(days, half_life_days=half_life),
            boost=boost(row.access_count),
            salience=salience(
                importance=row.importance, days=days, half_life_days=half_life, access_count=row.access_count
            ),
        )


def _versions(
    scope: Scope, row: Memory, cipher: SpaceCipher, as_of: datetime | None, *, now: datetime
) -> list[Version]:
    asked = {"tenant": scope.tenant_id, "id": row.pk, "by": row.superseded_by_id, "most": VERSIONS}
    ids = fetch_column(_CHAIN, asked)
    rows = Memory.objects.within(scope).filter(pk__in=ids)
    held = set(holding(rows, AsOf(at=as_of, known_at=now)).values_list("pk", flat=True)) if as_of else set()
    found = []
    there = list(rows.existing(now).to_open())
    periods, lifetimes = read(scope, there), lifetimes_of(scope, [scope.space.id])
    for one in there:
        try:
            memory = open_memory(one, cipher, scope.space, lifetimes)
        except DecryptError as error:
            integrity.note(scope, error, one.pk, space_id=one.space_id, now=now)
        else:
            stretches = [(piece.start, piece.end) for piece in periods[one.pk].stretches]
            begun = sorted(stretches, key=lambda piece: piece[0])
            found.append(Version(memory=memory, held_then=one.pk in held, stretches=begun))
    if len(found) > 1:
        others, actor = len(found) - 1, scope.principal.label
        record(scope, actor=actor, action=AuditAction.MEMORY_BROWSE, target=f"memory:{row.pk}", count=others, now=now)
    return sorted(found, key=lambda one: ([start for start, _ in one.stretches], one.memory.id))


def _opinions(scope: Scope, rows: Iterable[MemoryFeedback], cipher: SpaceCipher, *, now: datetime) -> list[Opinion]:
    found = []
    for row in rows:
        try:
            comment = cipher.open(COMMENT, row.pk, bytes(row.comment_ct or b""))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, table=integrity.FEEDBACK, now=now)
        else:
            found.append(Opinion(signal=Signal(row.signal), comment=comment, created_at=row.created_at))
    return found


def _kept(vector: MemoryVector | None) -> StoredVector | None:
    if vector is None:
        return None
    return StoredVector(
        vector_id=vector.vector_id,
        embedder=vector.embedder,
        dimensions=DIMENSIONS,
        key_version=vector.key_version,
        size=len(bytes(vector.embedding_ct)),
        is_searchable=vector.signs is not None,
    )
