"""Parse a query: its participants, search terms, dates, expected kind of answer and intent."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from apps.core.plaintext import Plaintext
from apps.memories.times import Window
from text import dates, patterns
from text.answer_types import asks_about_now, asks_about_the_past, kinds_expected
from text.terms import terms

MAX_CHARACTERS = 8_000
_WORD = patterns.compile(r"[^\W\d_]+(?:['’]s)?")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DAY_MONTH = patterns.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b(?:,? *(\d{{4}}))?", patterns.IGNORECASE
)
_MONTH_DAY = patterns.compile(
    rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,? *(\d{{4}}))?", patterns.IGNORECASE
)
# "may" is a month only with a year, or after a word that calls for one.
_MONTH_ALONE = patterns.compile(
    rf"\b(?:in|during|of|by|since|until|before|after|early|late|mid)[ -]({_MONTH})\b(?:,? *(\d{{4}}))?|"
    rf"\b({_MONTH})\b,? *(\d{{4}})|\b({_MONTH.replace('|may', '')})\b",
    patterns.IGNORECASE,
)
_YEAR = patterns.compile(r"\b((?:19|20)\d\d)\b")
MOST_YEARS = 12  # a date without a year is looked for in this many of the latest years


@dataclass(frozen=True, slots=True)
class AskedDate:
    """A date in a question; parts that it does not name are None."""

    year: int | None
    month: int | None
    day: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """text: as asked.  first_person: for the embedder, with participants' names in the first person, as in memories.

    terms: search terms without participants' names.  actors: the participants' keyed tokens.  expected: types of
    answer, as bits (``text.answer_types``).  asks_now, asks_past: it asks what holds now, or about the past; in other
    languages than English neither is seen.  window: the relative time [from, to) that it names, such as "last week".
    """

    text: Plaintext
    first_person: Plaintext
    terms: Sequence[str]
    actors: frozenset[int]
    dates: Sequence[AskedDate]
    expected: int
    intent: str
    asks_now: bool = False
    asks_past: bool = False
    window: tuple[datetime, datetime] | None = None

    @property
    def has_time(self) -> bool:
        return bool(self.dates) or self.window is not None


def words_that_may_name(text: str) -> list[str]:
    """The distinct words of a question that could be a participant's first name, in lower case; at most 64."""
    found = (patterns.sub(r"['’]s$", "", match[0]).casefold() for match in _WORD.finditer(text[:MAX_CHARACTERS]))
    return [word for word in dict.fromkeys(found) if len(word) > 1][:64]


def ask(
    query: Plaintext,
    *,
    participants: Sequence[str] = (),
    actors: frozenset[int] = frozenset(),
    now: datetime | None = None,
) -> Question:
    """Parse a query.  participants: its words that name a speaker of the space, in lower case.

    now: resolves words like "last Tuesday"; without it they are not parsed.
    """
    text = query.reveal()[:MAX_CHARACTERS]
    words = terms(_without(text, participants)) or terms(text)
    return Question(
        text=Plaintext(text),
        first_person=Plaintext(_in_first_person(text, participants)),
        terms=words,
        actors=actors,
        dates=asked_dates(text),
        expected=kinds_expected(text),
        intent=_intent(text),
        asks_now=asks_about_now(text),
        asks_past=asks_about_the_past(text),
        window=asked_window(text, now) if now is not None else None,
    )


def asked_dates(text: str) -> list[AskedDate]:
    """The dates in a text: days, else months, else years."""
    found = [AskedDate(_int(m[3]), _month(m[2]), int(m[1])) for m in _DAY_MONTH.finditer(text)]
    found += [AskedDate(_int(m[3]), _month(m[1]), int(m[2])) for m in _MONTH_DAY.finditer(text)]
    if not found:
        found = [AskedDate(_int(m[2] or m[4]), _month(m[1] or m[3] or m[5]), None) for m in _MONTH_ALONE.finditer(text)]
    return found or [AskedDate(int(m[1]), None, None) for m in _YEAR.finditer(text)]


