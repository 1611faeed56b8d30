"""Interface of classifiers; ``tests/contracts/test_classifiers.py`` tests every implementation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

TYPES: Final = (
    "instruction", "constraint", "task", "decision", "relation", "entity", "event", "preference", "fact",
)  # fmt: skip
OUTCOMES: Final = ("keep", "low_signal", "transient")
# Relation of a later statement to an earlier one: gives a new value for the same thing; says that it ended; says the
# same; adds to it, and both hold; is about something else.
RELATIONS: Final = ("replaces", "ends", "repeats", "adds", "unrelated")
CHANGES: Final = frozenset({"replaces", "ends"})  # part of the earlier statement no longer holds

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceScores:
    """Probabilities for one sentence, each 0..1.  keep, low_signal, transient: sum to 1.

    forbidden: it reveals a secret or plants an order.  style: if it is an instruction, it concerns only the style of
    answers.  types: by name; several may be likely.
    """

    keep: float
    low_signal: float
    transient: float
    forbidden: float
    style: float
    types: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScores:
    """sentences: in order.  forbidden: of the whole turn, which may be forbidden although no single sentence is.

    parts: the type scores of each requested part.
    """

    sentences: Sequence[SentenceScores]
    forbidden: float
    parts: Sequence[Mapping[str, float]]


class WordScore(NamedTuple):
    """A word [start, end) of a statement, and the probability that it no longer holds, 0..1."""

    start: int
    end: int
    over: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeScores:
    """Scores of an earlier statement, given a later one.  relations: by name, each 0..1, sum to 1.

    over: probability that part of it no longer holds.  repeated: that the later one says nothing else.  Both 0..1.
    words: of the earlier statement, in order, up to the model's input limit.
    """

    relations: Mapping[str, float]
    over: float
    repeated: float
    words: Sequence[WordScore]


@runtime_checkable
class Classifier(Protocol):
    """Scores what people say to an assistant.  Thread-safe.

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
        """Compare a statement with each of the earlier ones of the same person.  Raises AdapterError."""
        ...
