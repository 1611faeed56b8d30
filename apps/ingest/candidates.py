"""Data types of the pipeline: proposals (input), candidates (between steps) and outcomes (output)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.adapters.extractors.base import Proposed
from apps.core.plaintext import Plaintext
from apps.ingest.change_rules import Effect
from apps.ingest.imported import ImportedMemory
from apps.memories.opened import OpenedMemory
from apps.memories.type_fields import TypeField
from apps.memories.typed import TypedMemory, embedder_of
from apps.memories.types import TYPES, MemoryType
from text.mentions import NOBODY, Mentions
from text.predicates import PredicateClaim

EXPLICIT: Final = 0.5  # importance at or above this is an explicit "remember this"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReading:
    """A language model's unchecked extraction of a proposal.

    proposed: None if the rules must extract instead; ``fallback`` is the cause.
    cost_micros: in millionths of the operator's currency, if a price is configured.
    """

    proposed: Sequence[Proposed] | None = None
    fallback: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedExtraction:
    """The extraction of a candidate that a reviewer accepted.

    said_at: when it was proposed.  is_edited: the reviewer changed the text, so only the extracted type still applies.
    """

    type: str
    key: str | None
    value: str | None
    many_valued: bool
    closes: Sequence[tuple[str, str | None]]
    event_at: datetime | None
    event_precision: str
    event_range: tuple[datetime, datetime] | None
    source_strength: float
    said_at: datetime
    parts: "Sequence[PartClaim]" = ()
    is_edited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """A fact stated as such by the caller; nothing is extracted.  Valid in [valid_from, valid_to); None is open."""

    claim: PredicateClaim
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One text that a caller asks to have remembered.

    importance: 0..1, or None when the caller gave none; 0.5 and more is an explicit "remember this" and is kept whole.
    role: who spoke (user, assistant, system, tool).  occurred_at: when it was said, if not now.
    kept: set for an imported memory.  reviewed: set for a candidate that a reviewer accepted.
    stated: set for a fact stated as such.  typed: set for a typed memory, stated, extracted or imported.
    reading: set if a language model was called for it.
    fields: values of the fields of its type, of an imported memory; None: those that the text has.
    is_verbatim: an explicit one is stored even if it says nothing, and beside a memory with the same words.
    is_overheard: part of a conversation, not addressed to this service; unsure candidates then go to review unless the
    project decides otherwise.
    asked_at: time of the request, if it has waited in a queue since.
    is_imported: it came in a file of many.  is_vouched: the caller may review candidates, so that the attributes of an
    imported memory are trusted.
    """

    text: Plaintext
    source: str = ""
    source_kind: str = "auto"
    event_type: str = ""
    tags: tuple[str, ...] = ()
    importance: float | None = None
    session_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    client_ref: str | None = None
    ttl_minutes: int | None = None
    deduplicate: bool = True
    role: str = "user"
    speaker: str | None = None
    occurred_at: datetime | None = None
    fields: Mapping[str, Any] | None = None
    kept: ImportedMemory | None = None
    reviewed: ReviewedExtraction | None = None
    reading: ModelReading | None = None
    stated: StatedFact | None = None
    typed: TypedMemory | None = None
    is_verbatim: bool = False
    is_overheard: bool = False
    pinned: bool = False
    asked_at: datetime | None = None
    is_imported: bool = False
    is_vouched: bool = False

    @property
    def is_explicit(self) -> bool:
        """Whether the caller explicitly asked to remember this text."""
        return self.importance is not None and self.importance >= EXPLICIT

    @property
    def goes_by_id(self) -> bool:
        """Whether it is a typed memory that a request states: its id and its topic key alone decide about it."""
        return self.typed is not None and self.kept is None

    @property
    def is_extracted(self) -> bool:
        """Whether it is a typed memory that was found in a transcript."""
        return self.typed is not None and self.typed.is_extracted

    @property
    def is_meant(self) -> bool:
        """Whether it is to be remembered as it is, instead of being gated."""
        stated = (self.kept, self.reviewed, self.stated, None if self.is_extracted else self.typed)
        return self.is_explicit or any(one is not None for one in stated)


