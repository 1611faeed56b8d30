"""What the space already holds of a batch's candidates: read under its lock, kept true as they are decided."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext
from apps.core.sequences import take_ids
from apps.core.statements import Columns, prepared_cursor, sent_together
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.ingest.candidates import STORED, Candidate, FoundChange
from apps.ingest.known import Held, Holder, Known, KnownPart, Place
from apps.ingest.models import IngestReceipt
from apps.ingest.tools import Tools
from apps.memories import integrity
from apps.memories.claims import HeldClaim, held_by, held_claims
from apps.memories.integrity import VECTOR
from apps.memories.models import Memory
from apps.memories.nearest import nearest
from apps.memories.periods import Periods, Stretch
from apps.memories.periods import read as read_periods
from apps.memories.sealing import open_embedding, open_parts, open_said, open_text
from apps.memories.services import expire
from apps.memories.spaces import hold_space
from apps.memories.tombstones import texts_erased_at
from apps.memories.trust import Trust, trust_of
from apps.projects.models import Review, Space
from apps.projects.scope import Scope, SpaceRef
from apps.projects.selectors import review_policy
from apps.tenants.models import Tenant
from text.words import terms

T = TypeVar("T")
ACCUMULATING = frozenset({"event", "decision", "task"})
NEAREST = 4  # how many of the nearest memories are looked at
SIMILAR = 0.90  # cosine of those that are similar: of what is farther nothing is asked
ACCUMULATING_WINDOW = timedelta(hours=24)  # the same event told again within it is the same event


_READ = (
    "id", "tenant_id", "type", "text_mac", "said_mac", "slot", "value_mac", "validity", "created_at",
    "superseded_by_id", "superseded_reason", "expires_at", "legal_hold", "valid_from", "valid_to", "known_from",
    "source", "source_kind", "source_strength", "pinned", "event_at", "outdated_by_id",
)  # fmt: skip


# Lateral, and by bounds and an order that one index answers: the newest of a session is its last entry, however long
# the session and whatever the plan.
_LAST_OF_SESSIONS = """
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

_MEMORY = Columns(Memory, "memory", only=_READ)
# Lateral, and by bounds and an order that one index answers: a plan for all values may else read the whole space.
# Locked, and in the order of their ids as by everybody who changes memories: the sweep takes none of them away while
# they are decided about, and nobody waits for another in a circle.
_ALIKE = f"""
select {_MEMORY.sql} from (
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
    select same.* from unnest(%s::bytea[]) wanted(mac) cross join lateral (
        select tenant_id, memory_id from memories_memoryclaim where tenant_id = %s and space_id = %s
        and slot >= wanted.mac and slot <= wanted.mac order by slot) same
    order by id
) either cross join lateral (
    select * from memories_memory memory where (memory.tenant_id, memory.id) = (either.tenant_id, either.id)
    and memory.environment = %s and (%s::bigint is null or memory.project_id is null or memory.project_id = %s)
    and memory.retention_status = 'active' for no key update
) memory order by memory.id"""  # noqa: S608  (names of our own columns)
_ROW_COLUMNS = Columns(
    Memory, "memory",
    only=("id", "type", "text_ct", "actor_token", "from_assistant", "created_at", "valid_from", "expires_at",
          "event_at", "said_ct", "parts_ct", "revision"),
)  # fmt: skip
_ROW = f"""
select {_ROW_COLUMNS.sql} from memories_memory memory where memory.tenant_id = %s and memory.space_id = %s
  and (%s::bigint is null or memory.project_id is null or memory.project_id = %s) and memory.id = %s"""  # noqa: S608


class KeyTurned(Exception):
    """The keys turned, or the space changed its profile, between the look and the lock: start over with what is now."""


