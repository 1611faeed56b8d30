"""Replay the whole conversation, read the stored memories, and ask the questions."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.ingest.candidates import STORED
from memsync.demo.conversation import DemoQuestion, DemoTurn
from memsync.demo.doors import Door

TTL_MINUTES = 24 * 60  # default lifetime of demo memories: they expire after a day
FOUND = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoMemory:
    """A memory that a turn created or restored.  validity, replaced_by: after the whole conversation."""

    turn: int
    decision: str
    memory_id: int
    type: str
    text: str
    validity: str
    replaced_by: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A turn, or part of one, that created no memory.  memory_id: the existing memory, if it was a duplicate."""

    turn: int
    decision: str
    reason: str
    role: str
    text: str
    memory_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFound:
    """A recalled memory.  factors sum to score; legs: rank and raw score in each search that found it."""

    memory_id: int
    text: str
    score: float
    matched_by: str
    factors: Mapping[str, float]
    legs: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAnswer:
    question: DemoQuestion
    found: Sequence[DemoFound]

    @property
    def is_as_expected(self) -> bool:
        return bool(self.found) and self.found[0].text == self.question.finds


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """The outcome of every part of every turn: each is in ``kept`` or in ``refused``."""

    turns: int
    kept: Sequence[DemoMemory] = field(default_factory=list)
    refused: Sequence[Refused] = field(default_factory=list)
    asked: Sequence[DemoAnswer] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Number of decisions by kind, most frequent first."""
        made = [one.decision for one in self.kept] + [one.decision for one in self.refused]
        return dict(Counter(made).most_common())


def replay(
    door: Door,
    turns: Sequence[DemoTurn],
    questions: Sequence[DemoQuestion],
    *,
    keep: bool,
    progress: Callable[[], object] = lambda: None,
) -> DemoReport:
    """Add every turn, then ask every question.  progress: called after each turn.  Raises DoorShut."""
    answers = []
    for turn in turns:
        answers.append(door.add(_request(turn, keep=keep)))
        progress()
    made = [(number, one) for number, answer in enumerate(answers, start=1) for one in answer["decisions"]]
    return DemoReport(
        turns=len(turns),
        kept=[_kept(door, number, one) for number, one in made if one["decision"] in STORED],
        refused=[_refused(turns[number - 1], number, one) for number, one in made if one["decision"] not in STORED],
        asked=[_ask(door, question) for question in questions],
    )


def _request(turn: DemoTurn, *, keep: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "text": turn.text,
        "source": "demo",
        "session_id": turn.session,
        "metadata": {"role": turn.role, "occurred_at": turn.at.isoformat()},
    }
    return fields if keep else fields | {"ttl_minutes": TTL_MINUTES}


def _kept(door: Door, number: int, made: Mapping[str, Any]) -> DemoMemory:
    memory = door.get(made["memory_id"])
    return DemoMemory(
        turn=number,
        decision=made["decision"],
        memory_id=memory["id"],
        type=memory["memory_type"],
        text=memory["text"],
        validity=memory["validity"],
        replaced_by=memory["superseded_by"],
    )


def _refused(turn: DemoTurn, number: int, made: Mapping[str, Any]) -> Refused:
    return Refused(
        turn=number,
        decision=made["decision"],
        reason=made["reason"] or "",
        role=turn.role,
        text=turn.text,
        memory_id=made["memory_id"],
    )


def _ask(door: Door, question: DemoQuestion) -> DemoAnswer:
    answer = door.query(question.query, k=FOUND)
    return DemoAnswer(
        question=question,
        found=[
            DemoFound(
                memory_id=memory["id"],
                text=memory["text"],
                score=memory["score"],
                matched_by=memory["explanation"]["matched_by"],
                factors=memory["explanation"]["factors"],
                legs=memory["explanation"]["legs"],
            )
            for memory in answer["memories"]
        ],
    )
