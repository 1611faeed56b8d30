"""The result of the rules for one part of a turn."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

PROPOSED = "model"  # the reason for findings of a language model
# Types that are in force: rules for the assistant, and constraints of the user.
ORDER = "instruction"
LIMIT = "constraint"
Decision = Literal["keep", "discarded_low_signal", "discarded_transient", "discarded_policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPart:
    """A claim: its words, text[start:end] of the turn, with key and value.

    type: of a statement that consists of this claim only.
    """

    start: int
    end: int
    key: str
    value: str
    many_valued: bool = False
    type: str = "fact"

    def moved(self, by: int) -> "ClaimPart":
        """The same claim in a text that begins that many characters earlier; negative: later."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One part of a turn, kept or refused.

    start, end: text[start:end] of the original turn is what is stored, never altered.
    reason: the rule's short name, for statistics; holds no user content.
    key, value: canonical, of a finding that is one claim and says nothing else; the same fact in other words gives
        the same pair. Without a key the value is a signature of the content words and the date, to distinguish a
        repetition from news.
    event_at: in the time zone of `now`; midnight unless event_precision is exact.
    event_range: first and last moment, both inclusive, where the date is wider than a day.
    source_strength: 0.30 (hearsay) to 0.95 (said by the user directly).
    worth: how likely the classifier thinks it worth keeping, 0..1; 1 where it was not asked.
    style: how likely the classifier thinks that an instruction concerns only the style of answers, 0..1.
    redacted: a part of the same sentence was refused by policy, so the span is less than what was said.
    closes: (key, old value or None) of each claim that it says is over: "I sold the van", "left the bakery".
        With a value, only a claim with that value is closed.
    parts: the claims of a finding that says more, in place of a key.
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
    worth: float = 1.0
    style: float = 0.0
    closes: tuple[tuple[str, str | None], ...] = ()
    parts: tuple[ClaimPart, ...] = ()

    @property
    def claims(self) -> tuple[ClaimPart, ...]:
        """The claims: ``parts``, or the whole finding if it is a single claim."""
        if self.key is None:
            return self.parts
        whole = ClaimPart(
            start=self.start,
            end=self.end,
            key=self.key,
            value=self.value or "",
            many_valued=self.many_valued,
            type=self.type,
        )
        return (whole,)
