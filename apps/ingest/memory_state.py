"""In-memory state of memories while a batch is decided: the slots they hold, since when, and the batch's changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from apps.ingest.candidates import Proposal
from apps.memories.claims import HeldClaim
from apps.memories.models import Memory, Validity
from apps.memories.trust import Trust, trust_of
from apps.memories.validity import Interval, Periods


@dataclass(slots=True, kw_only=True)
class MemoryState:
    """An existing memory, or one that this batch creates.

    slot: set if it consists of a single claim.  parts: the claims of any other memory, each with its own slot.
    ended: spans of it that this batch ends while the rest stays valid.  said_mac: of its text before any span ended.

    row: as read; None of a memory that this batch creates.  said_by: the batch's last proposal that stated it.
    terms: None until they are needed.
    """

    id: int
    type: str
    text_mac: bytes
    said_mac: bytes | None = None
    slot: bytes | None
    value_mac: bytes | None
    validity: str = "current"
    periods: Periods
    trust: Trust
    made_at: datetime
    expires_at: datetime | None
    event_at: datetime | None = None
    source: str = ""
    superseded_by: int | None = None
    reason: str = ""
    repetitions: int = 0
    said_by: Proposal | None = None
    terms: Sequence[str] | None = None
    row: Memory | None = None
    was: str = "current"  # its validity before this batch
    expired_at: datetime | None = None
    parts: "list[ClaimState]" = field(default_factory=list)
    ended: "list[EndedWords]" = field(default_factory=list)
    outdated_by: int | None = None
    public_id: str = ""
    was_outdated_by: int | None = None

    @classmethod
    def of_row(cls, row: Memory, periods: Periods | None) -> Self:
        """The state of a stored memory.  periods: in which it held its slot, if it has one."""
        return cls(
            id=row.pk,
            type=row.type,
            text_mac=bytes(row.text_mac),
            said_mac=bytes(row.said_mac) if row.said_mac else None,
            slot=bytes(row.slot) if row.slot else None,
            value_mac=bytes(row.value_mac) if row.value_mac else None,
            validity=row.validity,
            was=row.validity,
            periods=periods or Periods.of_row(row),
            trust=trust_of(source_kind=row.source_kind, source_strength=row.source_strength, pinned=row.pinned),
            made_at=row.created_at,
            expires_at=row.expires_at,
            expired_at=row.expires_at,
            event_at=row.event_at,
            source=row.source,
            superseded_by=row.superseded_by_id,
            reason=row.superseded_reason,
            outdated_by=row.outdated_by_id,
            was_outdated_by=row.outdated_by_id,
            public_id=row.public_id,
            row=row,
        )

    @property
    def is_new(self) -> bool:
        """Whether this batch creates it, so that it is not in the database yet."""
        return self.row is None

    @property
    def is_current(self) -> bool:
        """Whether it is not superseded; a disputed memory is current."""
        return self.validity != Validity.SUPERSEDED

    @property
    def is_whole(self) -> bool:
        """Whether it is current and this batch has ended none of its words."""
        return self.is_current and not self.ended

    @property
    def was_current(self) -> bool:
        return self.was != Validity.SUPERSEDED

    @property
    def said_at(self) -> datetime:
        return self.periods.latest.start

    @property
    def has_changed(self) -> bool:
        return (
            self.repetitions > 0
            or self.validity != self.was
            or self.expires_at != self.expired_at
            or self.periods.has_changed
            or bool(self.ended)
            or self.outdated_by != self.was_outdated_by
        )

    @property
    def memory(self) -> "MemoryState":
        """Itself, so that a slot holder has a ``memory`` whether it is a memory or a claim of one."""
        return self

    def close(self, *, by: int, at: datetime, now: datetime, reason: str = "newer") -> None:
        """Supersede it as of ``at``."""
        self.validity, self.superseded_by, self.reason = "superseded", by, reason
        self.periods.end_latest(at, now=now)

    def end_words(self, words: Sequence[tuple[int, int]], *, by: int, at: datetime, now: datetime) -> None:
        """End these spans of its original text as of ``at``, and every claim that overlaps them."""
        for part in self.parts_in(words):
            part.close(by=by, at=at, now=now)
        self.ended += [EndedWords(start=start, end=end, at=at, by=by) for start, end in words]

    def parts_in(self, words: Sequence[tuple[int, int]]) -> "list[ClaimState]":
        """Its current claims that overlap these spans; all current claims if no spans are given."""
        return [
            part
            for part in self.parts
            if part.is_current and (not words or any(part.start < end and part.end > start for start, end in words))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedWords:
    """Span [start, end) of a memory's original text that no longer holds since ``at``."""

    start: int
    end: int
    at: datetime
    by: int
    claim_id: int | None = None


@dataclass(slots=True, kw_only=True)
class ClaimState:
    """One claim of a memory with several: its span [start, end) and its slot.

    claim_id: of its row; None for a new claim until it is written.
    """

    memory: MemoryState
    start: int
    end: int
    slot: bytes
    value_mac: bytes
    periods: Periods
    validity: str = "current"
    superseded_by: int | None = None
    claim_id: int | None = None
    was: str = "current"

    @classmethod
    def of_claim(cls, memory: MemoryState, claim: HeldClaim) -> Self:
        """The state of a stored claim."""
        return cls(
            memory=memory,
            start=claim.start,
            end=claim.end,
            slot=claim.slot,
            value_mac=claim.value_mac,
            periods=Periods(latest=Interval(start=claim.valid_from, end=claim.valid_to, known_from=claim.known_from)),
            validity=claim.validity,
            was=claim.validity,
            superseded_by=claim.superseded_by_id,
            claim_id=claim.id,
        )

    @property
    def id(self) -> int:
        return self.memory.id

    @property
    def trust(self) -> Trust:
        return self.memory.trust

    @property
    def is_current(self) -> bool:
        return self.validity != Validity.SUPERSEDED and self.memory.is_current

    @property
    def has_changed(self) -> bool:
        return self.validity != self.was or self.periods.has_changed

    def close(self, *, by: int, at: datetime, now: datetime, reason: str = "newer") -> None:
        """Supersede the claim as of ``at``; the rest of the memory stays valid."""
        self.validity, self.superseded_by = "superseded", by
        self.periods.end_latest(at, now=now)
        self.memory.ended.append(EndedWords(start=self.start, end=self.end, at=at, by=by, claim_id=self.claim_id))


SlotHolder = MemoryState | ClaimState


@dataclass(frozen=True, slots=True)
class SlotPeriod:
    """A slot's holder, and a time interval in which it held the slot."""

    holder: SlotHolder
    stretch: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPosition:
    """Position of a time in a slot's history.

    here: the holder at that time.  after: the next holder after it.  others: the current holders.
    """

    here: SlotPeriod | None = None
    after: SlotPeriod | None = None
    others: Sequence[SlotHolder] = ()

    @property
    def displaced(self) -> list[SlotHolder]:
        """The holders that a new value of that time ends: that of then, and the current ones unless a later exists."""
        here = [self.here.holder] if self.here is not None else []
        return here if self.after is not None else list({id(one): one for one in (*here, *self.others)}.values())


def outlasts(one: datetime | None, other: datetime | None) -> bool:
    """Whether the first end is not before the other; None means never."""
    return later_end(one, other) == one


def later_end(one: datetime | None, other: datetime | None) -> datetime | None:
    """The later of two ends; None means never."""
    return None if one is None or other is None else max(one, other)
