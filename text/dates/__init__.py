"""Dates in a clause, resolved against the time of the turn, each with its precision."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

from text import patterns
from text.dates.calendar import READERS, Calendar, When
from text.dates.clock import CLOCK, clock_time
from text.dates.expressions import FORMS, MAY_HOLD, RECURRING
from text.dates.number_words import WEEKDAYS
from text.dates.tense import NEW_DATE, OLD_DATE, is_about_date, is_habit, is_past

__all__ = ["When", "find", "without_dates"]

_PRECISIONS: Final = ("exact", "day", "week", "month", "approximate")
_TO: Final = patterns.compile(r"\s*(?:-|–|(?:to|until|till|through)\b)")
_CHANGING: Final = patterns.compile(r"\b(?:mov|shift|postpon|push|switch|chang|reschedul|slip)(?:es?|ing|s)?\b")
_DAYS_OF_MONTHS: Final = frozenset({"iso", "num", "dm", "wdm", "mwd", "md", "day"})


class _Hit(NamedTuple):
    """form: its name among the forms."""

    start: int
    end: int
    when: When
    form: str


def find(low: str, now: datetime, *, assume_today: bool = False) -> When | None:
    """The date a clause is about, or None.

    low: lower-case text. A bare weekday or day of a month is the nearest in the direction of the tense, never the
    reference day itself. Of two dates in a rescheduling the new one counts, else the more precise one, and of two as
    precise the one to come.  A day of a month counts before a holiday.
    assume_today: a clock time without a day means the next time the clock shows it.
    """
    if not MAY_HOLD.search(low):
        return None
    recurring = [m.span() for m in RECURRING.finditer(low)]
    hits = [hit for hit in _hits(low, now) if not any(a <= hit.start < b for a, b in recurring)]
    hits = _without_ends(low, _without_names_of_days(low, hits))
    clock = None if recurring and not hits else clock_time(low, with_day=bool(hits) or assume_today)
    if not hits:
        if clock is None or not assume_today:
            return None
        at = datetime.combine(now.date(), clock, now.tzinfo)
        return When(at if at > now else at + timedelta(days=1), "exact")
    when = _choose(low, hits, now).when
    if clock is not None and when.precision == "day" and when.at is not None:
        return When(when.at.replace(hour=clock.hour, minute=clock.minute), "exact")
    return when


def without_dates(low: str) -> str:
    """The text with blanks, as many, in place of dates and clock times, to compare the rest."""
    return CLOCK.sub(_blanks, FORMS.sub(_blanks, low))


def _blanks(match: patterns.Match) -> str:
    return " " * len(match[0])


def _without_names_of_days(low: str, hits: list[_Hit]) -> list[_Hit]:
    """In "Wednesday, the first of April" only the date counts."""
    return [
        hit
        for hit, after in zip_longest(hits, hits[1:])
        if after is None or low[hit.start : hit.end] not in WEEKDAYS or low[hit.end : after.start].strip(" ,") != ""
    ]


def _without_ends(low: str, hits: list[_Hit]) -> list[_Hit]:
    """Of "19 December to 5 January" the first date counts, of "from today until 5 January" and a new date both."""
    if NEW_DATE.search(low) or _CHANGING.search(low):
        return hits
    ends = [b for a, b in pairwise(hits) if a.form != "day" and _TO.match(low, a.end)]
    return [hit for hit in hits if hit not in ends]


def _choose(low: str, hits: list[_Hit], now: datetime) -> _Hit:
    if any(hit.form in _DAYS_OF_MONTHS for hit in hits):
        hits = [hit for hit in hits if hit.form != "hol"]
    fresh = [hit for hit in hits if not OLD_DATE.search(low[max(0, hit.start - 24) : hit.start])] or hits
    sharp = [hit for hit in fresh if hit.when.at is not None] or fresh
    if len(hits) > 1 and NEW_DATE.search(low):
        return sharp[-1]
    return min(sharp, key=lambda hit: (_PRECISIONS.index(hit.when.precision), _is_before_today(hit.when, now)))


def _is_before_today(when: When, now: datetime) -> bool:
    return when.at is not None and when.precision in ("exact", "day") and when.at.date() < now.date()


def _hits(low: str, now: datetime) -> Iterator[_Hit]:
    for match in FORMS.finditer(low):
        if is_habit(low, match):
            continue
        after = match.start() + {"to": 3, "for": 4}.get(match[0].partition(" ")[0], 0)
        past = is_past(low, after)
        calendar = Calendar(now, past=past, happened=past and is_about_date(low, after))
        form = next(name for name in READERS if match[name] is not None)
        try:
            when = READERS[form](calendar, match)
        except (ValueError, OverflowError):  # the 31st of February, the year 10000
            continue
        if when is not None:
            yield _Hit(match.start(), match.end(), when, form)
