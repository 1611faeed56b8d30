"""What flows between the steps of the pipeline: proposals in, candidates between, outcomes out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One thing somebody asks to have remembered.

    importance: 0..1, or None when the caller did not say; 0.5 and more is an explicit "remember this" and passes the
    gate whole.  role: who spoke (user, assistant, system, tool).  occurred_at: when it was said, if not now.
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


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A piece of a proposal on its way to being a memory, or being refused with a reason.  Steps fill it in.

    decision: empty while it is still wanted.  key, value: canonical; key None has no slot.
    """

    proposal: Proposal
    text: Plaintext
    type: str
    key: str | None = None
    value: str | None = None
    closes: tuple[str, str | None] | None = None
    event_at: datetime | None = None
    event_precision: str = ""
    event_range: tuple[datetime, datetime] | None = None
    source_strength: float = 0.95
    extractor_confidence: float = 0.9

    decision: str = ""
    reason: str = ""
    memory_id: int | None = None

    # resolve: keyed handles, and the words for the index
    text_mac: bytes = b""
    slot: bytes | None = None
    value_mac: bytes | None = None
    closed_slot: bytes | None = None
    closed_value: bytes | None = None
    terms: Sequence[str] = ()
    actor: str | None = None
    # embed
    vector: NDArray[np.float32] | None = None
    # supersede: the row that this one replaces
    replaces_id: int | None = None

    @property
    def is_wanted(self) -> bool:
        return not self.decision

    @property
    def from_assistant(self) -> bool:
        """Said by somebody other than the user, and not by a person with a name."""
        return self.type == "reference" and self.actor is None

    def refuse(self, decision: str, reason: str, memory_id: int | None = None) -> None:
        self.decision, self.reason, self.memory_id = decision, reason, memory_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionMade:
    """What became of one candidate.  decision: a value of ``Decision``; memory_id: the row made or met, if any."""

    decision: str
    reason: str = ""
    type: str = ""
    memory_id: int | None = None


STORED = frozenset({"created", "revived", "superseding"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one proposal: a decision per candidate, in order; never empty."""

    decisions: Sequence[DecisionMade]

    @property
    def memory_ids(self) -> list[int]:
        """Ids of the rows stored, or else of those that were met again; each once, in order."""
        stored = [made.memory_id for made in self.decisions if made.memory_id and made.decision in STORED]
        met = [made.memory_id for made in self.decisions if made.memory_id]
        return list(dict.fromkeys(stored or met))

    @property
    def is_stored(self) -> bool:
        return any(made.decision in STORED for made in self.decisions)

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
        for decision in ("discarded_policy", "discarded_transient", "discarded_redundant"):
            if decision in decisions:
                return decision
        return "no_high_value_content"
