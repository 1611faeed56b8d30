"""Snapshot of the space's memories that concern a batch: read under the space's lock, updated with each decision."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.core.prepared_sql import pipelined, prepared_cursor
from apps.core.sequences import reserve_pairs
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.ingest.candidates import FoundChange, MemoryCandidate
from apps.ingest.memory_state import ClaimState, MemoryState, SlotHolder, SlotPeriod, SlotPosition, later_end, outlasts
from apps.ingest.models import IngestReceipt
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.queries import MEMORY, execute_alike, find_row
from apps.memories import integrity
from apps.memories.claims import HeldClaim, held_by, held_claims
from apps.memories.models import Memory
from apps.memories.sealing import open_parts, open_said, open_text
from apps.memories.services import expire
from apps.memories.spaces import hold_space
from apps.memories.tombstones import texts_erased_at
from apps.memories.trust import Trust, trust_of
from apps.memories.types import ACCUMULATING, ACCUMULATING_WINDOW
from apps.memories.validity import Interval, Periods, read
from apps.projects.models import Review, Space
from apps.projects.scope import Scope, SpaceRef
from apps.projects.selectors import review_policy
from apps.tenants.models import Tenant
from text.terms import terms

T = TypeVar("T")
SEQUENCES = ("memories_memory_id_seq", "memories_memoryclaim_id_seq")


class KeyRotated(Exception):
    """The keys rotated or the space changed its profile between the lookup and the lock: start over."""


@dataclass(slots=True, kw_only=True)
class SpaceSnapshot:
    """Memories by digest and slot, receipts of client references, new review items, and reserved ids for new rows."""

    scope: Scope
    space: Space
    cipher: SpaceCipher
    embedder: str
    now: datetime
    task_cap: timedelta | None
    by_id: dict[int, MemoryState] = field(default_factory=dict)
    receipts: dict[bytes, list[int]] = field(default_factory=dict)
    new_receipts: dict[bytes, str] = field(default_factory=dict)
    erased_at: dict[bytes, datetime] = field(default_factory=dict)
    waiting: list[MemoryCandidate] = field(default_factory=list)
    _by_text: dict[bytes, list[MemoryState]] = field(default_factory=dict)
    _by_said: dict[bytes, list[MemoryState]] = field(default_factory=dict)
    _by_slot: dict[bytes, list[SlotHolder]] = field(default_factory=dict)
    _by_public_id: dict[str, MemoryState] = field(default_factory=dict)
    _ids: list[int] = field(default_factory=list)
    claim_ids: list[int] = field(default_factory=list)
    vectors: list[tuple[MemoryState, MemoryCandidate, NDArray[np.float32]]] = field(default_factory=list)
    near_rows: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    _policy: Tenant | None = None
    _review: Review | None = None

    @classmethod
    def locked(cls, candidates: Sequence[MemoryCandidate], tools: PipelineContext, space: Space | None = None) -> Self:
        """Lock the space and read the memories that concern these candidates.  Call inside the tenant's transaction.

        space: locked already, after the cipher of ``tools`` was opened for writing.  No one else writes to the space
        until the commit.  Raises KeyRotated, or SpaceShredded for a space taken from its owner meanwhile.
        """
        scope, cipher = tools.scope, tools.cipher
        if space is None:
            cipher, space = open_space(scope.tenant, scope.space, writing=True), hold_space(scope)
            if (cipher.key_version, space.ref) != (tools.cipher.key_version, scope.space):
                raise KeyRotated
        snapshot = cls(
            scope=scope, space=space, cipher=cipher, embedder=tools.embedder.id, now=tools.now, task_cap=tools.task_cap
        )
        snapshot._read(candidates)
        return snapshot

    @property
    def ref(self) -> SpaceRef:
        return self.space.ref

    def reference(self, client_ref: str) -> bytes:
        return self.cipher.identity_mac("client_ref", client_ref)

    def give_receipt(self, candidates: Sequence[MemoryCandidate]) -> None:
        """Record what these candidates' proposal stored or found stored, under the caller's reference, if any."""
        client_ref = candidates[0].proposal.client_ref
        ids = list(dict.fromkeys(one.memory_id for one in candidates if one.memory_id))
        if client_ref is not None and ids:
            self.receipts[self.reference(client_ref)] = ids
            self.new_receipts[self.reference(client_ref)] = client_ref

    def same_text(self, candidate: MemoryCandidate) -> MemoryState | None:
        """A current memory with the same words and, if its type accumulates, of about the same time."""
        alike = self._by_text.get(candidate.text_mac, ())
        whole = (known for known in alike if known.is_whole)
        return next((known for known in whole if self.is_of_one_time(candidate, known)), None)

    def said_until_then(self, candidate: MemoryCandidate) -> MemoryState | None:
        """A memory that said the same words and lost some of them only after the time that the candidate refers to."""
        at = self.said_at(candidate)
        here = [one for one in self._by_text.get(candidate.text_mac, ()) if one.ended]
        for known in here + self._by_said.get(candidate.text_mac, []):
            if known.is_current and self.is_of_one_time(candidate, known) and at < self._first_end(known):
                return known
        return None

    def _first_end(self, known: MemoryState) -> datetime:
        """When the first of its words ended."""
        row = None if known.is_new else self.row(known.id)
        ended = self._opened(row, open_parts) or [] if row else []
        return min([one.at for one in known.ended] + [part.ended_at for part in ended], default=known.said_at)

    def changed_by(self, change: FoundChange) -> list[MemoryState]:
        """The memories that the change affects, if their text is unchanged since the comparison."""
        return [known for known in self._by_text.get(change.text_mac, ()) if change.memory_id in (None, known.id)]

    def stands_for(self, candidate: MemoryCandidate, known: MemoryState) -> bool:
        """Whether a memory with the same content can stand for the candidate without any loss."""
        return (
            known.validity == "current"
            and known.outdated_by is None
            and not known.ended
            and self.trust(candidate) <= known.trust
            and self.is_of_one_time(candidate, known)
            and outlasts(known.expires_at, self.end_of(candidate))
        )

    def match_passages(self, candidate: MemoryCandidate) -> MemoryState | None:
        """The first of the memories that a text in lines consists of; None if any line is not a memory.

        Bulleted lines look like recall's own output, so they are never new statements.
        """
        asked = {mac for whole, sentences in candidate.passage_macs for mac in (whole, *sentences)}
        current = (known for mac in asked for known in self._by_text.get(mac, ()) if known.is_current)
        here = {known.text_mac: known for known in current}
        found: list[MemoryState] = []
        for whole, sentences in candidate.passage_macs:
            parts = [here[mac] for mac in ([whole] if whole in here else sentences) if mac in here]
            if len(parts) < (1 if whole in here else max(1, len(sentences))):
                return None
            found += parts
        is_told = all(candidate.is_listed or self.is_of_one_time(candidate, known) for known in found)
        return found[0] if found and is_told else None

    def with_public_id(self, public_id: str) -> MemoryState | None:
        """The memory with this id, current or not, if it was read or is of this batch."""
        return self._by_public_id.get(public_id)

    def in_slot(self, slot: bytes) -> Sequence[SlotHolder]:
        """Every existing memory or claim that holds or held the slot, oldest first."""
        return self._by_slot.get(slot, ())

    def holder(self, slot: bytes) -> SlotHolder | None:
        """The current holder of the slot."""
        return next((known for known in self.in_slot(slot) if known.is_current), None)

    def place(self, slot: bytes, at: datetime) -> SlotPosition:
        """The position of this time in the slot's history.  Of two that began at the same time, the newer row wins."""
        rows = self.in_slot(slot)
        every = [SlotPeriod(known, stretch) for known in rows for stretch in known.periods.stretches]
        here = [held for held in every if held.stretch.holds_at(at)]
        after = [held for held in every if held.stretch.start > at]
        return SlotPosition(
            here=max(here, key=_begun, default=None),
            after=min(after, key=_begun, default=None),
            others=[known for known in rows if known.is_current],
        )

    def trust(self, candidate: MemoryCandidate) -> Trust:
        """The candidate's trust.  A vouched import counts as reviewed here."""
        proposal = candidate.proposal
        if proposal.kept is not None and proposal.is_vouched:
            return Trust.STATED
        return trust_of(source_kind=proposal.source_kind, source_strength=candidate.source_strength)

    @property
    def policy(self) -> Tenant:
        """The tenant's policy, read on first use."""
        if self._policy is None:
            self._policy = Tenant.objects.only("changes", "instructions").get(pk=self.scope.tenant_id)
        return self._policy

    @property
    def review(self) -> Review:
        """The project's review policy, read on first use."""
        if self._review is None:
            self._review = review_policy(self.scope)
        return self._review

    def says_nothing_new(self, candidate: MemoryCandidate, known: MemoryState) -> bool:
        """Whether the known memory contains every content word of the candidate."""
        return set(candidate.terms) <= set(self.terms_of(known))

    def terms_of(self, known: MemoryState) -> Sequence[str]:
        """Its content words; opened on first use."""
        if known.terms is None:
            row = self.row(known.id)
            known.terms = self.words(row) if row else []
        return known.terms

    def terms_said(self, known: MemoryState) -> Sequence[str]:
        """The content words of its original text, before any of its words ended."""
        row = None if known.is_new else self.row(known.id)
        return self.terms_of(known) if row is None else self.words(row, open_said)

    def count_repetition(self, candidate: MemoryCandidate, known: MemoryState) -> None:
        """Count the candidate as a repetition of the known memory, and extend its expiry to the later of the two.

        Repetitions within one proposal count once.
        """
        if known.said_by is not candidate.proposal:
            known.repetitions += 1
            known.said_by = candidate.proposal
        known.expires_at = later_end(known.expires_at, self.end_of(candidate))

    def end_of(self, candidate: MemoryCandidate) -> datetime | None:
        """When the candidate would expire, or None for never."""
        if candidate.proposal.kept is not None:
            end = candidate.proposal.kept.expires_at
        else:
            minutes = candidate.proposal.ttl_minutes
            lasts = timedelta(minutes=minutes) if minutes else candidate.lasts
            end = None if lasts is None else self.now + lasts
        return self._capped(end) if candidate.type == "task" else end

    def _capped(self, end: datetime | None) -> datetime | None:
        """The end, limited to the longest lifetime of a task."""
        if self.task_cap is None:
            return end
        latest = self.now + self.task_cap
        return latest if end is None else min(end, latest)

    def said_at(self, candidate: MemoryCandidate) -> datetime:
        """Since when the candidate holds: as an import or a stated fact gives it, else when it was said."""
        proposal = candidate.proposal
        told = proposal.kept or proposal.stated
        told_at = told.valid_from if told else None
        proposed_at = proposal.reviewed.said_at if proposal.reviewed else self.now
        return told_at or proposal.occurred_at or proposed_at

    def until(self, candidate: MemoryCandidate) -> datetime | None:
        """Until when a stated fact holds; None if open or not stated."""
        return candidate.proposal.stated.valid_to if candidate.proposal.stated else None

    def holders(self, slots: Collection[bytes]) -> dict[bytes, int]:
        """Slot to the memory that holds it now, whether stored or of this batch."""
        if not slots:
            return {}
        rows = Memory.objects.within(self.scope).live(self.now).filter(slot__in=slots)
        at_rest = {bytes(slot): memory_id for memory_id, slot in rows.values_list("pk", "slot") if slot}
        return at_rest | {slot: one.id for slot in slots if (one := self.holder(slot)) is not None}

    def is_of_one_time(self, candidate: MemoryCandidate, known: "MemoryState | Memory") -> bool:
        """Whether two memories of an accumulating type refer to the same time; True for other types.

        They do if both were said at about the same time or name the same date.  A candidate without a time of its own
        also matches what was stored within the window.
        """
        if known.type not in ACCUMULATING:
            return True
        if isinstance(known, Memory):
            said_at, made_at = known.valid_from or known.created_at, known.created_at
        else:
            said_at, made_at = known.said_at, known.made_at
        is_now = candidate.proposal.occurred_at is None and self.now - made_at <= ACCUMULATING_WINDOW
        is_dated = candidate.event_at is not None and candidate.event_at == known.event_at
        return is_now or is_dated or abs(self.said_at(candidate) - said_at) <= ACCUMULATING_WINDOW

    def add(self, candidate: MemoryCandidate) -> MemoryState:
        """Assign the candidate an id, and add it to the snapshot as the newest memory."""
        known = MemoryState(
            id=self._next_id(),
            type=candidate.type,
            text_mac=candidate.text_mac,
            slot=candidate.slot,
            value_mac=candidate.value_mac,
            periods=Periods(
                latest=Interval(start=self.said_at(candidate), end=self.until(candidate), known_from=self.now)
            ),
            trust=self.trust(candidate),
            made_at=self.now,
            expires_at=self.end_of(candidate),
            event_at=candidate.event_at,
            source=candidate.proposal.source,
            public_id=candidate.public_id,
            said_by=candidate.proposal,
            terms=candidate.terms,
        )
        known.parts = [
            ClaimState(
                memory=known,
                start=part.start,
                end=part.end,
                slot=part.slot,
                value_mac=part.value_mac,
                periods=Periods(
                    latest=Interval(start=self.said_at(candidate), end=self.until(candidate), known_from=self.now)
                ),
            )
            for part in candidate.parts
        ]
        self._put(known)
        if candidate.vector is not None:
            self.vectors.append((known, candidate, candidate.vector))
        return known

    def _put(self, known: MemoryState) -> None:
        self.by_id[known.id] = known
        self._by_text.setdefault(known.text_mac, []).append(known)
        if known.said_mac is not None:
            self._by_said.setdefault(known.said_mac, []).append(known)
        if known.public_id:
            self._by_public_id[known.public_id] = known
        if known.slot is not None:
            self._by_slot.setdefault(known.slot, []).append(known)
        for part in known.parts:
            self._by_slot.setdefault(part.slot, []).append(part)

    def read_parts(self, known: MemoryState) -> None:
        """Load all claims of a memory that was not read because of their slots."""
        if known.is_new:
            return
        there = {part.claim_id for part in known.parts}
        claims = held_by(self.scope, self.space.pk, known.id, self.cipher, now=self.now)
        known.parts += [ClaimState.of_claim(known, claim) for claim in claims if claim.id not in there]

    def _read(self, candidates: Sequence[MemoryCandidate]) -> None:
        slots = sorted({slot for one in candidates for slot in one.slots})
        macs = {mac for one in candidates if one.is_wanted for mac in one.macs}
        with prepared_cursor() as alike:
            with pipelined():
                public_ids = [one.public_id for one in candidates if one.public_id]
                execute_alike(alike, self.scope, self.space.pk, macs=macs, slots=slots, public_ids=public_ids)
                wanted = [one for one in candidates if one.is_wanted]
                if said := [mac for one in wanted for mac in one.erased_macs]:
                    self.erased_at = texts_erased_at(self.scope, self.cipher, said)
                self._ids, self.claim_ids = reserve_pairs(len(wanted), sequences=SEQUENCES)
            rows = [MEMORY.row(found) for found in alike.fetchall()]
        parts: dict[int, list[HeldClaim]] = {}
        if any(row.slot is None for row in rows):  # a memory of a single claim holds its slot itself
            for claim in held_claims(self.scope, self.space.pk, slots, self.cipher, now=self.now):
                parts.setdefault(claim.memory_id, []).append(claim)
        # Expired memories would otherwise hold their slots until the sweep runs.
        gone = {row.pk for row in rows if row.expires_at and row.expires_at <= self.now and not row.legal_hold}
        if gone:
            expire(self.scope, ids=gone, limit=len(gone), now=self.now)
        # A typed memory replaces what holds now, whatever held before.
        has_history = any(not one.proposal.goes_by_id for one in wanted)
        periods = read(self.scope, [row for row in rows if row.slot is not None]) if has_history else {}
        for row in rows:
            if row.pk in gone:
                continue
            known = MemoryState.of_row(row, periods.get(row.pk))
            known.parts = [ClaimState.of_claim(known, claim) for claim in parts.get(row.pk, ())]
            self._put(known)
        references = {
            self.reference(one.proposal.client_ref) for one in candidates if one.proposal.client_ref is not None
        }
        if references:
            self.receipts = {
                bytes(mac): ids
                for mac, ids in IngestReceipt.objects.within(self.scope)
                .filter(space_id=self.space.pk, client_ref_mac__in=references)
                .values_list("client_ref_mac", "memory_ids")
            }

    def row(self, memory_id: int) -> Memory | None:
        return find_row(self.scope, self.space.pk, memory_id)

    def _next_id(self) -> int:
        return self._ids.pop(0)

    def words(self, row: Memory, reading: Callable[[Memory, SpaceCipher], Plaintext] = open_text) -> list[str]:
        """The terms of a row; none if it fails to decrypt, so that it blocks nothing new."""
        text = self._opened(row, reading)
        return terms(text.reveal()) if text is not None else []

    def _opened(self, row: Memory, read: Callable[[Memory, SpaceCipher], T]) -> T | None:
        """The decrypted content of a row; None, and reported, if it fails to decrypt."""
        try:
            return read(row, self.cipher)
        except DecryptError as error:
            integrity.note(self.scope, error, row.pk, space_id=self.space.pk, now=self.now)
            return None


def _begun(held: SlotPeriod) -> tuple[datetime, int]:
    return held.stretch.start, held.holder.id
