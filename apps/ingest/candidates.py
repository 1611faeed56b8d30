"""What flows between the steps of the pipeline: proposals in, candidates between, outcomes out."""

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
from apps.memories.opened import OpenedMemory
from apps.memories.types import TYPES, MemoryType
from text.mentions import NOBODY, Mentions
from text.predicates import PredicateClaim

EXPLICIT: Final = 0.5  # an importance from here on is an explicit "remember this"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEdge:
    """A relation that a memory had elsewhere, its ends by their references."""

    from_ref: str
    to_ref: str
    type: str
    confidence: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_automatic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMemory:
    """What a memory was elsewhere, to be so here: nothing is extracted, split or weighed again.

    since: what was here before is matched again; what came with it is another memory, also where it says the same.
    """

    type: str
    key: str | None
    since: datetime
    is_current: bool = True
    is_archived: bool = False
    is_summary: bool = False
    pinned: bool = False
    tier: str = "hot"
    confidence: float | None = None
    event_at: datetime | None = None
    event_precision: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    edges: Sequence[KeptEdge] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReading:
    """What a language model read in a proposal, unchecked; None where the rules must read it, and ``fallback`` why.

    cost_micros: in millionths of the operator's currency, where a price is known.
    """

    proposed: Sequence[Proposed] | None = None
    fallback: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedExtraction:
    """What was read out of a text before a person looked at it and let it through.

    said_at: when it was proposed.  is_edited: the text is the person's own, so that only the type is as it was read.
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
    """A fact that a caller states as one: nothing is extracted.  It held in [valid_from, valid_to), None is open."""

    claim: PredicateClaim
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing that a caller asks to have remembered.

    importance: 0..1, or None when the caller did not say; 0.5 and more is an explicit "remember this" and passes the
    gate whole.  role: who spoke (user, assistant, system, tool).  occurred_at: when it was said, if not now.
    kept: for a memory that comes from elsewhere as it is.  reviewed: for what a person has let through.
    stated: for a fact that is stated as one.
    reading: for what a language model was asked about.  is_overheard: said to someone else, so that what is unsure
    waits for a person where the project does not say.
    asked_at: when it was asked for, if it has waited in a queue since.
    is_imported: it came in a file of many.  is_vouched: brought by one who may review, a person or a program that
    a person trusts with it, so that what a memory says it was elsewhere is believed.
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
    kept: ImportedMemory | None = None
    reviewed: ReviewedExtraction | None = None
    reading: ModelReading | None = None
    stated: StatedFact | None = None
    is_overheard: bool = False
    pinned: bool = False
    asked_at: datetime | None = None
    is_imported: bool = False
    is_vouched: bool = False

    @property
    def is_explicit(self) -> bool:
        """Whether the caller asked for just this to be remembered."""
        return self.importance is not None and self.importance >= EXPLICIT

    @property
    def is_meant(self) -> bool:
        """Whether a caller has said that it is to be remembered as it is."""
        return self.is_explicit or self.kept is not None or self.reviewed is not None or self.stated is not None


@dataclass(frozen=True, slots=True)
class Passage:
    """A line that a candidate is made of, or is a part of.  sentences: of a line that the candidate holds whole."""

    text: Plaintext
    sentences: tuple[Plaintext, ...] = ()


@dataclass(slots=True, kw_only=True)
class PartClaim:
    """A claim of a text that says more: its words [start, end), key, value and type, and, once ``resolve`` has been
    there, the slot that they hold."""

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
    """What a candidate does to a statement made before it, if that is still as it was when the two were compared.

    text_mac: of what held of it.  memory_id: None of one that the same batch says.  words: those of it that are over,
    as it was said; none where all of it is.  over: how surely, 0..1.
    """

    text_mac: bytes
    memory_id: int | None
    effect: Effect
    words: Sequence[tuple[int, int]]
    over: float = 1.0


@dataclass(slots=True, kw_only=True)
class MemoryCandidate:
    """A piece of a proposal on its way to being a memory, or being refused with a reason.  Steps fill it in.

    decision: empty while it is still wanted.  key, value: canonical; key None has no slot.  many_valued: the key names
    one of many that stand beside each other.  parts: of a text that says more than one thing, in place of these.
    worth: how likely it is worth keeping, also where it was asked for.  extractor: who read it; spent: what asking
    a model cost, recorded on one candidate of a proposal.  passages: of a text in lines; is_listed: they have bullets.
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
    extractor: str = "rules"
    spent: ModelReading | None = None
    passages: Sequence[Passage] = ()
    is_listed: bool = False

    decision: str = ""
    reason: str = ""
    memory_id: int | None = None
    review_id: int | None = None

    # identify: who and what it is about, and how they stand to each other
    about: Mentions = NOBODY
    # classify: of a type that is the tenant's own, what it means, and for how long it is kept
    own: MemoryType | None = None
    lasts: timedelta | None = None
    # resolve: keyed handles, slots that it ends (with the value that ended, or any), and the words for the index
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
    # compare
    changes: Sequence[FoundChange] = ()
    # supersede: the row that this one replaces; those that it is against and does not replace; limits it goes against
    replaces_id: int | None = None
    against: Sequence[int] = ()
    conflicts: Sequence[int] = ()
    # index: opens what was written
    opened: Callable[[], OpenedMemory] | None = None

    @property
    def is_wanted(self) -> bool:
        return not self.decision

    @property
    def claim(self) -> PredicateClaim | None:
        """What it claims of whom, where it holds the slot of a claim or a limit, and says nothing else."""
        if self.slot is None or self.key is None or self.kind.group not in ("claim", "constraint"):
            return None
        stated = self.proposal.stated
        return stated.claim if stated else PredicateClaim.read(self.key, self.value or "", many_valued=self.many_valued)

    @property
    def kind(self) -> MemoryType:
        """What its type means."""
        return self.own or TYPES[self.type]

    @property
    def macs(self) -> set[bytes]:
        """Digests of the text, of all it may be put together of, and of what it changes."""
        passages = (mac for whole, parts in self.passage_macs for mac in (whole, *parts))
        return {self.text_mac, *passages, *(one.text_mac for one in self.changes)}

    @property
    def slots(self) -> list[bytes]:
        """Those in which it has to do with what is there."""
        beside = (*(slot for slot, _ in self.closed), *(part.slot for part in self.parts))
        return [slot for slot in (self.slot, self.constraint_slot, *beside) if slot]

    @property
    def from_assistant(self) -> bool:
        """Said by someone other than the user, and not by a person with a name."""
        return self.type == "reference" and self.actor is None

    def refuse(self, decision: str, reason: str, memory_id: int | None = None) -> None:
        self.decision, self.reason, self.memory_id = decision, reason, memory_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionMade:
    """The outcome of one candidate.  decision: a value of ``Decision``; memory_id: the row made or matched, if any;
    review_id: of one that waits for a person.  extractor: ``rules`` or ``model``, and fallback: why not the model."""

    decision: str
    reason: str = ""
    type: str = ""
    memory_id: int | None = None
    review_id: int | None = None
    extractor: str = "rules"
    fallback: str = ""