@dataclass(slots=True, kw_only=True)
class Shelf:
    """Rows by digest and by slot, the callers' references already honoured, what is new in the review queue, and ids
    for new rows."""

    scope: Scope
    space: Space
    cipher: SpaceCipher
    embedder: str
    now: datetime
    task_cap: timedelta | None
    by_id: dict[int, Known] = field(default_factory=dict)
    receipts: dict[bytes, list[int]] = field(default_factory=dict)
    new_receipts: dict[bytes, str] = field(default_factory=dict)
    erased_at: dict[bytes, datetime] = field(default_factory=dict)
    waiting: list[Candidate] = field(default_factory=list)
    _by_text: dict[bytes, list[Known]] = field(default_factory=dict)
    _by_said: dict[bytes, list[Known]] = field(default_factory=dict)
    _by_slot: dict[bytes, list[Holder]] = field(default_factory=dict)
    _ids: list[int] = field(default_factory=list)
    _vectors: list[tuple[Known, Candidate, NDArray[np.float32]]] = field(default_factory=list)
    _near: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    _policy: Tenant | None = None
    _review: Review | None = None

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
        space = hold_space(scope)
        if space.ref != ref:
            raise KeyTurned
        shelf = cls(
            scope=scope, space=space, cipher=cipher, embedder=tools.embedder.id, now=tools.now, task_cap=tools.task_cap
        )
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
        alike = self._by_text.get(candidate.text_mac, ())
        whole = (known for known in alike if known.is_whole)
        return next((known for known in whole if self.is_of_one_time(candidate, known)), None)

    def said_until_then(self, candidate: Candidate) -> Known | None:
        """A memory that said the same words, of which some ended after the time of which they are told here."""
        at = self.said_at(candidate)
        here = [one for one in self._by_text.get(candidate.text_mac, ()) if one.ended]
        for known in here + self._by_said.get(candidate.text_mac, []):
            if known.is_current and self.is_of_one_time(candidate, known) and at < self._first_end(known):
                return known
        return None

    def _first_end(self, known: Known) -> datetime:
        """Since when it says no longer all that it said."""
        row = None if known.is_new else self._find_row(known.id)
        ended = self._opened(row, open_parts) or [] if row else []
        return min([one.at for one in known.ended] + [part.ended_at for part in ended], default=known.said_at)

    def changed_by(self, change: FoundChange) -> list[Known]:
        """What the change is of, where it still says what it said when the two were compared."""
        return [known for known in self._by_text.get(change.text_mac, ()) if change.memory_id in (None, known.id)]

    def stands_for(self, candidate: Candidate, known: Known) -> bool:
        """Whether nothing is lost where a memory that says the same is all that is kept of the candidate."""
        return (
            known.validity == "current"
            and known.outdated_by is None
            and not known.ended
            and self.trust(candidate) <= known.trust
            and self.is_of_one_time(candidate, known)
            and outlasts(known.expires_at, self.end_of(candidate))
        )

    def put_together(self, candidate: Candidate) -> Known | None:
        """The first of the memories that a text in lines is made of, where it is made of nothing else.

        Lines with bullets are such as recall gives out: these are never told anew.
        """
        asked = {mac for whole, sentences in candidate.passage_macs for mac in (whole, *sentences)}
        current = (known for mac in asked for known in self._by_text.get(mac, ()) if known.is_current)
        here = {known.text_mac: known for known in current}
        found: list[Known] = []
        for whole, sentences in candidate.passage_macs:
            parts = [here[mac] for mac in ([whole] if whole in here else sentences) if mac in here]
            if len(parts) < (1 if whole in here else max(1, len(sentences))):
                return None
            found += parts
        is_told = all(candidate.is_listed or self.is_of_one_time(candidate, known) for known in found)
        return found[0] if found and is_told else None

    def in_slot(self, slot: bytes) -> Sequence[Holder]:
        """Every memory, or part of one, that ever held the slot and still exists, oldest first."""
        return self._by_slot.get(slot, ())

    def holder(self, slot: bytes) -> Holder | None:
        """What holds the slot now."""
        return next((known for known in self.in_slot(slot) if known.is_current), None)

    def place(self, slot: bytes, at: datetime) -> Place:
        """Where this time lies among what held the slot.  Of two that began at once, the later row held."""
        rows = self.in_slot(slot)
        every = [Held(known, stretch) for known in rows for stretch in known.periods.stretches]
        here = [held for held in every if held.stretch.holds_at(at)]
        after = [held for held in every if held.stretch.start > at]
        return Place(
            here=max(here, key=_begun, default=None),
            after=min(after, key=_begun, default=None),
            others=[known for known in rows if known.is_current],
        )

    def trust(self, candidate: Candidate) -> Trust:
        """Of what comes from elsewhere as it was there, by whoever may review: as if they had looked at it here."""
        proposal = candidate.proposal
        if proposal.kept is not None and proposal.is_vouched:
            return Trust.STATED
        return trust_of(source_kind=proposal.source_kind, source_strength=candidate.source_strength)

    @property
    def policy(self) -> Tenant:
        """The tenant's, read once and only where it decides something."""
        if self._policy is None:
            self._policy = Tenant.objects.only("changes", "instructions").get(pk=self.scope.tenant_id)
        return self._policy

    @property
    def review(self) -> Review:
        """What of the project waits for a person, read once and only where it decides something."""
        if self._review is None:
            self._review = review_policy(self.scope)
        return self._review

    def says_nothing_new(self, candidate: Candidate, known: Known) -> bool:
        """Whether each content word of the candidate is in what the known row says already."""
        return set(candidate.terms) <= set(self.terms_of(known))

    def terms_of(self, known: Known) -> Sequence[str]:
        """Its content words; opened where nobody has asked before."""
        if known.terms is None:
            row = self._find_row(known.id)
            known.terms = self._words(row) if row else []
        return known.terms

    def terms_said(self, known: Known) -> Sequence[str]:
        """The content words of what it said before any of its words ended."""
        row = None if known.is_new else self._find_row(known.id)
        return self.terms_of(known) if row is None else self._words(row, open_said)

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
        if candidate.proposal.kept is not None:
            end = candidate.proposal.kept.expires_at
        else:
            minutes = candidate.proposal.ttl_minutes
            lasts = timedelta(minutes=minutes) if minutes else candidate.lasts
            end = self.now + lasts if lasts else None
        return self._capped(end) if candidate.type == "task" else end

    def _capped(self, end: datetime | None) -> datetime | None:
        """No task lasts longer than the policies of the tenant, the project and the space let it."""
        if self.task_cap is None:
            return end
        latest = self.now + self.task_cap
        return latest if end is None else min(end, latest)

    def said_at(self, candidate: Candidate) -> datetime:
        """Since when it is said to hold: what comes from elsewhere says so, else when it was said."""
        proposal = candidate.proposal
        told = proposal.kept or proposal.stated
        told_at = told.valid_from if told else None
        proposed_at = proposal.reviewed.said_at if proposal.reviewed else self.now
        return told_at or proposal.occurred_at or proposed_at

    def until(self, candidate: Candidate) -> datetime | None:
        """Until when it is said to hold, where somebody says so."""
        return candidate.proposal.stated.valid_to if candidate.proposal.stated else None

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
                and known.is_whole
                and self.is_of_one_time(candidate, known)
                and outlasts(known.expires_at, end)
            ):
                return known.id
        return self._near_row(candidate, threshold=threshold)

    def _near_row(self, candidate: Candidate, *, threshold: float) -> int | None:
        assert candidate.vector is not None  # noqa: S101  (the caller looked)
        found = self._near_rows(candidate)
        if not found or found[0][1] < threshold:
            return None
        known = self.by_id.get(found[0][0])
        row = self._find_row(found[0][0])
        if (
            row is not None
            and (known is None or known.is_whole)
            and row.actor_token == (self.cipher.actor_token(candidate.actor) if candidate.actor else None)
            and row.from_assistant == candidate.from_assistant
            and self.is_of_one_time(candidate, row)
            and outlasts(row.expires_at, self.end_of(candidate))
            and set(candidate.terms) <= set(self._words(row))
        ):
            return row.pk
        return None

    def _find_row(self, memory_id: int) -> Memory | None:
        with prepared_cursor() as cursor:
            project_id = self.scope.project_id
            cursor.execute(_ROW, [self.scope.tenant_id, self.space.pk, project_id, project_id, memory_id])
            found = cursor.fetchone()
        return _ROW_COLUMNS.row(found) if found else None

    def near(self, candidate: Candidate) -> list[tuple[int, float]]:
        """The memories nearest to it, of this batch before it and of those at rest: (id, cosine), nearest first."""
        if candidate.vector is None or candidate.memory_id is None:
            return []
        earlier = [(known, vector) for known, _, vector in self._vectors if known.id < candidate.memory_id]
        cosines = np.stack([vector for _, vector in earlier]) @ candidate.vector if earlier else ()
        mine = [(known.id, float(cosine)) for (known, _), cosine in zip(earlier, cosines, strict=True)]
        return sorted([*mine, *self._near_rows(candidate)], key=lambda one: (-one[1], one[0]))

    def holders(self, slots: Collection[bytes]) -> dict[bytes, int]:
        """Which memory holds each of these slots now, be it of this batch or at rest."""
        if not slots:
            return {}
        rows = Memory.objects.within(self.scope).live(self.now).filter(slot__in=slots)
        at_rest = {bytes(slot): memory_id for memory_id, slot in rows.values_list("pk", "slot") if slot}
        return at_rest | {slot: one.id for slot in slots if (one := self.holder(slot)) is not None}

    def last_of_sessions(self, candidates: Sequence[Candidate]) -> dict[str, tuple[int, datetime, NDArray[np.float32]]]:
        """The last memory at rest of each session of these candidates: its id, when it was said, and its vector."""
        sessions = dict.fromkeys(one.proposal.session_id for one in candidates if one.proposal.session_id)
        tokens = {self.cipher.session_token(name): name for name in sessions if name}
        found: dict[str, tuple[int, datetime, NDArray[np.float32]]] = {}
        for token, memory_id, said_at, blob in self._last_rows(list(tokens)):
            try:
                found[tokens[token]] = memory_id, said_at, open_embedding(memory_id, bytes(blob), self.cipher)
            except DecryptError as error:
                integrity.note(self.scope, error, memory_id, space_id=self.space.pk, table=VECTOR, now=self.now)
        return found

    def _last_rows(self, tokens: list[int]) -> list[tuple[int, int, datetime, bytes]]:
        if not tokens:
            return []
        project_id = self.scope.project_id
        with prepared_cursor() as cursor:
            cursor.execute(
                _LAST_OF_SESSIONS,
                [tokens, self.scope.tenant_id, self.space.pk, self.now, project_id, project_id, self.scope.tenant_id,
                 self.embedder],
            )  # fmt: skip
            rows: list[tuple[int, int, datetime, bytes]] = cursor.fetchall()
        return rows

    def _near_rows(self, candidate: Candidate) -> list[tuple[int, float]]:
        """Of those at rest; asked once for each candidate."""
        if candidate.vector is None or not self.cipher.is_searchable:
            return []
        if id(candidate) not in self._near:
            self._near[id(candidate)] = nearest(
                self.scope,
                self.ref,
                candidate.vector,
                self.cipher,
                limit=NEAREST,
                now=self.now,
                embedder=self.embedder,
                least=SIMILAR,
            )
        return self._near[id(candidate)]

    def is_of_one_time(self, candidate: Candidate, known: "Known | Memory") -> bool:
        """Whether what accumulates is told of one time: about when it was said, or of the date that both name.

        What is said now, at no time of its own, is of one time with what was stored just now, whenever that was said.
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

    def add(self, candidate: Candidate) -> Known:
        """Give the candidate an id and a place, as the newest row."""
        known = Known(
            id=self._next_id(),
            type=candidate.type,
            text_mac=candidate.text_mac,
            slot=candidate.slot,
            value_mac=candidate.value_mac,
            periods=Periods(
                latest=Stretch(start=self.said_at(candidate), end=self.until(candidate), known_from=self.now)
            ),
            trust=self.trust(candidate),
            made_at=self.now,
            expires_at=self.end_of(candidate),
            event_at=candidate.event_at,
            source=candidate.proposal.source,
            said_by=candidate.proposal,
            terms=candidate.terms,
            is_new=True,
        )
        known.parts = [
            KnownPart(
                memory=known,
                start=part.start,
                end=part.end,
                slot=part.slot,
                value_mac=part.value_mac,
                periods=Periods(
                    latest=Stretch(start=self.said_at(candidate), end=self.until(candidate), known_from=self.now)
                ),
            )
            for part in candidate.parts
        ]
        self._put(known)
        if candidate.vector is not None:
            self._vectors.append((known, candidate, candidate.vector))
        return known

    def _put(self, known: Known) -> None:
        self.by_id[known.id] = known
        self._by_text.setdefault(known.text_mac, []).append(known)
        if known.said_mac is not None:
            self._by_said.setdefault(known.said_mac, []).append(known)
        if known.slot is not None:
            self._by_slot.setdefault(known.slot, []).append(known)
        for part in known.parts:
            self._by_slot.setdefault(part.slot, []).append(part)

    def read_parts(self, known: Known) -> None:
        """Know all claims of a memory that says more: it was read for another reason than the slots that they hold."""
        if known.is_new:
            return
        there = {part.claim_id for part in known.parts}
        claims = held_by(self.scope, self.space.pk, known.id, self.cipher, now=self.now)
        known.parts += [_part(known, claim) for claim in claims if claim.id not in there]

    def _read(self, candidates: Sequence[Candidate]) -> None:
        slots = sorted({slot for one in candidates for slot in one.slots})
        macs = {mac for one in candidates if one.is_wanted for mac in one.macs}
        mine, project_id = [self.scope.tenant_id, self.space.pk], self.scope.project_id
        with prepared_cursor() as alike:
            with sent_together():
                alike.execute(
                    _ALIKE,
                    [list(macs), *mine, list(macs), *mine, slots, *mine, slots, *mine, self.scope.environment.value,
                     project_id, project_id],
                )  # fmt: skip
                wanted = [one.text_mac for one in candidates if one.is_wanted]
                self.erased_at = texts_erased_at(self.scope, self.cipher, wanted)
                self._ids = take_ids(len(wanted), sequence="memories_memory_id_seq")
            rows = [_MEMORY.row(found) for found in alike.fetchall()]
        parts: dict[int, list[HeldClaim]] = {}
        if any(row.slot is None for row in rows):  # of one claim alone, a memory holds the slot itself
            for claim in held_claims(self.scope, self.space.pk, slots, self.cipher, now=self.now):
                parts.setdefault(claim.memory_id, []).append(claim)
        # What is past its time would still hold its slot until the sweep comes by.
        gone = {row.pk for row in rows if row.expires_at and row.expires_at <= self.now and not row.legal_hold}
        if gone:
            expire(self.scope, ids=gone, limit=len(gone), now=self.now)
        periods = read_periods(self.scope, [row for row in rows if row.slot is not None])
        for row in rows:
            if row.pk in gone:
                continue
            known = Known(
                id=row.pk,
                type=row.type,
                text_mac=bytes(row.text_mac),
                said_mac=bytes(row.said_mac) if row.said_mac else None,
                slot=bytes(row.slot) if row.slot else None,
                value_mac=bytes(row.value_mac) if row.value_mac else None,
                validity=row.validity,
                was=row.validity,
                periods=periods.get(row.pk) or Periods.of_row(row),
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
            known.parts = [_part(known, claim) for claim in parts.get(row.pk, ())]
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

    def _next_id(self) -> int:
        return self._ids.pop(0)

    def _words(self, row: Memory, read: Callable[[Memory, SpaceCipher], Plaintext] = open_text) -> list[str]:
        """The words of a row.  One that fails its seal has none: it stands in the way of nothing new."""
        text = self._opened(row, read)
        return terms(text.reveal()) if text is not None else []

    def _opened(self, row: Memory, read: Callable[[Memory, SpaceCipher], T]) -> T | None:
        """What is sealed in a row; None, and noted, where it fails its seal."""
        try:
            return read(row, self.cipher)
        except DecryptError as error:
            integrity.note(self.scope, error, row.pk, space_id=self.space.pk, now=self.now)
            return None


def _part(known: Known, claim: HeldClaim) -> KnownPart:
    return KnownPart(
        memory=known,
        start=claim.start,
        end=claim.end,
        slot=claim.slot,
        value_mac=claim.value_mac,
        periods=Periods(latest=Stretch(start=claim.valid_from, end=claim.valid_to, known_from=claim.known_from)),
        validity=claim.validity,
        was=claim.validity,
        superseded_by=claim.superseded_by_id,
        claim_id=claim.id,
    )


def _begun(held: Held) -> tuple[datetime, int]:
    return held.stretch.start, held.holder.id


def outlasts(one: datetime | None, other: datetime | None) -> bool:
    """Whether the first end is not before the other; None is never."""
    return _later(one, other) == one


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    """The later of two ends; None is never."""
    return None if one is None or other is None else max(one, other)
