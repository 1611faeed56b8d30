"""Random histories of one slot against a naive replay of its log: late, corrected, over, replaced, back, forgotten.

``HISTORIES=5000 scripts/test tests/memories/test_histories.py`` runs as many; a few with every change.
"""

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.memories import validity
from apps.memories.models import Memory
from apps.memories.validity import AsOf, true_sql
from apps.projects.scope import Scope
from apps.retention.memory_selection import MemorySelection, soft_delete_selection
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

HISTORIES = int(os.environ.get("HISTORIES", "25"))
EMPLOYERS = ("Google", "Siemens", "Bosch")
DAYS = 12  # of the world; everything is told after them, an hour after one another


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


def told_at(step: int) -> datetime:
    return day(DAYS) + timedelta(hours=step)


@dataclass(frozen=True)
class Entry:
    """say: "I work at …" of that day.  leave: "I left …".  forget: the memory of this employer is deleted."""

    act: str
    employer: str
    day: int = 0


# --- the naive replay -------------------------------------------------------------------------------------------------


@dataclass
class Statement:
    day: float
    employer: str
    generation: int  # of the memory that says it: a deleted one is never met again
    until: float | None = None


@dataclass
class Replay:
    """What a log says, with nothing but a list: of the latest statement of a time or before it, unless that is over."""

    statements: list[Statement] = field(default_factory=list)
    deleted: dict[str, int] = field(default_factory=dict)

    def read(self, log: Iterable[Entry]) -> "Replay":
        for entry in log:
            getattr(self, f"_{entry.act}")(entry)
        return self

    def latest(self, day: float) -> Statement | None:
        """Of two of one day the later told is the right one."""
        before = [one for one in self.statements if one.day <= day]
        return max(before, key=lambda one: one.day, default=None) if before else None

    def held(self, day: float) -> Statement | None:
        one = self.latest(day)
        return None if one is None or (one.until is not None and one.until <= day) else one

    def _say(self, entry: Entry) -> None:
        held = self.held(entry.day)
        if held is not None and held.employer == entry.employer:
            return
        if held is not None and held.day == entry.day:
            self.statements.remove(held)  # corrected: it never held
        generation = self.deleted.get(entry.employer, 0)
        self.statements.append(Statement(entry.day, entry.employer, generation))

    def _leave(self, entry: Entry) -> None:
        held = self.held(entry.day)
        if held is not None and held.employer == entry.employer:
            held.until = entry.day
            if held.until == held.day:
                self._end_before(held)
                self.statements.remove(held)

    def _forget(self, entry: Entry) -> None:
        for one in [one for one in self.statements if one.employer == entry.employer]:
            self._end_before(one)
            self.statements.remove(one)
        self.deleted[entry.employer] = self.deleted.get(entry.employer, 0) + 1

    def _end_before(self, gone: Statement) -> None:
        """What it had replaced stays replaced."""
        before = max((one for one in self.statements if one.day < gone.day), key=lambda one: one.day, default=None)
        if before is not None:
            before.until = gone.day if before.until is None else min(before.until, gone.day)


def answers(log: list[Entry], points: list[tuple[float, int]]) -> list[str | None]:
    """Which employer, for each (day, how many entries were told by then), by what is not forgotten by now."""
    at_last = Replay().read(log).deleted
    found: list[str | None] = []
    for at, told in points:
        held = Replay().read(log[:told]).held(at)
        is_gone = held is not None and held.generation < at_last.get(held.employer, 0)
        found.append(None if held is None or is_gone else held.employer)
    return found


# --- the real thing ---------------------------------------------------------------------------------------------------


def live(scope: Scope, speaker: str, log: list[Entry]) -> dict[int, str]:
    """Tell it all, each history by a speaker of its own; the memories of employers, by id."""
    rows: dict[int, str] = {}
    for step, entry in enumerate(log, start=1):
        now = told_at(step)
        if entry.act == "forget":
            mine = [memory_id for memory_id, employer in rows.items() if employer == entry.employer]
            soft_delete_selection(scope, MemorySelection(memory_ids=(*mine, 2**40)), now=now)
            continue
        text = f"I work at {entry.employer}." if entry.act == "say" else f"I left {entry.employer}."
        said = Proposal(text=Plaintext(text), speaker=speaker, occurred_at=day(entry.day))
        (outcome,) = services.remember(scope, [said], embeds_later=True, now=now)
        if entry.act == "say":
            rows |= dict.fromkeys(outcome.memory_ids, entry.employer)
    return rows


