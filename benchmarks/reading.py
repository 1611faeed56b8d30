"""Worst-case cost of reading: texts that pump each pattern, alternation and stage, up to a mebibyte.

Times are CPU times of a thread, as in the budget, so that other load does not make a text costly.  A text that exceeds
its budget is read again, at most twice, and the smallest excess counts: on a shared machine a single measurement can be
disturbed, whereas a slow pattern is slow each time.
"""

import contextlib
import math
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.costs import budget_for
from apps.ingest.steps.extract import extract
from apps.recall.question import ask
from benchmarks.pumped import Pumps, patterns
from text.budget import TooCostly
from text.extraction.entities import read_entities
from text.extraction.extractor import LONG_TEXT
from text.extraction.reasons import Reason
from text.letters import kept
from text.terms import terms

NOW: Final = datetime(2026, 3, 4, 12, tzinfo=UTC)
MIB: Final = 2**20
CHUNK: Final = 500  # texts per call of a process
# A step that cannot be interrupted, one pattern over one text, may begin just before the budget is spent.
GRACE: Final = 0.10  # tolerated excess, as a share of the budget
AGAIN: Final = 2  # repeats for a text that exceeded its budget
# (characters at most, number among 10,000 texts); the rest are short.
LENGTHS: Final = ((MIB, 2), (65_536, 20), (10_000, 200), (LONG_TEXT, 1_000))
SHORT: Final = 300

_known: dict[str, Pumps] = {}


@dataclass(slots=True)
class Seen:
    """overrun: largest excess over a budget, in seconds.  slowest: seconds with guards, by length.  again: repeats."""

    texts: int = 0
    too_costly: int = 0
    over: int = 0
    again: int = 0
    overrun: float = -math.inf
    worst: str = ""
    slowest: dict[str, float] = field(default_factory=dict)
    short: list[float] = field(default_factory=list)

    def add(self, other: "Seen") -> None:
        self.texts += other.texts
        self.too_costly += other.too_costly
        self.over += other.over
        self.again += other.again
        if other.overrun > self.overrun:
            self.overrun, self.worst = other.overrun, other.worst
        for name, seconds in other.slowest.items():
            self.slowest[name] = max(seconds, self.slowest.get(name, 0.0))
        self.short += other.short


def run(*, texts: int, seed: int, processes: int, say: Callable[[str], object]) -> dict[str, Any]:
    """Read all texts.  is_good: no text exceeded its budget by more than GRACE."""
    pumps = _known["pumps"] = Pumps(patterns())
    say(f"{len(pumps):,} repeats and alternations of {len(patterns()):,} patterns")
    seen, told = Seen(), time.monotonic()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for one in pool.imap_unordered(_read_some, _chunks(seed, texts)):
            seen.add(one)
            if time.monotonic() - told > 30:
                told = time.monotonic()
                say(f"{seen.texts:,} texts, {seen.over} over their budget, {seen.too_costly} kept unread")
    short = sorted(seen.short) or [math.nan]
    return {
        "texts": seen.texts,
        "patterns": len(patterns()),
        "repeats and alternations": len(pumps),
        "over their budget": seen.over,
        "read again": seen.again,
        "kept unread": seen.too_costly,
        "beyond the budget at most, ms": round(seen.overrun * 1000, 1),
        "the text that went furthest": seen.worst,
        f"ms of up to {SHORT} characters, p50": round(1000 * short[len(short) // 2], 2),
        "p99": round(1000 * short[len(short) * 99 // 100], 2),
        "slowest with its guards, ms": {name: round(1000 * one) for name, one in sorted(seen.slowest.items())},
        "is_good": seen.over == 0,
    }


def _chunks(seed: int, texts: int) -> Iterator[range]:
    for start in range(seed, seed + texts, CHUNK):
        yield range(start, min(start + CHUNK, seed + texts))


def length_of(seed: int) -> int:
    """Number of characters of the text with that seed."""
    rng = random.Random(f"length {seed}")
    place = rng.randrange(10_000)
    for most, share in LENGTHS:
        if place < share:
            return int(most * rng.uniform(0.3, 1.0))
        place -= share
    return rng.randint(1, SHORT)


def _read_some(seeds: range) -> Seen:
    pumps, seen = _known["pumps"], Seen()
    for seed in seeds:
        text = pumps.text(seed, length_of(seed))
        _read(text, f"seed {seed}, {len(text)} characters", seen)
    return seen


def _read(text: str, name: str, seen: Seen) -> None:
    proposal = Proposal(text=Plaintext(text))
    seen.texts += 1
    began = time.thread_time()
    stages: dict[str, Callable[[], object]] = {
        "turn": lambda: extract(proposal, now=NOW),
        "entities": lambda: read_entities(text),
        "words": lambda: terms(text),
        "question": lambda: ask(proposal.text, now=NOW),
    }
    for stage, work in stages.items():
        beyond, whole, found = _read_once(text, work)
        for _ in range(AGAIN):
            if beyond <= GRACE * whole:
                break
            seen.again += 1
            beyond = min(beyond, _read_once(text, work)[0])
        if beyond > seen.overrun:
            seen.overrun, seen.worst = beyond, f"{stage}, {name}"
        seen.over += beyond > GRACE * whole
        if stage == "turn" and isinstance(found, list):
            seen.too_costly += any(one.reason == Reason.TOO_COSTLY for one in found)
    took = time.thread_time() - began
    if len(text) <= SHORT:
        seen.short.append(took)
    size = next(f"up to {most:,} characters" for most in (SHORT, LONG_TEXT, 10_000, 65_536, MIB) if len(text) <= most)
    seen.slowest[size] = max(took, seen.slowest.get(size, 0.0))


def _read_once(text: str, work: Callable[[], object]) -> tuple[float, float, object]:
    """(seconds beyond the budget, the budget, the result; None if the budget was spent)."""
    found: object = None
    with budget_for(text) as budget, kept():
        whole = budget.left
        with contextlib.suppress(TooCostly):
            found = work()
        beyond = -budget.left
    return beyond, whole, found
