"""Dates in a clause, told against the time of the turn: when it happened or will, and how precisely that is known."""

from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from text import patterns

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
        ("monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu", "friday fri", "saturday sat",
         "sunday sun"))
    for name in names.split()
}  # fmt: skip
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "a couple": 2, "a couple of": 2, "couple of": 2,
}  # fmt: skip
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
HOLIDAYS = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "xmas": (12, 25),
    "boxing day": (12, 26), "new year's eve": (12, 31), "new years eve": (12, 31), "new year's day": (1, 1),
    "new year's": (1, 1), "halloween": (10, 31), "valentine's day": (2, 14), "valentine's": (2, 14),
}  # fmt: skip

_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAYNAME = "(?:" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\b"
_NUMBER = r"(?:\d{1,3}|a couple(?: of)?|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_ORDINAL = r"(?:[0-3]?\d)(?:st|nd|rd|th)"
_YEAR = r"(?:19|20)\d\d"

# The cheap question first: most clauses hold nothing that could be a date.
_MAY_HOLD = patterns.compile(
    r"\d|\b(?:"
    + "|".join(MONTHS)
    + "|"
    + "|".join(WEEKDAYS)
    + "|"
    + "|".join(SEASONS)
    + r"|christmas|xmas|halloween|valentine's"
    r"|new year'?s|boxing|to(?:day|night|morrow)|yesterday|ago|week|weekend|fortnight|month|year|quarter|noon"
    r"|midnight|morning|night"
    r"|eom|eod|eow|tmrw|tmr|day|days|weeks|months|years|used|formerly|recently|kid|child|younger|back|decade|hours?"
    r"|minutes?|mins|eventually"
    r"|childhood|once|while)\b"
)

