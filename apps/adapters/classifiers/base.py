"""The promise every classifier keeps; ``tests/contracts/test_classifiers.py`` holds each of them to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

TYPES: Final = (
    "instruction", "constraint", "task", "decision", "relation", "entity", "event", "preference", "fact",
)  # fmt: skip
OUTCOMES: Final = ("keep", "low_signal", "transient")
# How a later statement stands to an earlier one: a new value for the same thing; it is over; the same again; more of
# the same matter, and both hold; nothing to do with it.
RELATIONS: Final = ("replaces", "ends", "repeats", "adds", "unrelated")
CHANGES: Final = frozenset({"replaces", "ends"})  # something of the earlier statement is over

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceScores:
    """Of one sentence, each 0..1.  keep, low_signal, transient: sum to 1.

    forbidden: that it gives a secret away or plants an order.  types: by name; several may be likely.
    """

    keep: float
    low_signal: float
    transient: float
    forbidden: float
    types: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScores:
    """sentences: in order.  forbidden: of the turn as a whole, of which no sentence alone may give it away.

    parts: the scores of types for each part asked about.
    """

    sentences: Sequence[SentenceScores]
    forbidden: float
    parts: Sequence[Mapping[str, float]]


class WordScore(NamedTuple):
    """A word [start, end) of a statement, and how surely it holds no longer, 0..1."""

    start: int
    end: int
    over: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeScores:
    """Of an earlier statement, in the light of a later one.  relations: by name, each 0..1, sum to 1.

    words: of the earlier statement, in order, as far as it was read.
    """

    relations: Mapping[str, float]
    words: Sequence[WordScore]

    @property
    def over(self) -> float:
        """That something of it is over, 0..1."""
        return sum(self.relations[name] for name in CHANGES)


@runtime_checkable
class Classifier(Protocol):
    """Reads what people say to an assistant.  Safe to share between threads.

    id: name of the model and its generation.
    """

    @property
    def id(self) -> str: ...

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        """sentences: spans of the text, in order, none empty.  parts: spans within these.

        Text outside of sentences is not read.  Raises AdapterError.
        """
        ...

    def compare(self, later: str, earlier: Sequence[str]) -> Sequence[ChangeScores]:
        """What a statement makes of each of some that were made before, all by one person.  Raises AdapterError."""
        ...
