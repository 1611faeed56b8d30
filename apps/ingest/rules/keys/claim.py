"""What every rule for keys uses: the claim, the clause it is read from, and the way values are told."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from apps.ingest.rules.lexicon import listed
from apps.ingest.rules.subjects import Subject, singular
from text import patterns


class Claim(NamedTuple):
    key: str
    value: str | None
    many_valued: bool = False
    type: str | None = None  # the type this key always has, where the clause's own words do not decide it
    closed: bool = False  # says that the claim is over
    general: bool = False  # read by the last resort, not by a rule that knows the attribute
    loose: bool = False  # worth keeping, but too vague to be replaced by the next statement in the same words


class Clause(NamedTuple):
    plain: str
    low: str
    start: int
    end: int
    subject: Subject
    words: frozenset[str]


Reader = Callable[[Clause], Iterator[Claim]]


def any_of(names: frozenset[str] | dict[str, str]) -> str:
    return "(?:" + "|".join(sorted(map(patterns.escape, names), key=len, reverse=True)) + ")"


STOP = (
    r"(?=\s*(?:$|[,.;:!?()\"]|-\s)|\s+(?:and|but|or|as|since|for|with|in|on|at|from|until|till|because|so|now|btw"
    r"|anymore|any|these|last|this|next|by|who|which|where|when|after|before|again|instead|to|too|which|that|if"
    r"|though|although|while|than|lol|tbh|pls|please|rather|over|not|actually"
    r"|right|today|yesterday|tomorrow|currently|permanently|is|was|are|has|have|every|via|about|due)\b)"
)
LIST = (
    r"(?P<l>[a-z][a-z'-]{1,24}(?:\s(?!and\b|or\b|as\b|so\b|but\b|since\b|which\b|if\b|btw\b|too\b|for\b|from\b|in\b"
    r"|with\b|at\b|to\b|is\b|on\b|that\b|because\b|now\b|pls\b|please\b|dont\b|don't\b|though\b|by\b|lol\b|also\b"
    r"|like\b|of\b|actually\b|not\b|any\b|again\b|especially\b|badly\b)[a-z'-]{1,24}){0,2}(?:\s*(?:,\s*(?:and\s+"
    r"|or\s+)?|\s+and\s+|\s+or\s+|\s*&\s*|\s*/\s*)(?!i\b|so\b|it\b|we\b|my\b|also\b|but\b|please\b|pls\b|then\b"
    r"|dont\b|don't\b|no\b|not\b|so\b|the doctor|that\b|which\b|always\b|can\b|he\b"
    r"|she\b)[a-z][a-z'-]{1,24}(?:\s(?!and\b|or\b|so\b|but\b|as\b|for\b|from\b|in\b|is\b|to\b|at\b|on\b|which\b"
    r"|with\b|pls\b|please\b|btw\b|too\b|now\b|since\b)[a-z'-]{1,24})?){0,5})"
)
_NOT = (
    r"(?:not|no longer|never|don'?t|doesn'?t|isn'?t|aren'?t|wasn'?t|stopped|quit|gave up|given up|no more|instead of"
    r"|rather than|over(?! to\b)|from|than|left|without|ditched|dropped|closed|sold|cancelled|canceled|replaced|leaving"
    r"|away from|out of|off|traded(?: in)?|swapped(?: out)?|exchanged|part-exchanged|replaced|got rid of|done with"
    r"|moved off|migrated off)"
)
NEGATED = patterns.compile(
    _NOT
    + (
        r"\s+(?:account at |account with |contract with |subscription to |being |using |taking |eating |drinking "
        r"|having |doing |playing |a |an |the |my |our |at |with |for |in "
        r"|working |work |be |use |take |drink |eat |really |to )*$"
    )
)


_PURSUED = patterns.compile(
    r"\b(?:trying|try|want|wants|wanna|need|needs|hoping|hope|planning|considering|considered|consider|looking|help|how"
    r"|wondering|debug|debugging|implement|implementing|decide|deciding|could|might|would|should|can)\b"
)


def is_aside(clause: Clause) -> bool:
    """A tool or a version stands in a longer sentence about something else: "I'm trying to fix … with Flask 2"."""
    return len(clause.words) > 8 and search_in(_PURSUED, clause) is not None


def person_of(clause: Clause) -> str | None:
    """The subject if a person can be meant: a thing has no employer and no diet."""
    subject = clause.subject
    if subject.key in ("", "user"):
        return "user"
    return subject.key if subject.is_person else None


def search_in(pattern: patterns.Pattern, clause: Clause) -> patterns.Match | None:
    return pattern.search(clause.low, clause.start, clause.end)


def is_negated(clause: Clause, at: int) -> bool:
    return NEGATED.search(clause.low, max(clause.start, at - 40), at) is not None


def has_capital(clause: Clause, match: patterns.Match, group: str = "v") -> bool:
    """Written like a name, or the turn is written without capitals altogether."""
    value = clause.plain[match.start(group) : match.end(group)]
    return (
        value[:1].isupper()
        or value[:1].isdigit()
        or not any(c.isupper() for c in clause.plain[clause.start : clause.end])
    )


_STOPWORDS = listed(
    "the a an my our his her their your its i we you he she they it is are was were be been am im i'm we're of to in"
    " on at for with and or but so that this these those there now currently still also just really very please pls"
    " btw actually only as by from has have had do does did will would can could should not"
    " again yes no ok okay lol said told mentioned ago last next since every each me us him them too then than like"
    " i've we've it's about into up out over some any all more most one who which what when where how if because"
    " ever made due told again remember reminder still already know knows"
    " getting own owns got having possess happens happen takes place"
    " tbh honestly basically simply called named name remember note reminder fyi know always never from now"
)
_STEMS = {
    "cap": "limit",
    "maximum": "limit",
    "max": "limit",
    "ceiling": "limit",
    "flight": "fly",
    "flying": "fly",
    "flew": "fly",
    "flies": "fly",
    "use": "use",
    "uses": "use",
    "using": "use",
    "used": "use",
    "req": "request",
    "min": "minute",
    "sec": "second",
    "meeting": "meet",
    "met": "meet",
    "ran": "run",
    "running": "run",
    "bought": "buy",
    "went": "go",
    "going": "go",
    "answers": "reply",
    "answer": "reply",
    "respond": "reply",
    "response": "reply",
    "dentist's": "dentist",
    "child": "kid",
    "children": "kid",
    "married": "wed",
    "marry": "wed",
    "wedding": "wed",
    "marriage": "wed",
    "wife's": "wife",
}
_COUNTED = {
    word: str(number)
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
_TOKEN = patterns.compile(r"[^\W_]+(?:[.'/+#@-][^\W_]+)*")
_UNIT = patterns.compile(r"(\d)\s?(%|km|kg|mg|gb|mb|tb|ms|cm|mm|k|h|db)\b")
_UNITS = patterns.compile(
    r"(?<=\d)\s?(?:(?P<db>decibels?)|(?P<kg>kilograms?|kilos?)|(?P<km>kilomet(?:er|re)s?)|(?P<gb>gigs?|gigabytes?)"
    r"|(?P<h>hours?|hrs?)|(?P<cm>centimet(?:er|re)s?)|(?P<mg>milligrams?))\b"
)


def signature(text: str) -> str:
    """The content words in a fixed order: equal for the same statement told with other little words."""
    found = set()
    for word in _TOKEN.findall(_UNIT.sub(r"\1\2", _UNITS.sub(lambda unit: unit.lastgroup or "", text.lower()))):
        if word in _STOPWORDS:
            continue
        word = word.removesuffix("'s")
        word = _COUNTED.get(word, word)
        stem = _STEMS.get(word) or _STEMS.get(singular(word)) or singular(word)
        if len(stem) > 5 and stem.endswith("ing"):
            stem = stem[:-3]
        elif len(stem) > 4 and stem.endswith("ed"):
            stem = stem[:-2]
        found.add(stem.rstrip("e") if len(stem) > 4 else stem)
    return "_".join(sorted(found))[:120]


def amount_of(words: str) -> str:
    number = patterns.search(r"\d[\d.,]*", words)
    digits = patterns.sub(r"[.,](?=\d{3}(?:\D|$))", "", number[0].rstrip(".,")) if number else ""
    scale = patterns.search(r"\d\s?(k|thousand|m|mio|million|bn)\b", words)
    if scale and digits:
        digits = f"{float(digits.replace(',', '.')) * {'k': 1e3, 'thousand': 1e3, 'bn': 1e9}.get(scale[1], 1e6):g}"
    return digits


def split_list(listed: str) -> list[str]:
    return [
        part
        for part in patterns.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+and\s+|\s+or\s+|\s*&\s*|\s*/\s*", listed.strip())
        if part
    ]