_FORMS = patterns.compile(
    r"\b(?=\w)(?:"  # where a word begins, and not where one ends: each form begins with a letter or a digit
    rf"(?P<iso>(?P<iso_y>{_YEAR})-(?P<iso_m>[01]?\d)-(?P<iso_d>[0-3]?\d))"
    r"|(?P<num>(?P<num_a>[0-3]?\d)(?:"
    r"\.(?P<dot_b>[0-3]?\d)(?:\.(?P<dot_y>(?:20)?\d\d)\b|\.?(?=[\s,;!?]|$))"
    r"|/(?P<slash_b>[0-3]?\d)(?:/(?P<slash_y>(?:20)?\d\d)\b|/?(?=[\s,;!?]|$))))"
    rf"|(?P<dm>(?:the\s+)?(?P<dm_d>[0-3]?\d)(?:st|nd|rd|th)?(?:\s?(?:-|to|until|till"
    rf"|through)\s?(?:the\s)?(?P<dm_to>[0-3]?\d)(?:st|nd|rd"
    rf"|th)?)?(?:\s+of)?\s+(?P<dm_m>{_MONTH})(?:,?\s+(?P<dm_y>{_YEAR}))?)"
    rf"|(?P<md>(?P<md_m>{_MONTH})\s+(?:the\s+)?(?P<md_d>[0-3]?\d)(?:st|nd|rd|th)?(?![\d:%]|\s?(?:am"
    rf"|pm)\b)(?:\s?-\s?[0-3]?\d)?(?:,?\s+(?P<md_y>{_YEAR}))?)"
    rf"|(?P<ago>(?P<ago_n>{_NUMBER}|(?:a\s+)?few|several|some)\s+(?P<ago_u>minute|min|hour|day|week|fortnight|month"
    rf"|year|decade)s?\s+(?P<ago_w>ago|back|from\s+now|earlier|since\s+(?:i|we|my|our|he|she|they|the)\b))"
    rf"|(?P<wo>(?:on\s+)?{_DAYNAME},?\s+(?:the\s+)?(?P<wo_d>[0-3]?\d)(?:st|nd|rd|th)\b(?!\s+(?:of\s+)?{_MONTH}))"
    rf"|(?P<in>(?:with)?in\s+(?:about\s+)?(?P<in_n>{_NUMBER}|(?:a\s+)?few)\s+(?P<in_u>minute|min|hour|day|week"
    rf"|fortnight|month|year)s?(?:'\s+time)?)\b"
    rf"|(?P<end>(?:the\s+)?end\s+of\s+(?:the\s+|this\s+)?(?P<end_w>next\s+week|next\s+month|week|month|year"
    rf"|{_MONTH})(?:\s+(?P<end_y>{_YEAR}))?|(?P<eox>eo[dmwy])\b)"
    r"|(?P<beyond>(?:the\s+)?(?P<beyond_u>week|month|year|day|weekend)\s+(?P<beyond_w>before\s+last|after\s+next"
    r"|before\s+yesterday|after\s+tomorrow))"
    r"|(?P<rel>(?P<rel_w>(?<!the )last|this|next|coming|past|previous)\s+(?P<rel_u>week-?end|week|month|year|quarter"
    r"|spring"
    r"|summer|autumn|fall|winter|night|morning|afternoon|evening)\b(?:\s+(?:on\s+)?(?P<rel_day>" + _DAYNAME + r"))?)"
    rf"|(?P<nth>(?:the\s+)?(?P<nth_n>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+(?P<nth_d>{_DAYNAME})\s+(?:of"
    rf"|in)\s+"
    rf"(?:(?P<nth_rel>next|this|last)\s+month|(?P<nth_m>{_MONTH})(?:\s+(?P<nth_y>{_YEAR}))?))"
    rf"|(?P<wk>(?P<wk_n>a|one|two)\s+(?:weeks?|(?P<wk_f>fortnight))\s+(?:on|from|come|this)\s+(?P<wk_d>{_DAYNAME}|today|tomorrow)"
    rf"|(?P<wk_d2>{_DAYNAME})"
    r"\s+week\b)"
    rf"|(?P<wd>(?:(?P<wd_w>last|this|next|coming|past"
    rf"|previous)\s+)?(?P<wd_n>{_DAYNAME})(?P<wd_after>\s+after\s+next\b)?(?P<wd_last>\s+(?:last"
    rf"|before\s+last)\s+week)?(?:\s+(?P<wd_week>next\s+week))?)"
    rf"|(?P<mon>(?P<mon_w>last|this|next|coming|past|early|mid|late|in|to|since|until|till|by|before|after|from|of"
    rf"|for|during|around|about|the\s+start\s+of|beginning\s+of)[\s-]+(?:early\s+|mid[\s-]?"
    rf"|late\s+)?(?P<mon_n>{_MONTH})(?!\s+(?:the\s+)?[0-3]?\d(?:st|nd|rd|th)?(?![\d:]))(?:,?\s+(?P<mon_y>{_YEAR}))?)"
    rf"|(?P<my>(?P<my_n>{_MONTH})\s+(?P<my_y>{_YEAR}))"
    rf"|(?P<q>q(?P<q_n>[1-4])(?:\s*(?:of\s+)?(?P<q_y>{_YEAR}))?)"
    rf"|(?P<season>(?:in\s+|the\s+|since\s+|this\s+)*(?P<season_n>spring|summer|autumn"
    rf"|winter)(?:\s+(?:of\s+)?(?P<season_y>{_YEAR}))?)"
    rf"|(?P<year>(?:in|since|of|from|until|by|during|back\s+in|early|late|mid)\s+(?:early\s+|late\s+"
    rf"|mid[\s-])?(?P<year_n>{_YEAR})(?![-/.:]\d|\s*(?:eur|euro|usd|dollar|kg|km)))"
    r"|(?P<day>day\s+before\s+yesterday|day\s+after\s+tomorrow|yesterday|today|tonight|tomorrow|tmrw|tmr|the\s+weekend)"
    rf"|(?P<ord>(?:the|on\s+the)\s+(?P<ord_d>{_ORDINAL})\b(?!\s+(?:time|floor|street|century|grade|anniversary"
    rf"|birthday|place|of\s+(?!the\b)|edition|version|row|avenue)))"
    r"|(?P<hol>" + "|".join(sorted(HOLIDAYS, key=len, reverse=True)) + r")"
    r"|(?P<fuzzy>(?:(?:many|some|a\s+few|few|several)\s+)?(?:years|months|weeks|ages|decades)\s+(?:ago|back)"
    r"|a\s+(?:long\s+)?(?:while|time)\s+(?:ago|back)|long\s+ago"
    r"|used\s+to|formerly|back\s+in\s+the\s+day|the\s+other\s+day|recently|(?:as|when\s+i\s+was)\s+(?:a\s+)?(?:kid"
    r"|child|teen|teenager|younger|young|little)"
    r"|in\s+my\s+(?:twenties|thirties|teens|youth|childhood|[2-5]0s)|growing\s+up|in\s+(?:the\s+)?(?:19|20)?[5-9]0s"
    r"|back\s+then|previously|in\s+the\s+past|before\s+all\s+this)"
    r")"
)  # fmt: skip

