"""What the space already holds of a batch's candidates: read under its lock, kept true as they are decided."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

import numpy as np
from django.db import connection
from django.db.models import Q
from numpy.typing import NDArray

from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.ingest.candidates import STORED, Candidate, Proposal
from apps.ingest.models import IngestReceipt
from apps.ingest.tools import Tools
from apps.memories import integrity
from apps.memories.models import Memory
from apps.memories.nearest import nearest, rotate
from apps.memories.sealing import open_text
from apps.memories.services import expire
from apps.memories.words import terms
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef

ACCUMULATING = frozenset({"event", "decision", "task"})
ACCUMULATING_WINDOW = timedelta(hours=24)  # the same event told again within it is the same event


class KeyTurned(Exception):
    """The keys turned, or the space changed its profile, between the look and the lock: start over with what is now."""


@dataclass(slots=True, kw_only=True)
class Known:
    """A memory as the decisions see it.

    is_new: made by this batch, so not yet in the database.  said_by: the proposal of this batch that said it last.
    terms: None until they are asked for.
    """

    id: int
    type: str
    text_mac: bytes
    slot: bytes | None
    value_mac: bytes | None
    is_current: bool
    said_at: datetime
    expires_at: datetime | None
    superseded_by: int | None = None
    reason: str = ""
    valid_to: datetime | None = None
    repetitions: int = 0
    said_by: Proposal | None = None
    terms: Sequence[str] | None = None
    is_new: bool = False
    was_current: bool = True
    expired_at: datetime | None = None

    @property
    def has_changed(self) -> bool:
        return self.repetitions > 0 or self.is_current != self.was_current or self.expires_at != self.expired_at


@dataclass(slots=True, kw_only=True)
class Shelf:
    """Rows by digest and by slot, the callers' references already honoured, and ids for new rows."""

    scope: Scope
    space: Space
    cipher: SpaceCipher
    embedder: str
    now: datetime
    by_id: dict[int, Known] = field(default_factory=dict)
    receipts: dict[bytes, list[int]] = field(default_factory=dict)
    new_receipts: dict[bytes, str] = field(default_factory=dict)
    _ids: list[int] = field(default_factory=list)
    _vectors: list[tuple[Known, Candidate, NDArray[np.float32]]] = field(default_factory=list)

    @classmethod
    def locked(cls, candidates: Sequence[Candidate], tools: Tools) -> Self:
        """Lock the space, and read what it holds of these candidates.  Inside the tenant's transaction.

        The lock is the space's single writer: between this and the commit nobody else adds to it.  Raises KeyTurned, or
        SpaceShredded for a space that was taken from its owner meanwhile.
        """
        scope, ref = tools.scope, tools.scope.space
        cipher = open_space(scope.tenant, ref, writing=True)
        if cipher.key_version != tools.cipher.key_version:
            raise KeyTurned
        # Not FOR UPDATE: that also holds off whoever writes a row that refers to the space, as the outbox's worker does
        # with locks of its own on memories.
        mine = Space.objects.within(scope).select_for_update(no_key=True).filter(pk=ref.id, owner_id=ref.owner_id)
        space = mine.first()
        if space is None:
            raise SpaceShredded
        if space.ref != ref:
            raise KeyTurned
        shelf = cls(scope=scope, space=space, cipher=cipher, embedder=tools.embedder.id, now=tools.now)
        shelf._read(candidates)
        return shelf

    @property
    def ref(self) -> SpaceRef:
        return self.space.ref

    def reference(self, client_ref: str) -> bytes:
        return self.cipher.identity_mac("client_ref", client_ref)

    def give_receipt(self, candidates: Sequence[Candidate]) -> None:
        """Note what the proposal of these candidates stored, under the caller's reference, if it has one."""
        client_ref = candidates[0].proposal.client_ref
        ids = [one.memory_id for one in candidates if one.memory_id and one.decision in STORED]
        if client_ref is not None and ids:
            self.receipts[self.reference(client_ref)] = ids
            self.new_receipts[self.reference(client_ref)] = client_ref

    def same_text(self, candidate: Candidate) -> Known | None:
        """A row in being that says the same words.  What accumulates is the same only when told of about one time."""
        for known in self.by_id.values():
            is_same = known.text_mac == candidate.text_mac and known.is_current
            if is_same and self._is_of_one_time(candidate, known.type, known.said_at):
                return known
        return None

    def in_slot(self, slot: bytes) -> list[Known]:
        """Every row that ever held the slot and still exists, oldest first."""
        return [known for known in self.by_id.values() if known.slot == slot]

    def holder(self, slot: bytes) -> Known | None:
        """The row that holds the slot now."""
        return next((known for known in self.in_slot(slot) if known.is_current), None)

    def says_nothing_new(self, candidate: Candidate, known: Known) -> bool:
        """Whether each content word of the candidate is in what the known row says already."""
        if known.terms is None:
            known.terms = self._words(Memory.objects.within(self.scope).only("pk", "text_ct").get(pk=known.id))
        return set(candidate.terms) <= set(known.terms)

    def meet(self, candidate: Candidate, known: Known) -> None:
        """The known row stands for the candidate: it was said once more, and stays for as long as either was to stay.

        What one proposal says twice is said once.
        """
        if known.said_by is not candidate.proposal:
            known.repetitions += 1
            known.said_by = candidate.proposal
        known.expires_at = _later(known.expires_at, self.end_of(candidate))

    def end_of(self, candidate: Candidate) -> datetime | None:
        """When the candidate's time would be over, or None for never."""
        minutes = candidate.proposal.ttl_minutes
        return self.now + timedelta(minutes=minutes) if minutes else None

    def said_at(self, candidate: Candidate) -> datetime:
        return candidate.proposal.occurred_at or self.now

    def near_duplicate(self, candidate: Candidate, *, threshold: float) -> int | None:
        """A memory with nearly the same vector that lacks no word of the candidate: nothing new is said.

        Said by the same person, about one time where it accumulates, and kept for at least as long.
        """
        if candidate.vector is None:
            return None
        end = self.end_of(candidate)
        for known, other, vector in self._vectors:
            if (
                float(candidate.vector @ vector) >= threshold
                and set(candidate.terms) <= set(other.terms)
                and candidate.actor == other.actor
                and candidate.from_assistant == other.from_assistant
                and known.is_current
                and self._is_of_one_time(candidate, known.type, known.said_at)
                and _later(known.expires_at, end) == known.expires_at
            ):
                return known.id
        return self._near_row(candidate, threshold=threshold)

    def _near_row(self, candidate: Candidate, *, threshold: float) -> int | None:
        assert candidate.vector is not None  # noqa: S101  (the caller looked)
        if not self.cipher.is_searchable:
            return None
        vectors = rotate(candidate.vector, self.cipher)
        found = nearest(self.scope, self.ref, vectors, limit=1, now=self.now, embedder=self.embedder)
        if not found or found[0][1] < threshold:
            return None
        known = self.by_id.get(found[0][0])
        row = Memory.objects.within(self.scope).filter(pk=found[0][0]).first()
        if (
            row is not None
            and (known is None or known.is_current)
            and row.actor_token == (self.cipher.actor_token(candidate.actor) if candidate.actor else None)
            and row.from_assistant == candidate.from_assistant
            and self._is_of_one_time(candidate, row.type, row.valid_from or row.created_at)
            and _later(row.expires_at, self.end_of(candidate)) == row.expires_at
            and set(candidate.terms) <= set(self._words(row))
        ):
            return row.pk
        return None

    def _is_of_one_time(self, candidate: Candidate, type_: str, said_at: datetime) -> bool:
        return type_ not in ACCUMULATING or abs(self.said_at(candidate) - said_at) <= ACCUMULATING_WINDOW

    def add(self, candidate: Candidate) -> Known:
        """Give the candidate an id and a place, as the newest row."""
        known = Known(
            id=self._next_id(),
            type=candidate.type,
            text_mac=candidate.text_mac,
            slot=candidate.slot,
            value_mac=candidate.value_mac,
            is_current=True,
            said_at=self.said_at(candidate),
            expires_at=self.end_of(candidate),
            said_by=candidate.proposal,
            terms=candidate.terms,
            is_new=True,
        )
        self.by_id[known.id] = known
        if candidate.vector is not None:
            self._vectors.append((known, candidate, candidate.vector))
        return known

    def _read(self, candidates: Sequence[Candidate]) -> None:
        slots = {slot for one in candidates for slot in (one.slot, one.closed_slot) if slot}
        macs = {one.text_mac for one in candidates if one.is_wanted}
        # Locked, and in the order of their ids as by everybody who changes memories: the sweep takes none of them away
        # while they are decided about, and nobody waits for another in a circle.
        rows = (
            Memory.objects.within(self.scope)
            .filter(retention_status="active")
            .filter(Q(text_mac__in=macs) | Q(slot__in=slots))
            .order_by("pk")
            .select_for_update(no_key=True)
            .values_list(
                "pk", "type", "text_mac", "slot", "value_mac", "validity", "created_at", "superseded_by_id",
                "expires_at", "legal_hold", "valid_from", "valid_to", named=True,
            )
        )  # fmt: skip
        # What is past its time would still hold its slot until the sweep comes by.
        gone = {row.pk for row in rows if row.expires_at and row.expires_at <= self.now and not row.legal_hold}
        if gone:
            expire(self.scope, ids=gone, limit=len(gone), now=self.now)
        for row in rows:
            if row.pk in gone:
                continue
            self.by_id[row.pk] = Known(
                id=row.pk,
                type=row.type,
                text_mac=bytes(row.text_mac),
                slot=bytes(row.slot) if row.slot else None,
                value_mac=bytes(row.value_mac) if row.value_mac else None,
                is_current=row.validity != "superseded",
                was_current=row.validity != "superseded",
                said_at=row.valid_from or row.created_at,
                expires_at=row.expires_at,
                expired_at=row.expires_at,
                superseded_by=row.superseded_by_id,
                valid_to=row.valid_to,
            )
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
        self._ids = take_ids(sum(one.is_wanted for one in candidates))

    def _next_id(self) -> int:
        return self._ids.pop(0)

    def _words(self, row: Memory) -> list[str]:
        """The words of a row.  One that fails its seal has none: it stands in the way of nothing new."""
        try:
            return terms(open_text(row, self.cipher).reveal())
        except DecryptError as error:
            integrity.note(self.scope, error, row.pk, space_id=self.space.pk, now=self.now)
            return []


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    """The later of two ends; None is never."""
    return None if one is None or other is None else max(one, other)


def take_ids(count: int, *, sequence: str = "memories_memory_id_seq") -> list[int]:
    """Fresh ids: they are needed before the rows, because every seal is bound to its row's id."""
    if not count:
        return []
    with connection.cursor() as cursor:
        cursor.execute("select nextval(%s) from generate_series(1, %s)", [sequence, count])
        return [fresh for (fresh,) in cursor.fetchall()]
