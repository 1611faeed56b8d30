"""Clauses and claims, and the building blocks of the slots' patterns."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from text import patterns
from text.extraction.lexicon import listed
from text.extraction.subjects import is_of_subject, lead_end, said_from, singular

_WITHIN_NAMES: Final = listed("de la le du des del da do dos van von der den the of and upon on sur en am an al & di")


class Claim(NamedTuple):
    """A claim: key, value, and its words text[start:end].

    is_over: the words say that it no longer holds.  type: of a statement that consists of this claim only.
    """

    key: str
    value: str
    start: int
    end: int
    many_valued: bool = False
    is_over: bool = False
    type: str = "fact"


class Clause(NamedTuple):
    """A clause of a text, as written and in lower case.

    who: its subject: ``user``, ``user.sister``, ``olga``; None if unknown.
    """

    plain: str
    low: str
    start: int
    end: int
    who: str | None

    def search(self, pattern: patterns.Pattern) -> patterns.Match | None:
        return pattern.search(self.low, self.start, self.end)

    def says(self, pattern: patterns.Pattern) -> patterns.Match | None:
        """The match, if it is about the clause's subject: not in "Olga's boss has moved to Hull"."""
        match = self.search(pattern)
        if match is None or not is_of_subject(self.plain, self.low, self.start, self.end, match.start()):
            return None
        return match

    def before(self, match: patterns.Match) -> str:
        """The text between the subject and the match."""
        return self.low[said_from(self.plain, self.low, self.start, self.end) : match.start()]

    def begins(self, pattern: patterns.Pattern) -> patterns.Match | None:
        """A match at the start of the clause, after openers such as "btw"."""
        return pattern.match(self.low, lead_end(self.low, self.start, self.end), self.end)

    def is_named(self, match: patterns.Match, group: str = "v", *, also_small: bool = False) -> bool:
        """Whether every word is capitalised, except particles such as "de".

        also_small: also accept a single word in a clause without capitals.
        """
        said = self.plain[match.start(group) : match.end(group)].split()
        if not any(c.isupper() for c in self.plain[self.start : self.end]):
            return also_small and len(said) == 1
        return not said[0][0].islower() and all(not word[0].islower() or word in _WITHIN_NAMES for word in said)


Reader = Callable[[Clause], Iterator[Claim]]

_PAST: Final = patterns.compile(r"\b(?:was|were)\b")
# Negated, future, hypothetical or reported statements.
_NOT_ASSERTED: Final = patterns.compile(
    r"\b(?:if|would|could|should|might|maybe|perhaps|imagine|wish|hope|hoping|hopes|wants?|wanted|wondering|plan|plans"
    r"|planning|used to|will|won't|going to|gonna|thinking|thinks|considering|dream\w*|almost|nearly|unless|except"
    r"|before|says|said|apparently|pretend(?:ing)?|suppos\w+|trying|apply(?:ing)?|applied|about to|like to"
    r"|former(?:ly)?|once|as a (?:kid|child|boy|girl|teen\w*)|interview\w*)\b|'ll\b|'d\b|\?"
    r"|(?<!\bin )(?<!since )(?<!last )(?<!\bof )(?<!\d )(?<!\bthe )\bmay\b(?! \d)"
)
_UNTRUE: Final = patterns.compile(
    r"\b(?:never|not|no longer|stopped|quit|gave up|isn'?t|aren'?t|don'?t|doesn'?t|didn'?t|haven'?t|hasn'?t|can'?t"
    r"|cannot)\b"
)
OVER: Final = (
    r"(?:no longer|don'?t|doesn'?t|left|quit|stopped|gave up|given up|resigned from|laid off (?:from|by)"
    r"|fired (?:from|by)|moved (?:away |out )?(?:from|out of)|came off|outgrew|outgrown|grew out of)"
)
# Adverbs between a verb and its object.
SO: Final = (
    r"(?: (?:now|currently|still|also|just|permanently|again|back|over|here|full[- ]time|part[- ]time|mostly|officially"
    r"|actually|finally|only)){0,3}"
)
# What may follow a name.
END: Final = (
    r"(?=\s*(?:$|[,.;:!?()\"]|-\s)|\s+(?:and|but|or|as|since|for|with|in|on|at|from|until|because|so|now|btw|these|last"
    r"|near|this|next|by|who|which|where|when|after|before|again|instead|to|too|that|though|while|than|lol|rather|over|not"
    r"|today|yesterday|tomorrow|currently|permanently|is|was|has|have|every|via|about|any|w)\b)"
)
_DOTS: Final = r"(?:\.[\w&'+-]{1,20}){0,2}(?:\.(?= \w))?"  # inside a name, not after it
NAME: Final = rf"(?P<v>[^\W_][\w&'+-]{{0,30}}{_DOTS}(?: [\w&'+-]{{2,24}}){{0,3}}?)"
PERSON: Final = (
    rf"(?P<v>[^\W\d_][\w'-]{{1,25}}{_DOTS}(?: (?!now\b|and\b|not\b|from\b|but\b|in\b|by\b|at\b|when\b|if\b|please\b"
    rf"|btw\b"
    r"|for\b|is\b|again\b|too\b|still\b|since\b|who\b|as\b)[^\W\d_][\w'-]{1,25})?)"
)
NUMBER: Final = (
    r"(?P<v>[€$£]? ?\d[\d.,]*(?: \d{3})*k?)\b(?! ?(?:%|(?:thousand|million|grand|lakhs?|percent|hundred|a head|each"
    r"|per)\b))"
)


def asserts(clause: Clause, *, also_untrue: bool = False, also_past: bool = False) -> bool:
    """Whether the clause asserts a present fact; also_untrue, also_past: or a negated, or past one."""
    return not (
        clause.search(_NOT_ASSERTED)
        or (not also_past and clause.search(_PAST))
        or (not also_untrue and clause.search(_UNTRUE))
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
    """The content words in a fixed order: equal for a statement that differs only in function words."""
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


def amount(said: str) -> str:
    """The digits of an amount, without thousands separators: "1.200 euros", "1 200 euros", "1.2k"."""
    said = patterns.sub(r" (?=\d{3}(?:\D|$))", "", said)
    number = patterns.search(r"\d[\d.,]*", said)
    digits = patterns.sub(r"[.,](?=\d{3}(?:\D|$))", "", number[0].rstrip(".,")) if number else ""
    return f"{float(digits.replace(',', '.')) * 1000:g}" if digits and said.rstrip().endswith("k") else digits


def items(said: str) -> list[str]:
    """The items of a list: "nuts, eggs and sesame"."""
    return [part for part in patterns.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", said.strip()) if part]
