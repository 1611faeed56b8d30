"""Months of turns by authors on whom no rule was tuned, with questions about them.

Each turn is added at its time into two spaces: one where extraction decides what is kept, and one that keeps all.  The
turns are from the test authors in ``training/data``, of which only these figures are looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Scope
from apps.recall.services import recall
from benchmarks.recall import embed_the_rest
from text import patterns
from training.corpus import Author, authors

FIRST: Final = 5
AFTER: Final = timedelta(days=1)  # time of the questions, after the last turn
_WORD: Final = patterns.compile(r"\w+")


@dataclass(slots=True)
class Asked:
    """Results of one way of keeping.

    found: by category, for each question whether a memory from an answering turn is among the first five.
    holds: for questions about changes, whether the first hit states the current value.
    refused, over: of the turns that answer questions without a change, those that left no memory, and those whose
    memories are all no longer current.
    """

    found: dict[str, list[bool]] = field(default_factory=dict)
    holds: list[bool] = field(default_factory=list)
    gold: int = 0
    refused: int = 0
    over: int = 0
    memories: int = 0


def run(scope: Scope, *, now: datetime) -> dict[str, Any]:
    """Run the benchmark.  scope: of the tenant, without spaces."""
    lives = [author for author in authors("test") if author.life]
    made: dict[str, Asked] = {"gated": Asked(), "everything kept": Asked()}
    for author in lives:
        for name, asked in made.items():
            space = get_or_create_end_user(scope, f"{author.id}/{name}/{now.timestamp()}", now=now)
            _live(scope.in_spaces(space), author, asked, is_gated=name == "gated", now=now)
    return {
        "lives": len(lives),
        "turns": sum(len(author.life) for author in lives),
        **{name: _figures(asked) for name, asked in made.items()},
    }


def _live(scope: Scope, author: Author, asked: Asked, *, is_gated: bool, now: datetime) -> None:
    turn_of: dict[int, str] = {}
    for turn in author.life:
        at = datetime.fromisoformat(turn["time"])
        (outcome,) = remember(scope, [_proposal(turn, at, is_gated=is_gated)], now=now)
        embed_the_rest(scope, outcome.memory_ids, now=now)
        if outcome.is_stored:
            turn_of |= dict.fromkeys(outcome.memory_ids, turn["id"])
    with tenant_transaction(scope):
        rows = list(Memory.objects.within(scope).filter(pk__in=turn_of))
    embed_the_rest(scope, [row.pk for row in rows], now=now)  # as the worker does for memories that lost a part
    asked.memories += len(rows)
    current = {turn_of[row.pk] for row in rows if row.is_live()}
    for question in author.questions:
        _ask(scope, question, asked, turn_of, current, now=now + AFTER)


def _proposal(turn: Mapping[str, Any], at: datetime, *, is_gated: bool) -> Proposal:
    return Proposal(
        text=Plaintext(turn["text"]),
        role=turn["speaker"],
        session_id=str(turn["session"]),
        occurred_at=at,
        importance=None if is_gated else 0.6,
        deduplicate=is_gated,
    )


def _ask(
    scope: Scope,
    question: Mapping[str, Any],
    asked: Asked,
    turn_of: Mapping[int, str],
    current: set[str],
    *,
    now: datetime,
) -> None:
    category, gold = question["category"], question["gold"]
    if not gold:
        return
    hits = recall(scope, Plaintext(question["question"]), limit=FIRST, now=now).hits
    asked.found.setdefault(category, []).append(any(turn_of.get(hit.memory.id) in gold for hit in hits))
    if category == "change" and question.get("now"):
        said = hits[0].memory.text.reveal() if hits else ""
        asked.holds.append(_says(said, question["now"]))
    else:
        stored = set(turn_of.values())
        asked.gold += len(gold)
        asked.refused += sum(turn not in stored for turn in gold)
        asked.over += sum(turn in stored and turn not in current for turn in gold)


def _says(text: str, wanted: str) -> bool:
    """Whether the text contains every word of one of the alternatives."""
    there = set(_WORD.findall(text.casefold()))
    return any(there.issuperset(_WORD.findall(one.casefold())) for one in wanted.split("|"))


def _figures(asked: Asked) -> dict[str, Any]:
    every = [hit for hits in asked.found.values() for hit in hits]
    return {
        "memories": asked.memories,
        "questions": len(every),
        "a turn that answers among the first five": _share(every),
        "by category": {name: _share(hits) for name, hits in sorted(asked.found.items())},
        "first hit says what holds now": _share(asked.holds),
        "changes": len(asked.holds),
        "turns that answer and were refused": f"{asked.refused} of {asked.gold}",
        "turns that answer and hold no longer": f"{asked.over} of {asked.gold}",
    }


def _share(right: Sequence[bool]) -> float:
    return round(sum(right) / max(1, len(right)), 3)