def asked_window(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The time [from, to) that a question names relative to now: "last Tuesday", "in the past week"."""
    if asked_dates(text):
        return None
    when = dates.find(text.casefold(), now)
    if when is None or when.at is None or when.precision == "unknown":
        return None
    first, last = when.range or (when.at, when.at)
    first, last = (one.replace(hour=0, minute=0, second=0, microsecond=0) for one in (first, last))
    return first, last + timedelta(days=1)


def windows(question: Question, *, years: tuple[int, int] | None) -> list[Window]:
    """The time windows to search for a question.  years: the first and the last year with any memory."""
    found = [Window(since=question.window[0], until=question.window[1], worth=1.0)] if question.window else []
    first, last = years or (1, 0)
    for asked in question.dates:
        for year in (asked.year,) if asked.year else range(max(first, last - MOST_YEARS + 1), last + 1):
            with suppress(ValueError, OverflowError):  # no such day in that year, or no such year
                found += _windows_of(asked, year)
    return found


def _windows_of(asked: AskedDate, year: int) -> list[Window]:
    """The windows of one date in one year, each worth what ``date_match`` gives to a time in it."""
    begin = datetime(year, asked.month or 1, asked.day or 1, tzinfo=UTC)
    if asked.day:
        return [
            Window(since=begin - timedelta(days=days), until=begin + timedelta(days=days + 1), worth=worth)
            for days, worth in ((1, 1.0), (7, 0.7))
        ]
    if asked.month:
        after = (begin + timedelta(days=31)).replace(day=1)
        return [
            Window(since=begin, until=after, worth=1.0),
            Window(since=after, until=after + timedelta(days=10), worth=0.5),
        ]
    return [Window(since=begin, until=begin.replace(year=year + 1), worth=0.3)]


def date_match(asked: Sequence[AskedDate], when: datetime | None) -> float:
    """0..1: how well a time fits the dates asked about.  For a day, the match drops beyond 1, 7 and 31 days."""
    if when is None or not asked:
        return 0.0
    return max(_match(one, when.astimezone(UTC).date()) for one in asked)


def _match(asked: AskedDate, day: date) -> float:
    if asked.month and asked.day:
        gap = min((abs((day - one).days) for one in _days(asked, around=day.year)), default=366)
        return 1.0 if gap <= 1 else 0.7 if gap <= 7 else 0.3 if gap <= 31 else 0.0
    if asked.month:
        months = (day.month - asked.month) % 12
        if asked.year:
            months = day.month - asked.month + 12 * (day.year - asked.year)
        # Events of a month are often told in the first days of the next.
        return 1.0 if months == 0 else 0.5 if months == 1 and day.day <= 10 else 0.0
    return 0.3 if day.year == asked.year else 0.0


def _days(asked: AskedDate, *, around: int) -> Iterator[date]:
    """The days that the date may mean: without a year, in the year ``around``, the one before and the one after."""
    for year in (asked.year,) if asked.year else (around - 1, around, around + 1):
        with suppress(ValueError):  # no such day, or not in that year
            yield date(year, asked.month or 1, asked.day or 1)


def _without(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = patterns.sub(rf"\b{patterns.escape(name)}\b(?:['’]s)?", " ", text, flags=patterns.IGNORECASE)
    return text


def _in_first_person(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = patterns.sub(rf"\b{patterns.escape(name)}['’]s\b", "my", text, flags=patterns.IGNORECASE)
        text = patterns.sub(rf"\b{patterns.escape(name)}\b", "I", text, flags=patterns.IGNORECASE)
    if len(names) == 1:
        for pattern, voice in ((r"\b(?:her|his|their)\b", "my"), (r"\b(?:she|he)\b", "I"),
                               (r"\b(?:him|herself|himself)\b", "me")):  # fmt: skip
            text = patterns.sub(pattern, voice, text)
    return text


def _intent(text: str) -> str:
    lowered = text.casefold()
    if patterns.search(r"\b(?:why|how come|compare|trend|pattern|summari[sz]e|overview|in what ways)\b", lowered):
        return "analytical"
    if patterns.search(
        r"\b(?:who|what|when|where|which|how (?:many|much|old|long)|does|did|is|are|was|has|have)\b", lowered
    ):
        return "factual"
    return "conversational"


def _month(name: str) -> int:
    return _MONTHS.index(name.lower()) + 1


def _int(digits: str | None) -> int | None:
    return int(digits) if digits else None