_CLOCK = patterns.compile(
    r"(?:(?:\bat|@|\bby|\bfrom|\baround|\buntil|,|\bto)\s*)?\b(?:(?P<h>[01]?\d|2[0-3])(?::|\."
    r"|h)(?P<m>[0-5]\d)\s*(?P<ap>[ap]\.?m\b)?|(?P<h2>1[0-2]|0?[1-9])\s*(?P<ap2>[ap]\.?m)\b"
    r"|(?P<noon>noon|midday|midnight)\b|(?P<half>half\s+(?:past\s+)?(?P<half_h>one|two|three|four|five|six|seven"
    r"|eight|nine|ten|eleven|twelve|\d{1,2}))\b"
    r"|(?P<oclock>1[0-2]|[1-9])\s*o'?clock)"
)
_BARE_HOUR = patterns.compile(
    r"\bat\s+(?P<h>1\d|2[0-3]|[1-9])(?=[\s,.!?;)]|$)(?!\s*(?:%|percent|km|kg|euros?|dollars?|years?|mph|people"
    r"|[.,]\d))"
)
_RECURRING = patterns.compile(
    rf"\b(?:first|second|third|fourth|last) {_DAYNAME} (?:of|in) (?:each|every|the) (?:month|quarter|year)\b"
    rf"|\b(?:every|each|any|most|all|per)\s+(?:other\s+|second\s+|single\s+)?(?:{_DAYNAME}|day|week|month|year"
    rf"|morning|evening|night|quarter|weekend|{_MONTH})"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\b(?:weekly|daily|nightly|hourly|monthly|yearly|annually"
    rf"|weekdays|weekends)\b"
)
_OLD_DATE = patterns.compile(
    r"(?:\bfrom|\binstead of|(?:\bnot|n'?t)(?: on)?|\brather than|\boriginally(?: on| for)?|\bwas(?: on| for)?"
    r"|\bno longer(?: on)?)\s+(?:the\s+)?$"
)
_NEW_DATE = patterns.compile(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|brought forward|bumped|delayed|slipped|changed|switched|now"
    r"|instead|new date|back to)\b"
)

_RESCHEDULED = patterns.compile(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|changed|bumped|delayed|brought forward"
    r"|slipped)\b.{0,40}\bfrom\s+$"
)
_RESCHEDULED_TO = patterns.compile(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|changed|bumped|delayed|brought forward"
    r"|slipped)\b.{0,80}\b(?:to|until|till)\s+(?:the\s+)?$"
)

_TO_BE_DONE = patterns.compile(
    r"(?:'m|'re|'s|\b(?:am|are|is|be|will|to|im)) (?:having|getting|have|get) (?:my|the|our|a|an|his|her|its"
    r"|their)\b[^,;]{1,60}$"
)

_ARRANGED_FOR = patterns.compile(
    r"\b(?:booked|scheduled|planned|reserved|arranged|bought|got|registered|signed up|invited|ordered|set|made"
    r"|have|has|had)\b[^,;]{1,60}\bfor\s+(?:the\s+|early\s+|mid[\s-]|late\s+|on\s+)?$"
)

_PAST = (
    r"was|were|had|did|went|got|ran|met|saw|came|left|bought|sold|made|took|gave|found|lost|won|wrote|read|began"
    r"|broke|built|caught|chose"
    r"|fell|felt|flew|grew|heard|held|kept|knew|led|paid|put|quit|sent|slept|spent|spoke|stood|swam|taught|thought"
    r"|told|woke|wore|hired|rode|sat|hung|bit|blew|drew|forgot|froze|hid|laid|lent|meant|rang|rose|shook|shot|sank"
    r"|stole|stuck|struck|swore|threw|tore|understood|withdrew|dug|fed|fought|bred|lit|overslept"
    r"|finished|been|gone|done|drove|ate|drank|sang|became|began|since|(?<!ne)(?<!spe)(?<!bre)(?<!fe)[a-z]{2,}ed"
)
_FUTURE = (
    r"(?:get|getting|be|being|is|are|am|'m|'re)\s+(?:\w+ly\s+)?(?!(?:been|had|gone)\b)[a-z]{3,}ed|will|'ll|gonna"
    r"|going to|need|needs|have to|has to|must|should|remind|todo|due|deadline|plan(?:s|ning)?|is|are"
    r"|(?<=\bit)'s|(?<=\bhe)'s|(?<=she)'s|(?<=that)'s|(?<=there)'s|'re|am|'m|be|starts?"
    r"|ends?|begins|opens|closes|expires|leaves|arrives|want|wants|moving|flying|meeting|leaving|starting|visiting"
    r"|travel(?:l)?ing|getting"
    r"|launch(?:es|ing)?|ships?|by|until|till|before|book|call|ping|let's|lets|can|could|coming"
    r"|(?:(?<![a-z ])[a-z]{3,}ing)|(?:pushed|postponed|rescheduled|shifted"
    r"|bumped|delayed|brought forward|scheduled|booked|planned|set|expected)\s+(?:back\s+)?(?:to|for|until|on)"
    # A meeting moves to another day, people to another place.
    # "I've got an exam" is no past.
    rf"|(?:'ve|have|has|'s)\s+(?:also\s+|just\s+)?got\s+(?:an?|my|our|another|the|two|three|to)"
    r"|'ve\s+to|'s\s+(?:now\s+|also\s+)?(?:on|at|in|due|next|this|tomorrow|not)"
    rf"|moved\s+(?:back\s+|forward\s+|up\s+)?(?:to|until)(?=\s+(?:the\s+)?(?:\d|next|this|tomorrow|tonight|early"
    rf"|mid|late|end|q[1-4]|noon|{_DAYNAME}|{_MONTH}|spring|summer|autumn|winter|christmas|new year))"
)
_TENSE = patterns.compile(
    rf"(?:\b|(?='))(?:(?P<future>{_FUTURE})|(?P<past>(?<!the )(?<!\ba )(?<!\ban )(?<!my )(?<!our )(?:{_PAST})))\b"
)  # "the hired van" is no verb


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
    start = max(0, at - 120)
    if any(told.search(low, start, at) for told in (_RESCHEDULED_TO, _RESCHEDULED, _TO_BE_DONE, _ARRANGED_FOR)):
        return False
    cue = _cue(low, at)
    return cue is not None and cue["past"] is not None


def _cue(low: str, at: int) -> patterns.Match | None:
    before = None
    for cue in _TENSE.finditer(low, max(0, at - 160), at):
        before = cue
    return before or _TENSE.search(low, at)


_EVEN = patterns.compile(r"\beven\s*$")
_HABITUALLY = patterns.compile(
    r"\b(?:always|usually|often|sometimes|normally|generally|typically|mostly|rarely|never|seldom|only ever)\b"
)
_ABOUT_ONE = patterns.compile(
    r"\b(?:will|won't|going to|gonna|next|this|coming|need|needs|have to|has to|must|should|remind|due|plan|plans"
    r"|planning|planned|booked|scheduled|starts?|ends?|begins|opens|closes|expires|leaves|arrives|launch\w*|ships?"
    r"|book|want"
    r"|wants|hope|hoping|until|till|before|by|since|move|moving|flying|leaving|starting|visiting|travel\w*|getting"
    r"|coming|having|\w+ is|\w+ are|it's|that's)\b|'ll\b"
)


def _is_habit(low: str, match: patterns.Match) -> bool:
    """ "Even in winter" and "we ski in winter" tell what is done every year."""
    start = match.start()
    if match["season"] is None and match["mon"] is None:
        return False
    if patterns.search(r"\b(?:this|last|next|since)\b|\d", match[0]):
        return False
    if _EVEN.search(low, max(0, start - 12), start):
        return True
    if _is_past(low, start):
        return False
    if _HABITUALLY.search(low, max(0, start - 80), start) and not patterns.search(r"\b(?:will|going to)\b|'ll\b", low):
        return True
    return match["season"] is not None and _ABOUT_ONE.search(low) is None


def _hits(low: str, now: datetime) -> Iterator[_Hit]:
    for match in _FORMS.finditer(low):
        if _is_habit(low, match):
            continue
        after = match.start() + {"to": 3, "for": 4}.get(match[0].partition(" ")[0], 0)
        calendar = _Calendar(now, past=_is_past(low, after))
        form = next(name for name in _READERS if match[name] is not None)
        try:
            when = _READERS[form](calendar, match)
        except (ValueError, OverflowError):  # the 31st of February, the year 10000
            continue
        if when is not None:
            yield _Hit(match.start(), match.end(), when)


class _Calendar:
    """Reads one form of date each, seen from `now` and in the direction of the tense."""

    def __init__(self, now: datetime, *, past: bool) -> None:
        self.now, self.today, self.past = now, now.date(), past
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
        """number may run over the year's end: 13 is the next January, 0 the last December."""
        first = _plus_months(date(year, 1, 1), number - 1)
        return self.span(first, _month_end(first), "month")

    def year(self, number: int) -> When:
        return self.span(date(number, 1, 1), date(number, 12, 31))

    def nearest(self, number: int, day_number: int, year: str | None) -> When:
        if year is not None:
            return self.day(date(int(year) + (2000 if len(year) == 2 else 0), number, day_number))
        found = date(self.today.year, number, day_number)
        if self.past and found > self.today:
            found = date(self.today.year - 1, number, day_number)
        elif not self.past and found < self.today:
            found = date(self.today.year + 1, number, day_number)
        return self.day(found)

    # One reader for each form.

    def iso(self, m: patterns.Match) -> When:
        return self.day(date(int(m["iso_y"]), int(m["iso_m"]), int(m["iso_d"])))

    def numeric(self, m: patterns.Match) -> When | None:
        """Day before month, unless only the other order makes a date."""
        first, second, year = int(m["num_a"]), int(m["dot_b"] or m["slash_b"]), m["dot_y"] or m["slash_y"]
        if year is None and m["dot_b"] and not m["num"].endswith("."):
            return None  # 3.9 is a number
        if year is None and (0 in (first, second) or m["num"] in _FRACTIONS):
            return None
        number, day_number = (first, second) if second > 12 else (second, first)
        return self.nearest(number, day_number, year) if 1 <= number <= 12 else None

    def day_month(self, m: patterns.Match) -> When:
        day = m["dm_to"] if m["dm_to"] and _RESCHEDULED.search(m.string, 0, m.start()) else m["dm_d"]
        return self.nearest(_month(m["dm_m"]), int(day), m["dm_y"])

    def month_day(self, m: patterns.Match) -> When:
        return self.nearest(_month(m["md_m"]), int(m["md_d"]), m["md_y"])

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
        if self.past:
            return self.today.year - (number > self.today.month)
        return self.today.year + (number < self.today.month)

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
        """The calendar neighbour: "last week" is the week before this one, "next month" the one after."""
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

    def weekday(self, m: patterns.Match) -> When:
        number, word = WEEKDAYS[m["wd_n"]], m["wd_w"]
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
        """Northern seasons of three whole months: the last one that is over, the next to come, or by the tense."""
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
        """ "A week on Monday" and "Monday week" are seven days after the Monday that comes next."""
        name = m["wk_d"] or m["wk_d2"]
        weeks = 2 if m["wk_n"] == "two" or m["wk_f"] else 1
        ahead = _DAYS_AWAY[name] if name in _DAYS_AWAY else (WEEKDAYS[name] - self.today.weekday() - 1) % 7 + 1
        return self.day(self.today + timedelta(days=ahead, weeks=weeks))

    def ordinal(self, m: patterns.Match) -> When:
        """The nearest day with that number in its month, before today or after it."""
        number = int(m["wo_d"] or m["ord_d"][:-2])
        first = self.today.replace(day=1)
        for step in range(3):
            month = _plus_months(first, -step if self.past else step)
            if number > _month_end(month).day:
                continue
            found = month.replace(day=number)
            if (found < self.today) if self.past else (found > self.today):
                return self.day(found)
        raise ValueError("no month near has such a day")

    def holiday(self, m: patterns.Match) -> When:
        return self.nearest(*HOLIDAYS[m["hol"]], None)

    def fuzzy(self, m: patterns.Match) -> When:
        return When(None, "approximate")


# In the order of the alternatives in _FORMS; the key is the group's name.
_READERS: dict[str, Callable[[_Calendar, patterns.Match], When | None]] = {
    "iso": _Calendar.iso,
    "num": _Calendar.numeric,
    "dm": _Calendar.day_month,
    "md": _Calendar.month_day,
    "ago": _Calendar.ago,
    "in": _Calendar.ahead,
    "end": _Calendar.end,
    "beyond": _Calendar.beyond,
    "rel": _Calendar.relative,
    "nth": _Calendar.nth_weekday,
    "wk": _Calendar.weeks_on,
    "wd": _Calendar.weekday,
    "mon": _Calendar.month_alone,
    "my": _Calendar.month_year,
    "q": _Calendar.quarter,
    "season": _Calendar.season,
    "year": _Calendar.year_alone,
    "day": _Calendar.day_word,
    "wo": _Calendar.ordinal,
    "ord": _Calendar.ordinal,
    "hol": _Calendar.holiday,
    "fuzzy": _Calendar.fuzzy,
}
_NTH = {"first": 0, "second": 1, "third": 2, "fourth": 3, "1st": 0, "2nd": 1, "3rd": 2, "4th": 3}
_STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}
_DAYS_AWAY = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1, "tmrw": 1, "tmr": 1}
# Of a unit, by people who mean a date; "in 999 years" is a way of speaking.
_MOST_COUNTED = {"week": 520, "fortnight": 260, "month": 240, "year": 100, "decade": 10}
_FRACTIONS = frozenset({"24/7", "50/50", "1/2", "1/3", "1/4", "2/3", "3/4"})


