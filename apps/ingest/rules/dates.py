"""Dates in a clause, told against the time of the turn: when it happened or will, and how precisely that is known."""

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), start=1)
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        ("monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu", "friday fri", "saturday sat", "sunday sun"))
    for name in names.split()
}  # fmt: skip
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "couple": 2, "a couple": 2, "a couple of": 2, "couple of": 2, "half a": 0,
}  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
HOLIDAYS = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "xmas": (12, 25), "boxing day": (12, 26),
    "new year's eve": (12, 31), "new years eve": (12, 31), "new year's day": (1, 1), "new year's": (1, 1), "halloween": (10, 31),
    "valentine's day": (2, 14), "valentine's": (2, 14),
}  # fmt: skip

_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAYNAME = "(?:" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\b"
_NUMBER = r"(?:\d{1,3}|a couple(?: of)?|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_ORDINAL = r"(?:[0-3]?\d)(?:st|nd|rd|th)"
_YEAR = r"(?:19|20)\d\d"

# The cheap question first: most clauses hold nothing that could be a date.
_MAY_HOLD = re.compile(
    r"\d|\b(?:" + "|".join(MONTHS) + "|" + "|".join(WEEKDAYS) + "|" + "|".join(SEASONS) + r"|christmas|xmas|halloween|valentine's"
    r"|new year'?s|boxing|to(?:day|night|morrow)|yesterday|ago|week|weekend|fortnight|month|year|quarter|noon|midnight|morning|night"
    r"|eom|eod|eow|tmrw|tmr|day|days|weeks|months|years|used|formerly|recently|kid|child|younger|back|decade|hours?|minutes?|mins|eventually"
    r"|childhood|once|while)\b"
)

