"""Memories as decisions see them: what each says of a slot, since when, and what happens to it in this batch."""

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
    """A memory that was there, or that this batch makes.

    slot: of one that is a single claim and says nothing else.  parts: the claims of one that says more, each with a
    slot of its own.  ended: words of it that this batch ends, though the memory goes on.  said_mac: of its text before
    any of its words ended.

    is_new: made by this batch, so not yet in the database.  said_by: the proposal of this batch that said it last.
    terms: None until they are asked for.
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
    is_new: bool = False
    was: str = "current"  # its validity before this batch
    expired_at: datetime | None = None
    parts: "list[ClaimState]" = field(default_factory=list)
    ended: "list[EndedWords]" = field(default_factory=list)
    outdated_by: int | None = None
    was_outdated_by: int | None = None

    @classmethod
    def of_row(cls, row: Memory, periods: Periods | None) -> Self:
        """A memory at rest.  periods: in which it held its slot, where it has one."""
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
        )

    @property
    def is_current(self) -> bool:
        """Whether it stands, be it disputed."""
        return self.validity != Validity.SUPERSEDED

    @property
    def is_whole(self) -> bool:
        """Whether it stands, and this batch has ended none of its words."""
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
        """Itself: what holds a slot is a memory, or a part of one."""
        return self

    def close(self, *, by: int, at: datetime, now: datetime, reason: str = "newer") -> None:
        """It is over since then."""
        self.validity, self.superseded_by, self.reason = "superseded", by, reason
        self.periods.end_latest(at, now=now)

    def end_words(self, words: Sequence[tuple[int, int]], *, by: int, at: datetime, now: datetime) -> None:
        """These words of it, as it was said, are over since then, and so is each claim that has a word among them."""
        for part in self.parts_in(words):
            part.close(by=by, at=at, now=now)
        self.ended += [EndedWords(start=start, end=end, at=at, by=by) for start, end in words]

    def parts_in(self, words: Sequence[tuple[int, int]]) -> "list[ClaimState]":
        """Its claims that hold and have a word among these; all that hold where no words are named."""
        return [
            part
            for part in self.parts
            if part.is_current and (not words or any(part.start < end and part.end > start for start, end in words))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedWords:
    """Words [start, end) of a memory, as it was said, which are over since ``at``."""

    start: int
    end: int
    at: datetime
    by: int
    claim_id: int | None = None


@dataclass(slots=True, kw_only=True)
class ClaimState:
    """A claim of a memory that says more: its words [start, end), and the slot that they hold.

    claim_id: of its row; None of a new one until it is written.
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
        """A claim at rest."""
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
        """It is over since then, and the rest of the memory goes on."""
        self.validity, self.superseded_by = "superseded", by
        self.periods.end_latest(at, now=now)
        self.memory.ended.append(EndedWords(start=self.start, end=self.end, at=at, by=by, claim_id=self.claim_id))


SlotHolder = MemoryState | ClaimState


@dataclass(frozen=True, slots=True)
class SlotPeriod:
    """What held a slot, and the stretch of time in which it did."""

    holder: SlotHolder
    stretch: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPosition:
    """Where in a slot's history a time lies.

    here: what held then.  after: what is the next to hold, later than that.  others: what is in the slot now.
    """

    here: SlotPeriod | None = None
    after: SlotPeriod | None = None
    others: Sequence[SlotHolder] = ()

    @property
    def displaced(self) -> list[SlotHolder]:
        """What a new value of that time ends: what held then, and what stands now unless that came later."""
        here = [self.here.holder] if self.here is not None else []
        return here if self.after is not None else list({id(one): one for one in (*here, *self.others)}.values())