@dataclass(frozen=True, slots=True)
class Passage:
    """A line of a candidate, or the line that contains it.  sentences: of a line that the candidate contains whole."""

    text: Plaintext
    sentences: tuple[Plaintext, ...] = ()


@dataclass(slots=True, kw_only=True)
class PartClaim:
    """One claim of a text with several: its span [start, end), key, value and type.

    slot, value_mac: set by ``add_lookup_keys``.
    """

    start: int
    end: int
    key: str
    value: str
    many_valued: bool = False
    type: str = "fact"
    slot: bytes = b""
    value_mac: bytes = b""

    @property
    def claim(self) -> PredicateClaim | None:
        return PredicateClaim.read(self.key, self.value, many_valued=self.many_valued)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChange:
    """The effect of a candidate on an earlier statement.  Applied only if that is unchanged since the comparison.

    text_mac: of the earlier statement's valid text.  memory_id: None if it is part of the same batch.
    words: spans of its original text that no longer hold; empty if all of it ends.  over: confidence of that, 0..1.
    """

    text_mac: bytes
    memory_id: int | None
    effect: Effect
    words: Sequence[tuple[int, int]]
    over: float = 1.0


@dataclass(slots=True, kw_only=True)
class MemoryCandidate:
    """A piece of a proposal that becomes a memory or is refused with a reason.  The pipeline's steps fill it in.

    decision: empty while undecided.  key, value: canonical; without a key there is no slot.  many_valued: the key may
    have several values at once.  parts: claims of a text with more than one, in place of key and value.
    worth: probability that it is worth keeping, also for explicit requests.  style: probability that an instruction
    concerns only the style of answers.  extractor: ``rules`` or ``model``.
    spent: the model call, recorded on one candidate of a proposal.  passages: lines of a text; is_listed: with bullets.
    """

    proposal: Proposal
    text: Plaintext
    type: str
    key: str | None = None
    value: str | None = None
    many_valued: bool = False
    parts: Sequence[PartClaim] = ()
    closes: Sequence[tuple[str, str | None]] = ()
    event_at: datetime | None = None
    event_precision: str = ""
    event_range: tuple[datetime, datetime] | None = None
    source_strength: float = 0.95
    extractor_confidence: float = 0.9
    worth: float = 1.0
    style: float = 0.0
    extractor: str = "rules"
    spent: ModelReading | None = None
    passages: Sequence[Passage] = ()
    is_listed: bool = False

    decision: str = ""
    reason: str = ""
    memory_id: int | None = None
    review_id: int | None = None
    public_id: str = ""  # of a typed memory

    # extract_entities: the entities it mentions, and the relations between them
    about: Mentions = NOBODY
    # classify: definition of a tenant's own type, its lifetime and its fields
    own: MemoryType | None = None
    lasts: timedelta | None = None
    fields: Sequence[TypeField] = ()
    # add_lookup_keys: keyed handles, slots that it closes (with the value that ended, or any), terms for the index
    text_mac: bytes = b""
    passage_macs: Sequence[tuple[bytes, Sequence[bytes]]] = ()
    slot: bytes | None = None
    value_mac: bytes | None = None
    closed: Sequence[tuple[bytes, bytes | None]] = ()
    constraint_slot: bytes | None = None
    terms: Sequence[str] = ()
    actor: str | None = None
    # embed
    vector: NDArray[np.float32] | None = None
    # detect_changes
    changes: Sequence[FoundChange] = ()
    near: Sequence[tuple[int, float]] = ()  # (memory id, cosine) of the nearest memories ...
    near_as_of: int | None = None  # ... when this was the number of the space's latest change
    # supersede: the row that it replaces; rows it contradicts without replacing; constraints it violates
    replaces_id: int | None = None
    against: Sequence[int] = ()
    conflicts: Sequence[int] = ()
    # index: opens the memory as written
    opened: Callable[[], OpenedMemory] | None = None

    @property
    def is_wanted(self) -> bool:
        return not self.decision

    @property
    def claim(self) -> PredicateClaim | None:
        """Its claim, if it holds the slot of a claim or constraint; None for other candidates."""
        if self.slot is None or self.key is None or self.kind.group not in ("claim", "constraint"):
            return None
        stated = self.proposal.stated
        return stated.claim if stated else PredicateClaim.read(self.key, self.value or "", many_valued=self.many_valued)

    @property
    def kind(self) -> MemoryType:
        """The definition of its type."""
        return self.own or TYPES[self.type]

    @property
    def macs(self) -> set[bytes]:
        """Digests of the text, of its passages, and of the statements that it changes; none of a typed memory."""
        if self.proposal.goes_by_id:
            return set()
        passages = (mac for whole, parts in self.passage_macs for mac in (whole, *parts))
        return {self.text_mac, *passages, *(one.text_mac for one in self.changes)}

    @property
    def erased_macs(self) -> list[bytes]:
        """Digests of which an erasure keeps it from being stored; none of a typed memory that its caller states."""
        if not self.proposal.goes_by_id:
            return [self.text_mac]
        return [self.text_mac, *(whole for whole, _ in self.passage_macs)] if self.proposal.is_extracted else []

    @property
    def slots(self) -> list[bytes]:
        """All slots in which it may affect existing memories."""
        beside = (*(slot for slot, _ in self.closed), *(part.slot for part in self.parts))
        return [slot for slot in (self.slot, self.constraint_slot, *beside) if slot]

    @property
    def from_assistant(self) -> bool:
        """Whether the speaker is neither the user nor a named person."""
        return self.type == "reference" and self.actor is None

    @property
    def embeds(self) -> bool:
        """Whether our embedder makes its vector: not of a typed memory with the caller's own, nor of a typed task."""
        typed = self.proposal.typed
        return typed is None or (typed.vector is None and typed.type != "task")

    def embedder(self, ours: str) -> str:
        """The id of the embedder that made its vector."""
        typed = self.proposal.typed
        return ours if typed is None or typed.vector is None else embedder_of(typed.vector)

    def refuse(self, decision: str, reason: str, memory_id: int | None = None) -> None:
        self.decision, self.reason, self.memory_id = decision, reason, memory_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionMade:
    """The outcome of one candidate.  decision: a value of ``Decision``.  memory_id: the row created or matched, if any.
    review_id: set if it waits for review.  extractor: ``rules`` or ``model``.  fallback: why not the model."""

    decision: str
    reason: str = ""
    type: str = ""
    memory_id: int | None = None
    review_id: int | None = None
    extractor: str = "rules"
    fallback: str = ""