def _month(name: str) -> int:
    return MONTHS[name.rstrip(".")]


def _number(word: str) -> int | None:
    word = patterns.sub(r"\s+", " ", word)
    return int(word) if word.isdigit() else NUMBERS.get(word)


def _month_end(first: date) -> date:
    return _plus_months(first, 1) - timedelta(days=1)


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
            return time(_of_the_day(hour, low) % 24, 30)
        if found["oclock"]:
            return time(_of_the_day(int(found["oclock"]), low))
        hour, minute = int(found["h"] or found["h2"]), int(found["m"] or 0)
        meridiem = (found["ap"] or found["ap2"] or "")[:1]
        if found["h"] and "." in found[0] and not meridiem:
            continue  # 3.50 is a price
        if meridiem:
            hour = hour % 12 + (12 if meridiem == "p" else 0)
        elif len(found["h"] or "00") < 2 and _LATE.search(low):
            hour = _of_the_day(hour, low)
        return time(hour, minute)
    bare = _BARE_HOUR.search(low) if with_day else None
    return time(_of_the_day(int(bare["h"]), low)) if bare else None


_LATE = patterns.compile(r"\b(?:tonight|evening|night|dinner|drinks)\b")
_EARLY = patterns.compile(r"\b(?:morning|breakfast|a\.?m)\b")


def _of_the_day(hour: int, low: str) -> int:
    """ "Tonight at eight" and "at 6 in the morning": a word for the time of day tells which half is meant."""
    if _LATE.search(low) and 5 <= hour <= 11:
        return hour + 12
    return hour if _EARLY.search(low) else _afternoon(hour)


def _afternoon(hour: int) -> int:
    """ "At 3" is in the afternoon, "at 9" in the morning."""
    return hour + 12 if 1 <= hour <= 6 else hour
