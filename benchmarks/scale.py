"""Latency of recall over HTTP in spaces of different sizes, while the shared tables grow.

Each is compared with the bare work in the same run, and with the exact nearest ten neighbours.
"""

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from apps.adapters.instances import get_embedder
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.memories.models import Memory
from apps.memories.nearest import nearest
from apps.projects.scope import Scope
from apps.recall.options import candidates_per_retriever
from apps.recall.retrievers.dense import SURE
from benchmarks import population
from benchmarks.instance import Instance
from benchmarks.latency import Caller, ask_about, bare_query, limit_of_query, measure, scope_of, sentences
from benchmarks.population import Filled

NEAREST: Final = 10
OFF_TOPIC: Final = (
    "What is the boiling point of neon?",
    "How many moons does Saturn have?",
    "Which compiler flags enable link time optimisation?",
    "Who won the chess championship of 1972?",
    "Explain the offside rule in one sentence.",
    "What does a mitochondrion do?",
    "How is parmesan made?",
    "Translate good evening into Finnish.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A space that is queried."""

    rows: int
    scope: Scope
    caller: Caller
    filled: Filled


def run(
    running: Instance, *, spaces: Sequence[int], tables: Sequence[int], runs: int, say: Callable[[str], object]
) -> dict[str, Any]:
    """For each table size and each space: milliseconds (p50, p95), ratio to the bare parts, and recall.

    Then the slowdown of each space between the smallest and the largest tables.
    """
    places = [_fill(running, rows) for rows in spaces]
    say(f"filled spaces of {', '.join(f'{one.rows:,}' for one in places)}")
    figures: list[dict[str, Any]] = []
    for rows in tables:
        missing = rows - population.rows_there()
        if missing > 0:
            first = places[0]
            population.crowd(first.scope, int(first.filled.ids[0]), missing)
        population.settle()
        there = population.rows_there()
        say(f"{there:,} rows in the tables")
        for place in places:
            figures.append({"rows in the tables": there, **_measured(place, runs)})
            say(str(figures[-1]))
    for place in places:
        place.caller.close()
    return {"runs": runs, "figures": figures, "growth of the p50": _growth(figures)}


def _fill(running: Instance, rows: int) -> _Place:
    said = sentences()
    caller = Caller(running, end_user=f"space-of-{rows}")
    caller.post("/memory/add", {"text": next(said), "importance": 0.6})
    scope = scope_of(running, f"space-of-{rows}")
    return _Place(rows=rows, scope=scope, caller=caller, filled=population.fill(scope, rows - 1, said))


def _measured(place: _Place, runs: int) -> dict[str, Any]:
    chosen = random.Random(11)
    # Every fourth question is about something that no text mentions.
    questions = [ask_about(chosen) if turn % 4 else chosen.choice(OFF_TOPIC) for turn in range(runs)]
    place.caller.close()  # the server has closed it while the tables were filled; the next request reconnects
    query = measure(lambda turn: place.caller.post("/memory/query", {"query": questions[turn], "k": NEAREST}), runs)
    parts = bare_query(place.scope, questions, runs)
    return {
        "rows in the space": place.rows,
        "query over HTTP": query,
        **parts,
        "query / (embed + legs + open)": round(query[0] / limit_of_query(parts), 2),
        f"recall@{NEAREST} against exact": _recall(place, [one for one in questions if one not in OFF_TOPIC]),
        f"recall@{NEAREST} of questions about nothing here": _recall(place, OFF_TOPIC),
    }


def _recall(place: _Place, questions: Sequence[str]) -> float:
    """Share found of the exact nearest neighbours, as many as recall requests; equal cosines count as found."""
    embedder, now, found = get_embedder(), datetime.now(UTC), []
    for question in dict.fromkeys(questions):
        vector = embedder.embed([question])[0]
        with tenant_transaction(place.scope):
            cipher = open_space(place.scope.tenant, place.scope.space)
            first = Memory.objects.within(place.scope).filter(space_id=place.scope.space.id).order_by("pk")[0].pk
            near = nearest(
                place.scope, place.scope.space, vector, cipher, limit=candidates_per_retriever(NEAREST), now=now,
                embedder=embedder.id, among=place.rows, sure=SURE,
            )  # fmt: skip
        # The vector of the template row is not known here.
        near = [one for one in near if one[0] != first][:NEAREST]
        cosines = place.filled.vectors @ vector
        worst = np.partition(cosines, -len(near))[-len(near)]
        found.append(sum(cosine >= worst - 1e-5 for _, cosine in near) / len(near))
    return round(statistics.fmean(found), 4)


def _growth(figures: Sequence[dict[str, Any]]) -> dict[str, float]:
    grown = {}
    for rows in dict.fromkeys(one["rows in the space"] for one in figures):
        medians = [one["query over HTTP"][0] for one in figures if one["rows in the space"] == rows]
        grown[f"{rows:,}"] = round(medians[-1] / medians[0], 2)
    return grown