_FORMS = re.compile(
    r"\b(?:"
    rf"(?P<iso>(?P<iso_y>{_YEAR})-(?P<iso_m>[01]?\d)-(?P<iso_d>[0-3]?\d))"
    rf"|(?P<num>(?P<num_a>[0-3]?\d)(?P<num_sep>[./])(?P<num_b>[0-3]?\d)(?:(?P=num_sep)(?P<num_y>(?:20)?\d\d)\b|(?P=num_sep)?(?=[\s,;!?]|$)))"
    rf"|(?P<dm>(?P<dm_d>[0-3]?\d)(?:st|nd|rd|th)?(?:\s?(?:-|to|until)\s?[0-3]?\d(?:st|nd|rd|th)?)?(?:\s+of)?\s+(?P<dm_m>{_MONTH})(?:,?\s+(?P<dm_y>{_YEAR}))?)"
    rf"|(?P<md>(?P<md_m>{_MONTH})\s+(?:the\s+)?(?P<md_d>[0-3]?\d)(?:st|nd|rd|th)?(?![\d:%]|\s?(?:am|pm)\b)(?:\s?-\s?[0-3]?\d)?(?:,?\s+(?P<md_y>{_YEAR}))?)"
    rf"|(?P<ago>(?P<ago_n>{_NUMBER}|(?:a\s+)?few|several|some)\s+(?P<ago_u>minute|min|hour|day|week|fortnight|month|year|decade)s?\s+(?P<ago_w>ago|back|from\s+now|earlier))"
    rf"|(?P<in>(?:with)?in\s+(?:about\s+)?(?P<in_n>{_NUMBER}|(?:a\s+)?few)\s+(?P<in_u>minute|min|hour|day|week|fortnight|month|year)s?(?:'\s+time)?)\b"
    rf"|(?P<end>(?:the\s+)?end\s+of\s+(?:the\s+|this\s+)?(?P<end_w>next\s+week|next\s+month|week|month|year|{_MONTH})(?:\s+(?P<end_y>{_YEAR}))?|(?P<eox>eo[dmwy])\b)"
    r"|(?P<beyond>(?:the\s+)?(?P<beyond_u>week|month|year|day|weekend)\s+(?P<beyond_w>before\s+last|after\s+next|before\s+yesterday|after\s+tomorrow))"
    r"|(?P<rel>(?P<rel_w>last|this|next|coming|past|previous)\s+(?P<rel_u>week-?end|week|month|year|quarter|spring|summer|autumn|fall|winter|night|morning|afternoon|evening)\b(?:\s+(?:on\s+)?(?P<rel_day>" + _DAYNAME + r"))?)"
    rf"|(?P<wd>(?:(?P<wd_w>last|this|next|coming|past|previous)\s+)?(?P<wd_n>{_DAYNAME})(?P<wd_last>\s+(?:last|before\s+last)\s+week)?(?:\s+(?P<wd_week>next\s+week))?)"
    rf"|(?P<mon>(?P<mon_w>last|this|next|coming|past|early|mid|late|in|since|until|till|by|before|after|from|of|for|during|around|about|the\s+start\s+of|beginning\s+of)[\s-]+(?:early\s+|mid[\s-]?|late\s+)?(?P<mon_n>{_MONTH})(?:,?\s+(?P<mon_y>{_YEAR}))?)"
    rf"|(?P<my>(?P<my_n>{_MONTH})\s+(?P<my_y>{_YEAR}))"
    rf"|(?P<q>q(?P<q_n>[1-4])(?:\s*(?:of\s+)?(?P<q_y>{_YEAR}))?)"
    rf"|(?P<season>(?:in\s+|the\s+|since\s+|this\s+)*(?P<season_n>spring|summer|autumn|winter)(?:\s+(?:of\s+)?(?P<season_y>{_YEAR}))?)"
    rf"|(?P<year>(?:in|since|of|from|until|by|during|back\s+in|early|late|mid)\s+(?:early\s+|late\s+|mid[\s-])?(?P<year_n>{_YEAR})(?![-/.:]\d|\s*(?:eur|euro|usd|dollar|kg|km)))"
    r"|(?P<day>day\s+before\s+yesterday|day\s+after\s+tomorrow|yesterday|today|tonight|tomorrow|tmrw|tmr|the\s+weekend)"
    rf"|(?P<ord>(?:the|on\s+the)\s+(?P<ord_d>{_ORDINAL})\b(?!\s+(?:time|floor|street|century|grade|anniversary|birthday|place|of\s+(?!the\b)|edition|version|row|avenue)))"
    r"|(?P<hol>" + "|".join(sorted(HOLIDAYS, key=len, reverse=True)) + r")"
    r"|(?P<fuzzy>(?:(?:many|some|a\s+few|few|several)\s+)?(?:years|months|weeks|ages|decades)\s+(?:ago|back)|a\s+(?:long\s+)?(?:while|time)\s+(?:ago|back)|long\s+ago"
    r"|used\s+to|formerly|back\s+in\s+the\s+day|the\s+other\s+day|recently|(?:as|when\s+i\s+was)\s+(?:a\s+)?(?:kid|child|teen|teenager|younger|young|little)"
    r"|in\s+my\s+(?:twenties|thirties|teens|youth|childhood|[2-5]0s)|growing\s+up|in\s+(?:the\s+)?(?:19|20)?[5-9]0s|back\s+then|previously|in\s+the\s+past|before\s+all\s+this)"
    r")"
)  # fmt: skip

_CLOCK = re.compile(
    r"(?:(?:\bat|@|\bby|\bfrom|\baround|\buntil|,|\bto)\s*)?\b(?:(?P<h>[01]?\d|2[0-3])(?::|\.|h)(?P<m>[0-5]\d)\s*(?P<ap>[ap]\.?m\b)?|(?P<h2>1[0-2]|0?[1-9])\s*(?P<ap2>[ap]\.?m)\b"
    r"|(?P<noon>noon|midday|midnight)\b|(?P<half>half\s+(?:past\s+)?(?P<half_h>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2}))\b"
    r"|(?P<oclock>1[0-2]|[1-9])\s*o'?clock)"
)
_BARE_HOUR = re.compile(r"\bat\s+(?P<h>1\d|2[0-3]|[1-9])(?=[\s,.!?;)]|$)(?!\s*(?:%|percent|km|kg|euros?|dollars?|years?|mph|people|[.,]\d))")
_RECURRING = re.compile(
    rf"\b(?:every|each|any|most|all|per)\s+(?:other\s+|second\s+|single\s+)?(?:{_DAYNAME}|day|week|month|year|morning|evening|night|quarter|weekend|{_MONTH})"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\b(?:weekly|daily|monthly|yearly|annually|weekdays|weekends)\b"
)
_OLD_DATE = re.compile(r"(?:\bfrom|\binstead of|\bnot(?: on)?|\brather than|\boriginally(?: on| for)?|\bwas(?: on| for)?|\bno longer(?: on)?)\s+(?:the\s+)?$")
_NEW_DATE = re.compile(r"\b(?:moved|pushed|postponed|rescheduled|shifted|brought forward|bumped|delayed|slipped|changed|switched|now|instead|new date|back to)\b")