MADE = frozenset({"created", "superseding"})  # a row of its own
STORED = MADE | {"revived"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one proposal: a decision per candidate, in order; never empty.

    opened: opens the first memory that was stored, as it was written; None where no row was made for it.
    """

    decisions: Sequence[DecisionMade]
    opened: Callable[[], OpenedMemory] | None = field(default=None, compare=False, repr=False)

    @property
    def memory_ids(self) -> list[int]:
        """Ids of the rows stored, or else of those that were matched; each once, in order."""
        stored = [made.memory_id for made in self.decisions if made.memory_id and made.decision in STORED]
        met = [made.memory_id for made in self.decisions if made.memory_id]
        return list(dict.fromkeys(stored or met))

    @property
    def is_stored(self) -> bool:
        return any(made.decision in STORED for made in self.decisions)

    @property
    def extractor(self) -> str:
        """Who read the proposal: ``model``, or else ``rules``."""
        return "model" if any(made.extractor == "model" for made in self.decisions) else "rules"

    @property
    def fallback(self) -> str:
        """Why the rules read it though there is a model; empty otherwise."""
        return next((made.fallback for made in self.decisions if made.fallback), "")

    @property
    def review_ids(self) -> list[int]:
        """What waits for a person, each once, in order."""
        return list(dict.fromkeys(made.review_id for made in self.decisions if made.review_id is not None))

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(made.decision for made in self.decisions))

    @property
    def reason(self) -> str:
        """Why nothing was stored, in the wire's words."""
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