MADE = frozenset({"created", "superseding"})  # a new row
STORED = MADE | {"revived"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one proposal: a decision per candidate, in order; never empty.

    opened: opens the first memory that was stored, as it was written; None if no row was created for it.
    """

    decisions: Sequence[DecisionMade]
    opened: Callable[[], OpenedMemory] | None = field(default=None, compare=False, repr=False)

    @property
    def memory_ids(self) -> list[int]:
        """Distinct ids of the rows stored, or else of those matched, in order."""
        stored = [made.memory_id for made in self.decisions if made.memory_id and made.decision in STORED]
        met = [made.memory_id for made in self.decisions if made.memory_id]
        return list(dict.fromkeys(stored or met))

    @property
    def is_stored(self) -> bool:
        return any(made.decision in STORED for made in self.decisions)

    @property
    def extractor(self) -> str:
        """``model`` if a model extracted any candidate, else ``rules``."""
        return "model" if any(made.extractor == "model" for made in self.decisions) else "rules"

    @property
    def fallback(self) -> str:
        """Why the rules were used although a model is configured; empty otherwise."""
        return next((made.fallback for made in self.decisions if made.fallback), "")

    @property
    def review_ids(self) -> list[int]:
        """Distinct ids of the candidates that wait for review, in order."""
        return list(dict.fromkeys(made.review_id for made in self.decisions if made.review_id is not None))

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(made.decision for made in self.decisions))

    @property
    def reason(self) -> str:
        """Why nothing was stored, as an API value."""
        decisions = [made.decision for made in self.decisions]
        if any(made.reason == "already_ingested" for made in self.decisions):
            return "already_ingested"
        for made in self.decisions:
            if made.decision in {"duplicate", "merged"}:
                return "discarded_redundant"
        if "pending" in decisions:
            return "pending_review"
        for decision in ("discarded_policy", "discarded_transient", "discarded_redundant"):
            if decision in decisions:
                return decision
        return "no_high_value_content"