_RESCHEDULED_TO = re.compile(r"\b(?:moved|pushed|postponed|rescheduled|shifted|changed|bumped|delayed|brought forward|slipped)\b.{0,80}\b(?:to|until|till)\s+(?:the\s+)?$")

_PAST = (
    r"was|were|had|did|went|got|ran|met|saw|came|left|bought|sold|made|took|gave|found|lost|won|wrote|read|began|broke|built|caught|chose"
    r"|fell|felt|flew|grew|heard|held|kept|knew|led|paid|put|quit|sent|slept|spent|spoke|stood|swam|taught|thought|told|woke|wore|hired"
    r"|finished|been|gone|done|drove|ate|drank|sang|became|began|since|(?<!ne)(?<!spe)(?<!bre)(?<!fe)[a-z]{2,}ed"
)
_FUTURE = (
    r"will|'ll|gonna|going to|need|needs|have to|has to|must|should|remind|todo|due|deadline|plan(?:s|ning)?|is|are|'s|'re|am|'m|be|starts?"
    r"|ends?|begins|opens|closes|expires|leaves|arrives|want|wants|moving|flying|meeting|leaving|starting|visiting|travel(?:l)?ing|getting"
    r"|launch(?:es|ing)?|ships?|by|until|till|before|book|call|ping|let's|lets|can|could|coming|(?:moved|pushed|postponed|rescheduled|shifted"
    r"|bumped|delayed|brought forward|scheduled|booked|planned|set|expected)\s+(?:back\s+)?(?:to|for|until|on)|[a-z]{2,}ing"
)
_TENSE = re.compile(rf"(?:\b|(?='))(?:(?P<future>{_FUTURE})|(?P<past>{_PAST}))\b")


class When(NamedTuple):
    at: datetime | None
    precision: str
    range: tuple[datetime, datetime] | None = None


class _Hit(NamedTuple):
    start: int
    end: int
    when: When


def find(low: str, now: datetime, *, assume_today: bool = False) -> When | None:
    """The date a clause is about, or None.

    low: lower-case text. A bare weekday or day of a month is the nearest in the direction of the tense, never the
    reference day itself. Of two dates in a rescheduling the new one counts.
    assume_today: a clock time without a day means the next time the clock shows it.
    """
    if not _MAY_HOLD.search(low):
        return None
    recurring = [m.span() for m in _RECURRING.finditer(low)]
    hits = [hit for hit in _hits(low, now) if not any(a <= hit.start < b for a, b in recurring)]
    clock = None if recurring and not hits else _clock(low, with_day=bool(hits) or assume_today)
    if not hits:
        if clock is None or not assume_today:
            return None
        at = datetime.combine(now.date(), clock, now.tzinfo)
        return When(at if at > now else at + timedelta(days=1), "exact")
    when = _choose(low, hits).when
    if clock is not None and when.precision == "day" and when.at is not None:
        return When(when.at.replace(hour=clock.hour, minute=clock.minute), "exact")
    return when


def without_dates(low: str) -> str:
    """The text with everything that tells a date or a clock time cut out, for comparing what is left."""
    return _CLOCK.sub(" ", _FORMS.sub(" ", low))


def _choose(low: str, hits: list[_Hit]) -> _Hit:
    fresh = [hit for hit in hits if not _OLD_DATE.search(low[max(0, hit.start - 24) : hit.start])] or hits
    sharp = [hit for hit in fresh if hit.when.at is not None] or fresh
    return sharp[-1] if len(hits) > 1 and _NEW_DATE.search(low) else sharp[0]