def asked(scope: Scope, rows: dict[int, str], points: list[tuple[float, int]]) -> list[str | None]:
    """By the condition that recall's legs hold, at every point in one statement."""
    at, known = "<at>", "<known>"
    sql, values = true_sql("memory", AsOf(at=at, known_at=known), now=NOW)  # type: ignore[arg-type]
    for value in values:
        sql = sql.replace("%s", "point.at" if value == at else "point.known", 1)
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(
            "select point.number, memory.id from unnest(%s::timestamptz[], %s::timestamptz[]) "  # noqa: S608  (ours)
            "with ordinality point(at, known, number) join memories_memory memory on memory.tenant_id = %s "
            f"and memory.id = any(%s) and memory.retention_status = 'active' and ({sql})",
            [[day(at) for at, _ in points], [told_at(told) for _, told in points], scope.tenant_id, list(rows)],
        )
        found: dict[int, list[str]] = {}
        for number, memory_id in cursor.fetchall():
            found.setdefault(number, []).append(rows[memory_id])
    assert all(len(employers) == 1 for employers in found.values()), "two at once in one slot"
    return [found.get(number, [None])[0] for number in range(1, len(points) + 1)]


def random_log(dice: random.Random) -> list[Entry]:
    log = []
    for _ in range(dice.randint(3, 9)):
        act = dice.choices(("say", "leave", "forget"), (7, 2, 1))[0]
        log.append(Entry(act, dice.choice(EMPLOYERS), dice.randrange(DAYS)))
    return log


def check_rows(scope: Scope, rows: dict[int, str], told: str) -> None:
    """One stands at most; what was replaced has an end and says by what; no chain runs in a circle."""
    with tenant_transaction(scope):
        mine = {row.pk: row for row in Memory.objects.within(scope).filter(pk__in=rows, retention_status="active")}
    assert sum(row.validity == "current" for row in mine.values()) <= 1
    for row in mine.values():
        assert (row.validity == "superseded") == (row.superseded_at is not None)
        assert (row.validity == "superseded") == (row.valid_to is not None)
        seen, end = set(), row
        while end.superseded_by_id in mine:
            assert end.pk not in seen, f"the chain runs in a circle: {told}"
            seen.add(end.pk)
            end = mine[end.superseded_by_id]


def test_histories_are_what_their_log_says(acme: OpenedTenant, capsys: pytest.CaptureFixture[str]) -> None:
    compared = 0
    for seed in range(HISTORIES):
        log = random_log(random.Random(seed))
        points = [(half / 2 - 0.5, told) for half in range(2 * DAYS + 4) for told in range(len(log) + 1)]
        scope = make_scope(acme, f"space {seed // 50}")

        rows = live(scope, f"Person{seed}", log)

        said, should = asked(scope, rows, points), answers(log, points)
        compared += len(points)
        assert said == should, f"seed {seed}: {log}\n" + "\n".join(
            f"day {at}, told {told}: {one} instead of {other}"
            for (at, told), one, other in zip(points, said, should, strict=True)
            if one != other
        )
        check_rows(scope, rows, f"seed {seed}: {log}")
        check_selector(scope, rows, points, should, random.Random(seed))
    with capsys.disabled():
        print(f"\n{HISTORIES} histories, the same at {compared} of {compared} points in two times")  # noqa: T201


def check_selector(
    scope: Scope, rows: dict[int, str], points: list[tuple[float, int]], should: list[str | None], dice: random.Random
) -> None:
    """The queryset's condition says the same as the legs'."""
    number = dice.randrange(len(points))
    at, told = points[number]
    with tenant_transaction(scope):
        mine = Memory.objects.within(scope).filter(pk__in=rows)
        found = [rows[row.pk] for row in validity.holding(mine, AsOf(at=day(at), known_at=told_at(told)))]
    assert found == ([should[number]] if should[number] else [])
