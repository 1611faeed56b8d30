"""What the rules say about one part of a turn."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Decision = Literal["keep", "discarded_low_signal", "discarded_transient", "discarded_policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A claim of a text that says more: its words, text[start:end] of the turn, its key and value."""

    start: int
    end: int
    key: str
    value: str
    many_valued: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One part of a turn, kept or refused.

    start, end: text[start:end] of the original turn is what is stored, never altered.
    reason: the rule's short name, for statistics; holds no user content.
    key, value: canonical; the same fact in other words gives the same pair. Types without a slot have no key, and
        their value is a signature of the content words and the date, for telling a repetition from news.
    event_at: in the time zone of `now`; midnight unless event_precision is exact.
    event_range: first and last moment, both inclusive, where the date is wider than a day.
    source_strength: 0.30 (hearsay) to 0.95 (said by the user directly).
    redacted: a part of the same sentence was refused by policy, so the span is less than what was said.
    closes: (key, old value or None) of a claim that this statement says is over: "I sold the van", "left the bakery".
        With a value, only a claim with that value is closed.
    parts: the claims of a finding that says more than one thing, in place of a key.
    """

    start: int
    end: int
    decision: Decision
    reason: str
    type: str = "fact"
    key: str | None = None
    value: str | None = None
    many_valued: bool = False
    event_at: datetime | None = None
    event_precision: str | None = None
    event_range: tuple[datetime, datetime] | None = None
    source_strength: float = 0.95
    extractor_confidence: float = 0.9
    redacted: bool = False
    closes: tuple[str, str | None] | None = None
    parts: tuple[Part, ...] = ()