def _is_past(low: str, at: int) -> bool:
    """Tense of the verb that stands last before the date, else of the first after it."""
    if _RESCHEDULED_TO.search(low, max(0, at - 120), at):
        return False
    before = None
    for cue in _TENSE.finditer(low, max(0, at - 160), at):
        before = cue
    cue_after = before or _TENSE.search(low, at)
    return cue_after is not None and cue_after["past"] is not None


def _hits(low: str, now: datetime) -> Iterator[_Hit]:
    for match in _FORMS.finditer(low):
        try:
            when = _read(match, low, now)
        except (ValueError, OverflowError):  # the 31st of February, the year 10000
            continue
        if when is not None:
            yield _Hit(match.start(), match.end(), when)


def _read(match: re.Match[str], low: str, now: datetime) -> When | None:  # noqa: PLR0911
    today = now.date()
    kind = match.lastgroup or ""
    for name in _KINDS:
        if match[name] is not None:
            kind = name
            break
    past = _is_past(low, match.start())

    def day(value: date) -> When:
        return When(datetime.combine(value, time(), now.tzinfo), "day")

    def span(first: date, last: date, precision: str = "approximate", at: date | None = None) -> When:
        begin, end = (datetime.combine(d, time(), now.tzinfo) for d in (first, last))
        return When(datetime.combine(at or first, time(), now.tzinfo), precision, (begin, end))

    def month(year: int, number: int) -> When:
        first = date(year + (number - 1) // 12, (number - 1) % 12 + 1, 1)
        return span(first, _month_end(first), "month")

    def week(inside: date) -> When:
        monday = inside - timedelta(days=inside.weekday())
        return span(monday, monday + timedelta(days=6), "week", at=inside)

    def year_of(number: int) -> When:
        return span(date(number, 1, 1), date(number, 12, 31))

    def nearest(number: int, day_number: int, *, year: str | None) -> When:
        if year is not None:
            return day(date(int(year) + (2000 if len(year) == 2 else 0), number, day_number))
        found = date(today.year, number, day_number)
        if past and found > today:
            found = date(today.year - 1, number, day_number)
        elif not past and found < today:
            found = date(today.year + 1, number, day_number)
        return day(found)

    if kind == "iso":
        return day(date(int(match["iso_y"]), int(match["iso_m"]), int(match["iso_d"])))
    if kind == "num":
        return _numeric(match, nearest)
    if kind == "dm":
        return nearest(_month(match["dm_m"]), int(match["dm_d"]), year=match["dm_y"])
    if kind == "md":
        return nearest(_month(match["md_m"]), int(match["md_d"]), year=match["md_y"])
    if kind in ("ago", "in"):
        if kind == "ago":
            count, unit = _number(match["ago_n"]), match["ago_u"]
            sign = 1 if match["ago_w"].startswith("from") else -1
        else:
            count, unit, sign = _number(match["in_n"]), match["in_u"], 1
        if count is None:
            return When(None, "approximate")
        if unit in ("minute", "min", "hour"):
            return When((now + sign * timedelta(**{"hours" if unit == "hour" else "minutes": count})).replace(second=0, microsecond=0), "exact")
        if unit == "day":
            return day(today + timedelta(days=sign * count))
        if unit in ("week", "fortnight"):
            return week(today + timedelta(weeks=sign * count * (2 if unit == "fortnight" else 1)))
        if unit == "month":
            return month(today.year, today.month + sign * count)
        return year_of(today.year + sign * count * (10 if unit == "decade" else 1))
    if kind == "end":
        word = match["end_w"] or {"eod": "day", "eow": "week", "eom": "month", "eoy": "year"}[match["eox"]]
        if word == "day":
            return day(today)
        if word.endswith("week"):
            friday = today + timedelta(days=4 - today.weekday() + (7 if word.startswith("next") else 0))
            return week(max(friday, today))
        if word == "year":
            return day(date(today.year, 12, 31))
        if word.endswith("month"):
            first = date(today.year, today.month, 1)
            return day(_month_end(_month_end(first) + timedelta(days=1) if word.startswith("next") else first))
        number = _month(word)
        year = int(match["end_y"] or today.year + (number < today.month) * (not past) - (number > today.month) * past)
        return day(_month_end(date(year, number, 1)))
    if kind == "beyond":
        step = -2 if match["beyond_w"].endswith("last") else 2
        unit = match["beyond_u"]
        if unit == "day":
            return day(today + timedelta(days=-2 if match["beyond_w"].endswith("yesterday") else 2))
        if unit in ("week", "weekend"):
            return week(today + timedelta(weeks=step))
        return month(today.year, today.month + step) if unit == "month" else year_of(today.year + step)
    if kind == "rel":
        word, unit = match["rel_w"], match["rel_u"]
        step = -1 if word in ("last", "past", "previous") else 1 if word in ("next", "coming") else 0
        monday = today - timedelta(days=today.weekday())
        if match["rel_day"]:
            return day(monday + timedelta(weeks=step, days=WEEKDAYS[match["rel_day"]]))
        if unit == "week":
            return week(today + timedelta(weeks=step))
        if unit.startswith("weekend") or unit == "week-end":
            saturday = monday + timedelta(weeks=step, days=5)
            return When(datetime.combine(saturday, time(), now.tzinfo), "week",
                        (datetime.combine(saturday, time(), now.tzinfo), datetime.combine(saturday + timedelta(days=1), time(), now.tzinfo)))  # fmt: skip
        if unit == "month":
            return month(today.year, today.month + step)
        if unit == "year":
            return year_of(today.year + step)
        if unit == "quarter":
            first = (today.month - 1) // 3 * 3 + 1 + 3 * step
            start = date(today.year + (first - 1) // 12, (first - 1) % 12 + 1, 1)
            return span(start, _month_end(_month_end(_month_end(start) + timedelta(days=1)) + timedelta(days=1)))
        if unit in SEASONS:
            return _season(unit, today, step if step else None, span, past=past)
        return day(today + timedelta(days=step if unit == "night" else 0))
    if kind == "wd":
        number = WEEKDAYS[match["wd_n"]]
        monday = today - timedelta(days=today.weekday())
        if match["wd_last"]:
            return day(monday + timedelta(days=number, weeks=-2 if "before" in match["wd_last"] else -1))
        if match["wd_week"] or match["wd_w"] == "next":
            return day(monday + timedelta(days=number + 7))
        if match["wd_w"] in ("last", "past", "previous") or (match["wd_w"] is None and past):
            return day(today - timedelta(days=(today.weekday() - number - 1) % 7 + 1))
        return day(today + timedelta(days=(number - today.weekday() - 1) % 7 + 1))
    if kind in ("mon", "my"):
        number = _month(match["mon_n"] or match["my_n"])
        given = match["mon_y"] or match["my_y"]
        if given:
            return month(int(given), number)
        word = match["mon_w"]
        if word in ("last", "past"):
            return month(today.year - (number >= today.month), number)
        if word in ("next", "coming"):
            return month(today.year + (number <= today.month), number)
        if word == "since" or (past and word not in ("until", "till", "by", "before")):
            return month(today.year - (number > today.month), number)
        return month(today.year + (number < today.month), number)
    if kind == "q":
        quarter = int(match["q_n"])
        year = int(match["q_y"] or today.year)
        if match["q_y"] is None and past and quarter * 3 - 2 > today.month:
            year -= 1
        if match["q_y"] is None and not past and quarter * 3 < today.month:
            year += 1
        first_day = date(year, quarter * 3 - 2, 1)
        return span(first_day, _month_end(date(year, quarter * 3, 1)))
    if kind == "season":
        if match["season_y"]:
            return _season(match["season_n"], date(int(match["season_y"]), 12, 31), 0, span, past=True)
        if not re.match(r"(?:in|since|this)\s", match["season"]):
            return None  # "summer dress"
        return _season(match["season_n"], today, None, span, past=past)
    if kind == "year":
        return year_of(int(match["year_n"]))
    if kind == "day":
        words = match["day"]
        if words.endswith("weekend"):
            saturday = today + timedelta(days=5 - today.weekday() - (7 if past and today.weekday() < 5 else 0))
            return When(datetime.combine(saturday, time(), now.tzinfo), "week",
                        (datetime.combine(saturday, time(), now.tzinfo), datetime.combine(saturday + timedelta(days=1), time(), now.tzinfo)))  # fmt: skip
        offset = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1, "tmrw": 1, "tmr": 1}
        return day(today + timedelta(days=offset.get(words, -2 if words.endswith("yesterday") else 2)))
    if kind == "ord":
        return day(_nth(int(match["ord_d"][:-2]), today, past=past))
    if kind == "hol":
        return nearest(*HOLIDAYS[match["hol"]], year=None)
    return When(None, "approximate")


_KINDS = ("iso", "num", "dm", "md", "ago", "in", "end", "beyond", "rel", "wd", "mon", "my", "q", "season", "year", "day", "ord", "hol", "fuzzy")


def _month(name: str) -> int:
    return MONTHS[name.rstrip(".")]


def _number(word: str) -> int | None:
    word = re.sub(r"\s+", " ", word)
    return int(word) if word.isdigit() else NUMBERS.get(word)


def _month_end(first: date) -> date:
    following = first.replace(day=28) + timedelta(days=4)
    return following - timedelta(days=following.day)


def _nth(number: int, today: date, *, past: bool) -> date:
    """The nearest day with that number in its month, before today or after it."""
    month = today.year * 12 + today.month - 1
    for step in range(3):
        at = month - step if past else month + step
        try:
            found = date(at // 12, at % 12 + 1, number)
        except ValueError:
            continue
        if (found < today) if past else (found > today):
            return found
    raise ValueError("no month near has such a day")


def _numeric(match: re.Match[str], nearest: Callable[..., When]) -> When | None:
    first, second, year = int(match["num_a"]), int(match["num_b"]), match["num_y"]
    if year is None and (match["num_sep"] == "." and not match["num"].endswith(".")):
        return None  # 3.9 is a number
    if year is None and (first == 0 or second == 0 or (second > 12 and first > 12) or match["num"] in ("24/7", "50/50", "1/2", "1/3", "1/4", "2/3", "3/4")):
        return None
    number, day_number = (first, second) if second > 12 else (second, first)
    return nearest(number, day_number, year=year) if 1 <= number <= 12 else None


def _season(name: str, today: date, step: int | None, span: Callable[..., When], *, past: bool) -> When:
    """Northern seasons of three whole months. step: -1 the last one that is over, 1 the next to come, None by tense."""
    number = SEASONS[name]
    year = today.year
    first = date(year, number, 1)
    if step == -1 or (step is None and past and first > today):
        last = _month_end(_plus_months(first, 2))
        year -= last >= today if step == -1 else 1
    elif step == 1 or (step is None and not past):
        last = _month_end(_plus_months(first, 2))
        year += (first <= today) if step == 1 else (last < today)
    first = date(year, number, 1)
    return span(first, _month_end(_plus_months(first, 2)))


def _plus_months(first: date, months: int) -> date:
    at = first.year * 12 + first.month - 1 + months
    return date(at // 12, at % 12 + 1, 1)


def _clock(low: str, *, with_day: bool) -> time | None:
    for found in _CLOCK.finditer(low):
        if found["noon"]:
            return time(0 if found["noon"] == "midnight" else 12)
        if found["half"]:
            word = found["half_h"]
            hour = int(word) if word.isdigit() else NUMBERS[word]
            return time(hour % 24, 30)
        if found["oclock"]:
            return time(_afternoon(int(found["oclock"])))
        hour, minute = int(found["h"] or found["h2"]), int(found["m"] or 0)
        meridiem = (found["ap"] or found["ap2"] or "")[:1]
        if found["h"] and "." in found[0] and not meridiem:
            continue  # 3.50 is a price
        if meridiem:
            hour = hour % 12 + (12 if meridiem == "p" else 0)
        return time(hour, minute)
    bare = _BARE_HOUR.search(low) if with_day else None
    return time(_afternoon(int(bare["h"]))) if bare else None


def _afternoon(hour: int) -> int:
    """"At 3" is in the afternoon, "at 9" in the morning."""
    return hour + 12 if 1 <= hour <= 6 else hour
