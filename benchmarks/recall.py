"""Recall quality on a labelled set, through the real service with encryption enabled.

A haystack is an end user, an item is an add (with its time as the event's time, and its speaker), and a question is a
recall.  Besides the fused ranking it scores each retriever, and BM25 over the plaintext of the same rows, which the
blinded retriever must equal for every question.
"""

import hashlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.adapters.instances import get_embedder
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.embedding import embed_memories
from apps.memories.models import Memory, MemoryVector
from apps.memories.sealing import open_text
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Scope
from apps.recall.default_ranking import FACTORS
from apps.recall.leg_rankings import rank_legs
from apps.recall.question import ask, words_that_may_name
from apps.recall.retrieval import RETRIEVERS
from apps.recall.retrievers import graph
from apps.recall.services import recall
from benchmarks.scores import mean, score
from text.bm25 import bm25
from text.terms import terms

BATCH = 50  # as in one bulk add
DEEPEST = 40
_TIMES = ("%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True, slots=True)
class Haystack:
    name: str
    items: Sequence[dict[str, Any]]
    questions: Sequence[dict[str, Any]]


@dataclass(slots=True)
class Report:
    """rows: for every question its category, and the scores of every ranking over items and over sessions."""

    file: str
    sha256: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    differences: int = 0
    items: int = 0
    kept: int = 0
    gold: int = 0
    gold_kept: int = 0
    add_seconds: float = 0.0
    query_ms: list[float] = field(default_factory=list)


def read(path: Path) -> list[Haystack]:
    return [
        Haystack(line["haystack"], line["items"], line["questions"])
        for line in map(json.loads, path.read_text().splitlines())
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A configuration of recall.  legs: in place of the usual retrievers.  weights: in place of the profile's."""

    name: str
    legs: Sequence[str] | None = None
    weights: Mapping[str, float] | None = None


def ablations(*, without: Sequence[str], factors: bool) -> list[Way]:
    """The usual configuration; each retriever removed or added; and each factor of the ranking with weight 0.

    without: retrievers to leave out of every configuration.
    """
    usual = [leg for leg in settings.RECALL_LEGS if leg not in without]
    every = [*(one.name for one in RETRIEVERS), graph.NAME]
    ways = [Way(name="as usual", legs=usual)]
    ways += [Way(name=f"without {leg}", legs=[one for one in usual if one != leg]) for leg in usual]
    ways += [Way(name=f"with {leg}", legs=[*usual, leg]) for leg in every if leg not in {*usual, *without}]
    return ways + [Way(name=f"factor {name} at 0", legs=usual, weights={name: 0.0}) for name in FACTORS if factors]


def run(path: Path, scope: Scope, *, gated: bool, profile: str | None, ways: Sequence[Way], now: datetime) -> Report:
    """Load the set into new end users, ask every question, and score the results.  scope: without spaces.

    ways: the first is reported as "fused", the others under their names.
    """
    report = Report(file=path.name, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    for haystack in read(path):
        space = get_or_create_end_user(scope, f"{path.stem}/{haystack.name}/{now.timestamp()}", now=now)
        ids = _load(scope.in_spaces(space), haystack, report, gated=gated, now=now)
        embed_the_rest(scope.in_spaces(space), ids, now=now)
        _question(scope.in_spaces(space), haystack, ids, report, profile=profile, ways=ways, now=now)
    return report


def _load(scope: Scope, haystack: Haystack, report: Report, *, gated: bool, now: datetime) -> dict[int, str]:
    """Add the items; returns the item of each memory id."""
    owners: dict[int, str] = {}
    started = time.perf_counter()
    for at in range(0, len(haystack.items), BATCH):
        items = haystack.items[at : at + BATCH]
        outcomes = remember(scope, [_proposal(item, gated=gated) for item in items], now=now)
        for item, outcome in zip(items, outcomes, strict=True):
            for memory_id in outcome.memory_ids:
                owners.setdefault(memory_id, item["id"])
            report.kept += bool(outcome.memory_ids)
    report.add_seconds += time.perf_counter() - started
    report.items += len(haystack.items)
    gold = {item for question in haystack.questions for item in question["gold"]}
    report.gold += len(gold)
    report.gold_kept += len(gold & set(owners.values()))
    return owners


def embed_the_rest(scope: Scope, ids: Iterable[int], *, now: datetime) -> None:
    """Embed the memories that were not embedded inline on a busy machine: the ranking is measured, not the delay."""
    with tenant_transaction(scope):
        done = set(
            MemoryVector.objects.within(scope).filter(memory_id__in=list(ids)).values_list("memory_id", flat=True)
        )
    left = sorted(set(ids) - done)
    for at in range(0, len(left), BATCH):
        with tenant_transaction(scope):
            embed_memories(scope, left[at : at + BATCH], get_embedder(), now=now)


def _proposal(item: dict[str, Any], *, gated: bool) -> Proposal:
    speaker = item["speaker"]
    return Proposal(
        text=Plaintext(item["text"]),
        importance=None if gated else 0.6,
        session_id=item["session"],
        speaker=speaker,
        role=speaker if speaker in ("user", "assistant") else "user",
        occurred_at=parse_time(item["time"]),
        deduplicate=False,
    )


def _question(
    scope: Scope,
    haystack: Haystack,
    owners: dict[int, str],
    report: Report,
    *,
    profile: str | None,
    ways: Sequence[Way],
    now: datetime,
) -> None:
    session_of = {item["id"]: item["session"] for item in haystack.items}
    plain = _Plain(haystack, *_opened(scope))
    for question in haystack.questions:
        query = Plaintext(question["question"])
        asked: dict[str, list[int]] = {}
        for way in ways:
            started = time.perf_counter()
            found = recall(
                scope, query, limit=2 * DEEPEST, profile=profile, legs=way.legs, weights=way.weights, now=now
            )
            if way is ways[0]:
                report.query_ms.append((time.perf_counter() - started) * 1000)
            asked["fused" if way is ways[0] else way.name] = [hit.memory.id for hit in found.hits]
        legs = {
            name: [one for one, _ in ranking] for name, ranking in rank_legs(scope, query, limit=200, now=now).items()
        }
        reference = plain.rank(query)
        report.differences += legs["lexical"][:DEEPEST] != reference[:DEEPEST]
        rankings = {**legs, "bm25 on plaintext": reference, **asked}
        gold = question["gold"]
        row: dict[str, Any] = {"haystack": haystack.name, "id": question["id"], "category": str(question["category"])}
        for name, ranking in rankings.items():
            # A summary takes a rank but belongs to no item.
            items = [owners.get(one, f"summary {one}") for one in ranking]
            row[name] = {
                "items": score(items, gold),
                "sessions": score(
                    [session_of.get(one, one) for one in items], sorted({session_of[one] for one in gold})
                ),
                "ranking": list(dict.fromkeys(items))[:DEEPEST],
            }
        report.rows.append(row)


def _opened(scope: Scope) -> tuple[dict[int, str], set[int]]:
    """(decrypted text by memory id, ids that recall may find) of the space."""
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        rows = list(Memory.objects.within(scope))
    return {row.pk: open_text(row, cipher).reveal() for row in rows}, {row.pk for row in rows if row.is_live()}


class _Plain:
    """BM25 over plaintext, without sealing, blinding, capping or rounding: the reference for the blinded retriever.

    texts: of every memory of the space.  current: only these may be found, as in recall; superseded ones still count as
    documents.
    """

    def __init__(self, haystack: Haystack, texts: dict[int, str], current: set[int]) -> None:
        self._current = current
        self._texts = {memory_id: terms(text) for memory_id, text in texts.items()}
        self._average = sum(map(len, self._texts.values())) / max(1, len(self._texts))
        self._speakers = {item["speaker"].split()[0].casefold() for item in haystack.items} - {"user", "assistant"}
        self._frequencies: defaultdict[str, int] = defaultdict(int)
        for text in self._texts.values():
            for term in set(text):
                self._frequencies[term] += 1

    def rank(self, query: Plaintext) -> list[int]:
        names = [word for word in words_that_may_name(query.reveal()) if word in self._speakers]
        words = ask(query, participants=names).terms
        scored = [
            (
                bm25(
                    words,
                    text,
                    frequencies=self._frequencies,
                    documents=len(self._texts),
                    average_length=self._average,
                ),
                memory_id,
            )
            for memory_id, text in self._texts.items()
            if memory_id in self._current
        ]
        return [memory_id for value, memory_id in sorted(scored, key=lambda one: (-one[0], one[1])) if value > 0]


def parse_time(text: str) -> datetime:
    """A time in one of the sets' formats, as UTC. Raises ValueError for any other format."""
    for form in _TIMES:
        try:
            return datetime.strptime(re.sub(r"\b([ap])m\b", lambda m: m[0].upper(), text), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(f"unknown form of time: {text!r}")


def worth(report: Report) -> list[dict[str, Any]]:
    """Scores of every configuration, and their loss against the usual one, in hundredths.

    ndcg@10: mean over the categories; the other scores: over all questions.
    """
    names = [name for name in report.rows[0] if name == "fused" or (" " in name and name != "bm25 on plaintext")]
    tables, figures = table(report), {}
    for name in names:
        categories = [scores[name]["ndcg@10"] for one, scores in tables["items"].items() if one != "all"]
        items, sessions = tables["items"]["all"][name], tables["sessions"]["all"][name]
        figures[name] = {
            "ndcg@10": sum(categories) / len(categories),
            "all@10": items["all@10"],
            "frac@40": items["frac@40"],
            "sessions frac@5": sessions["frac@5"],
            "sessions frac@10": sessions["frac@10"],
        }
    usual = figures["fused"]
    return [
        {"way": name}
        | {key: round(100 * value, 2) for key, value in scores.items()}
        | {f"worth, {key}": round(100 * (usual[key] - scores[key]), 2) for key in ("ndcg@10", "sessions frac@5")}
        for name, scores in figures.items()
    ]


def table(report: Report) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """unit (items, sessions) -> category or "all" -> ranking -> mean scores."""
    tables: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    categories = sorted({row["category"] for row in report.rows})
    names = [name for name in report.rows[0] if name not in ("haystack", "id", "category")] if report.rows else []
    for unit in ("items", "sessions"):
        tables[unit] = {
            category: {
                name: mean(row[name][unit] for row in report.rows if category in ("all", row["category"]))
                for name in names
            }
            for category in [*categories, "all"]
        }
    return tables
