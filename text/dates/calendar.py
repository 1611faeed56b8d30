"""Resolves each form of a date to a moment or a range, relative to a reference time."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from text import patterns
from text.dates.number_words import HOLIDAYS, MONTHS, NUMBERS, ORDINALS, SEASONS, WEEKDAYS
from text.dates.tense import RESCHEDULED, names_what_recurs


class When(NamedTuple):
    at: datetime | None
    precision: str
    range: tuple[datetime, datetime] | None = None


class Calendar:
    """Resolves one form of date per method, relative to `now` and in the direction of the tense.

    past: the last verb is in the past tense; often it is about something else, so the nearer of two dates counts.
    happened: it is about the date itself, which is then before now.
    """

    def __init__(self, now: datetime, *, past: bool, happened: bool = False) -> None:
        self.now, self.today, self.past, self.happened = now, now.date(), past, happened
        self.monday = self.today - timedelta(days=self.today.weekday())

    # Building blocks.

    def midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.now.tzinfo)

    def day(self, day: date) -> When:
        return When(self.midnight(day), "day")

    def span(self, first: date, last: date, precision: str = "approximate", *, at: date | None = None) -> When:
        return When(self.midnight(at or first), precision, (self.midnight(first), self.midnight(last)))

    def week(self, inside: date) -> When:
        monday = inside - timedelta(days=inside.weekday())
        return self.span(monday, monday + timedelta(days=6), "week", at=inside)

    def weekend(self, saturday: date) -> When:
        return self.span(saturday, saturday + timedelta(days=1), "week")

    def month(self, year: int, number: int) -> When:
        """A whole month; number may exceed the year: 13 is the next January, 0 the previous December."""
        first = _plus_months(date(year, 1, 1), number - 1)
        return self.span(first, _month_end(first), "month")

    def year(self, number: int) -> When:
        return self.span(date(number, 1, 1), date(number, 12, 31))

    def nearest(self, number: int, day_number: int, year: str | None) -> When:
        if year is not None:
            return self.day(date(int(year) + (2000 if len(year) == 2 else 0), number, day_number))
        if self.past and not self.happened:
            years = range(self.today.year - 1, self.today.year + 2)
            there = [one for one in years if day_number <= _month_end(date(one, number, 1)).day]  # 29 February
            return self.day(min((date(one, number, day_number) for one in there), key=self.distance))
        found = date(self.today.year, number, day_number)
        if self.past and found > self.today:
            found = date(self.today.year - 1, number, day_number)
        elif not self.past and found < self.today:
            found = date(self.today.year + 1, number, day_number)
        return self.day(found)

    # One method per form.

    def iso(self, m: patterns.Match) -> When:
        return self.day(date(int(m["iso_y"]), int(m["iso_m"]), int(m["iso_d"])))

    def numeric(self, m: patterns.Match) -> When | None:
        """Day before month, unless only month before day is a valid date."""
        first, second, year = int(m["num_a"]), int(m["dot_b"] or m["slash_b"]), m["dot_y"] or m["slash_y"]
        if year is None and m["dot_b"] and (not m["num"].endswith(".") or m.string.endswith("at ", 0, m.start())):
            return None  # 3.9 is a number, and "at 9.15." a clock time
        if year is None and (0 in (first, second) or m["num"] in _FRACTIONS):
            return None
        number, day_number = (first, second) if second > 12 else (second, first)
        return self.nearest(number, day_number, year) if 1 <= number <= 12 else None

    def day_month(self, m: patterns.Match) -> When:
        day = m["dm_to"] if m["dm_to"] and RESCHEDULED.search(m.string, 0, m.start()) else m["dm_d"]
        return self.nearest(_month(m["dm_m"]), int(day), m["dm_y"])

    def month_day(self, m: patterns.Match) -> When:
        return self.nearest(_month(m["md_m"]), int(m["md_d"]), m["md_y"])

    def in_words(self, m: patterns.Match) -> When:
        """ "The fourteenth of May" and "May the fourteenth"."""
        form = "wdm" if m["wdm"] else "mwd"
        return self.nearest(_month(m[f"{form}_m"]), _day_number(m[f"{form}_d"]), m[f"{form}_y"])

    def ago(self, m: patterns.Match) -> When | None:
        sign = 1 if m["ago_w"].startswith("from") else -1
        return self.away(_number(m["ago_n"]), m["ago_u"], sign)

    def ahead(self, m: patterns.Match) -> When | None:
        return self.away(_number(m["in_n"]), m["in_u"], 1)

    def away(self, count: int | None, unit: str, sign: int) -> When | None:
        if count is None:  # "a few weeks ago"
            return When(None, "approximate")
        if count > _MOST_COUNTED.get(unit, count):
            return None
        count *= sign
        if unit in ("minute", "min", "hour"):
            step = timedelta(hours=count) if unit == "hour" else timedelta(minutes=count)
            return When((self.now + step).replace(second=0, microsecond=0), "exact")
        if unit == "day":
            return self.day(self.today + timedelta(days=count))
        if unit in ("week", "fortnight"):
            return self.week(self.today + timedelta(weeks=count * (2 if unit == "fortnight" else 1)))
        if unit == "month":
            return self.month(self.today.year, self.today.month + count)
        return self.year(self.today.year + count * (10 if unit == "decade" else 1))

    def end(self, m: patterns.Match) -> When:
        word = m["end_w"] or {"eod": "day", "eow": "week", "eom": "month", "eoy": "year"}[m["eox"]]
        ahead = 1 if word.startswith("next") else 0
        if word == "day":
            return self.day(self.today)
        if word.endswith("week"):
            return self.week(max(self.monday + timedelta(days=4, weeks=ahead), self.today))
        if word == "year":
            return self.day(date(self.today.year, 12, 31))
        if word.endswith("month"):
            return self.day(_month_end(_plus_months(self.today.replace(day=1), ahead)))
        number = _month(word)
        year = int(m["end_y"]) if m["end_y"] else self.year_of_month(number)
        return self.day(_month_end(date(year, number, 1)))

    def year_of_month(self, number: int) -> int:
        ahead = number - self.today.month
        if self.past and not self.happened:
            return self.today.year + (ahead < -6) - (ahead > 6)
        return self.today.year - (ahead > 0) if self.past else self.today.year + (ahead < 0)

    def beyond(self, m: patterns.Match) -> When:
        unit, back = m["beyond_u"], m["beyond_w"].startswith("before")
        step = -2 if back else 2
        if unit == "day":
            return self.day(self.today + timedelta(days=step))
        if unit == "weekend":
            return self.weekend(self.monday + timedelta(days=5, weeks=step))
        if unit == "week":
            return self.week(self.today + timedelta(weeks=step))
        return (
            self.month(self.today.year, self.today.month + step)
            if unit == "month"
            else self.year(self.today.year + step)
        )

    def relative(self, m: patterns.Match) -> When:
        """The adjacent calendar unit: "last week" is the week before this one, "next month" the following month."""
        step, unit = _STEPS[m["rel_w"]], m["rel_u"]
        if m["rel_day"]:
            return self.day(self.monday + timedelta(weeks=step, days=WEEKDAYS[m["rel_day"]]))
        if unit == "week":
            return self.week(self.today + timedelta(weeks=step))
        if unit in ("weekend", "week-end"):
            return self.weekend(self.monday + timedelta(weeks=step, days=5))
        if unit == "month":
            return self.month(self.today.year, self.today.month + step)
        if unit == "year":
            return self.year(self.today.year + step)
        if unit == "quarter":
            this = date(self.today.year, (self.today.month - 1) // 3 * 3 + 1, 1)
            return self.quarter_from(_plus_months(this, 3 * step))
        if unit in SEASONS:
            return self.season_from(unit, step)
        return self.day(self.today + timedelta(days=step if unit == "night" else 0))

    def weekday(self, m: patterns.Match) -> When | None:
        number, word = WEEKDAYS[m["wd_n"]], m["wd_w"]
        if m["wd"] == m["wd_n"] and names_what_recurs(m.string, m.start(), m.end()):
            return None
        if m["wd_after"]:
            return self.day(self.today + timedelta(days=(number - self.today.weekday() - 1) % 7 + 8))
        if m["wd_last"]:
            return self.day(self.monday + timedelta(days=number, weeks=-2 if "before" in m["wd_last"] else -1))
        if m["wd_week"] or word == "next":
            return self.day(self.monday + timedelta(days=number + 7))
        if word in ("last", "past", "previous") or (word is None and self.past):
            return self.day(self.today - timedelta(days=(self.today.weekday() - number - 1) % 7 + 1))
        return self.day(self.today + timedelta(days=(number - self.today.weekday() - 1) % 7 + 1))

    def nth_weekday(self, m: patterns.Match) -> When:
        """ "The first Monday in August", "the last Friday of next month"."""
        if m["nth_m"]:
            number = _month(m["nth_m"])
            first = date(int(m["nth_y"]) if m["nth_y"] else self.year_of_month(number), number, 1)
        else:
            first = _plus_months(self.today.replace(day=1), _STEPS.get(m["nth_rel"], 0))
        ahead = timedelta(days=(WEEKDAYS[m["nth_d"]] - first.weekday()) % 7)
        if m["nth_n"] == "last":
            last = _month_end(first)
            return self.day(last - timedelta(days=(last.weekday() - WEEKDAYS[m["nth_d"]]) % 7))
        return self.day(first + ahead + timedelta(weeks=_NTH[m["nth_n"]]))

    def month_alone(self, m: patterns.Match) -> When:
        number = _month(m["mon_n"])
        if m["mon_y"]:
            return self.month(int(m["mon_y"]), number)
        step = _STEPS.get(m["mon_w"], 0)
        if step < 0:
            return self.month(self.today.year - (number >= self.today.month), number)
        if step > 0:
            return self.month(self.today.year + (number <= self.today.month), number)
        if m["mon_w"] == "since":
            return self.month(self.today.year - (number > self.today.month), number)
        if m["mon_w"] in ("until", "till", "by", "before"):
            return self.month(self.today.year + (number < self.today.month), number)
        return self.month(self.year_of_month(number), number)

    def month_year(self, m: patterns.Match) -> When:
        return self.month(int(m["my_y"]), _month(m["my_n"]))

    def quarter(self, m: patterns.Match) -> When:
        first = int(m["q_n"]) * 3 - 2
        year = int(m["q_y"]) if m["q_y"] else self.today.year
        if not m["q_y"] and self.past and first > self.today.month:
            year -= 1
        if not m["q_y"] and not self.past and first + 2 < self.today.month:
            year += 1
        return self.quarter_from(date(year, first, 1))

    def quarter_from(self, first: date) -> When:
        return self.span(first, _month_end(_plus_months(first, 2)))

    def season(self, m: patterns.Match) -> When | None:
        if m["season_y"]:
            return self.quarter_from(date(int(m["season_y"]), SEASONS[m["season_n"]], 1))
        if not patterns.match(r"(?:in|since|this)\s", m["season"]):
            return None  # "summer dress"
        return self.season_from(m["season_n"], 0)

    def season_from(self, name: str, step: int) -> When:
        """A season of the northern hemisphere, three whole months: the last, the next, or by the tense."""
        first = date(self.today.year, SEASONS[name], 1)
        last = _month_end(_plus_months(first, 2))
        years = 0
        if step < 0:
            years = -1 if last >= self.today else 0
        elif step > 0:
            years = 1 if first <= self.today else 0
        elif self.past:
            years = -1 if first > self.today else 0
        elif last < self.today:
            years = 1
        return self.quarter_from(first.replace(year=first.year + years))

    def year_alone(self, m: patterns.Match) -> When:
        return self.year(int(m["year_n"]))

    def day_word(self, m: patterns.Match) -> When:
        words = m["day"]
        if words.endswith("weekend"):
            back = self.past and self.today.weekday() < 5
            return self.weekend(self.monday + timedelta(days=5, weeks=-1 if back else 0))
        return self.day(self.today + timedelta(days=_DAYS_AWAY.get(words, -2 if words.endswith("yesterday") else 2)))

    def weeks_on(self, m: patterns.Match) -> When:
        """ "A week on Monday" and "Monday week" are seven days after the next Monday."""
        name = m["wk_d"] or m["wk_d2"]
        weeks = 2 if m["wk_n"] == "two" or m["wk_f"] else 1
        ahead = _DAYS_AWAY[name] if name in _DAYS_AWAY else (WEEKDAYS[name] - self.today.weekday() - 1) % 7 + 1
        return self.day(self.today + timedelta(days=ahead, weeks=weeks))

    def ordinal(self, m: patterns.Match) -> When:
        """The nearest day with that number in its month, after today; in the past tense the nearer one."""
        number = _day_number(m["wo_d"] or m["wod_d"] or m["ord_d"])
        after = self.with_number(number, 1)
        if not self.past:
            return self.day(after)
        before = self.with_number(number, -1)
        return self.day(before if self.happened else min(before, after, key=self.distance))

    def with_number(self, number: int, step: int) -> date:
        """The first day with this number in its month, from today in the direction of step: 1 or -1."""
        for count in range(3):
            month = _plus_months(self.today.replace(day=1), count * step)
            if number <= _month_end(month).day and (month.replace(day=number) - self.today).days * step > 0:
                return month.replace(day=number)
        raise ValueError("no month near has such a day")

    def distance(self, day: date) -> timedelta:
        return abs(day - self.today)

    def holiday(self, m: patterns.Match) -> When:
        return self.nearest(*HOLIDAYS[m["hol"]], None)

    def fuzzy(self, m: patterns.Match) -> When:
        return When(None, "approximate")


# The order is that of the alternatives in FORMS; the key is the group's name.
READERS: dict[str, Callable[[Calendar, patterns.Match], When | None]] = {
    "iso": Calendar.iso,
    "num": Calendar.numeric,
    "dm": Calendar.day_month,
    "wdm": Calendar.in_words,
    "mwd": Calendar.in_words,
    "md": Calendar.month_day,
    "ago": Calendar.ago,
    "in": Calendar.ahead,
    "end": Calendar.end,
    "beyond": Calendar.beyond,
    "rel": Calendar.relative,
    "nth": Calendar.nth_weekday,
    "wk": Calendar.weeks_on,
    "wd": Calendar.weekday,
    "mon": Calendar.month_alone,
    "my": Calendar.month_year,
    "q": Calendar.quarter,
    "season": Calendar.season,
    "year": Calendar.year_alone,
    "day": Calendar.day_word,
    "wo": Calendar.ordinal,
    "ord": Calendar.ordinal,
    "wod": Calendar.ordinal,
    "hol": Calendar.holiday,
    "fuzzy": Calendar.fuzzy,
}
_NTH = {"first": 0, "second": 1, "third": 2, "fourth": 3, "1st": 0, "2nd": 1, "3rd": 2, "4th": 3}
_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}
_DAYS_AWAY = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1, "tmrw": 1, "tmr": 1}
# Largest counts per unit that are meant as a date; "in 999 years" is a figure of speech.
_MOST_COUNTED = {"week": 520, "fortnight": 260, "month": 240, "year": 100, "decade": 10}
_FRACTIONS = frozenset({"24/7", "50/50", "1/2", "1/3", "1/4", "2/3", "3/4"})


def _month(name: str) -> int:
    return MONTHS[name.rstrip(".")]


def _day_number(word: str) -> int:
    """The number in "14th" or "fourteenth"."""
    return int(word[:-2]) if word[0].isdigit() else ORDINALS[word.replace(" ", "-")]


def _number(word: str) -> int | None:
    word = patterns.sub(r"\s+", " ", word)
    return int(word) if word.isdigit() else NUMBERS.get(word)


def _month_end(first: date) -> date:
    return _plus_months(first, 1) - timedelta(days=1)


def _plus_months(first: date, months: int) -> date:
    at = first.year * 12 + first.month - 1 + months
    return date(at // 12, at % 12 + 1, 1)
