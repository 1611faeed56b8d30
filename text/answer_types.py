"""The type of answer that a question expects, whether a text contains one, and the time that is asked about.

Expected answer types are the oldest feature of question answering (Li and Roth 2002): a text with a time answers
"when", one with a number "how many", one with a name "who" and "where".
"""

from typing import Final

from text import patterns

_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve dozen couple few several once twice both first "
    "second third half"
)
_TIMES = (
    "yesterday today tonight tomorrow last next ago week weekend month year morning recently soon since monday tuesday "
    "wednesday thursday friday saturday sunday january february march april june july august september october "
    "november december"
)
_NAMED = "country city place town state book movie film song band game team company school name"

# A capitalised word that does not begin a sentence.  All other patterns run on lower-case text: that is four times as
# fast as ignoring case.
_CAPITAL: Final = patterns.compile(r"(?<=[^\s.!?] )[A-Z][a-z]+")

# (pattern of the question, pattern of its answer); a new one is a new version of ``text.analysis``
_KINDS: Final = (
    (
        patterns.compile(r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:year|month|date|day|time)\b", patterns.IGNORECASE),
        patterns.compile(rf"\b(?:{'|'.join(_TIMES.split())}|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th))\b"),
    ),
    (
        patterns.compile(r"\bhow (?:many|much|often|old)\b", patterns.IGNORECASE),
        patterns.compile(rf"\b(?:\d+|{'|'.join(_NUMBERS.split())})\b"),
    ),
    (
        patterns.compile(
            rf"\b(?:who|whom|whose|where)\b|\b(?:what|which) (?:{'|'.join(_NAMED.split())})\b", patterns.IGNORECASE
        ),
        _CAPITAL,
    ),
)


_NOW: Final = patterns.compile(
    r"\b(?:now|currently|current|these days|nowadays|at the moment|at present|today|still|any ?more|latest|lately|"
    r"in the end|final(?:ly)?|after all|last (?:count|time))\b",
    patterns.IGNORECASE,
)
_PAST: Final = patterns.compile(
    r"\b(?:(?:did|was|were|had)(?:n['’]?t)?|used to|ago|originally|initially|at first|before|back then|yesterday)\b|"
    r"\b(?:who|what|which(?: \w+)?|whose \w+)\s+"
    r"(?:\w\w+[^\We]ed|gave|came|took|went|got|made|said|told|found|left|lost|won|paid|broke|bought|brought|sent|wrote)\b",
    patterns.IGNORECASE,
)


def asks_about_now(question: str) -> bool:
    """Whether the question asks what holds now, as in "where does she work these days"."""
    return _NOW.search(question) is not None


def asks_about_the_past(question: str) -> bool:
    """Whether the question asks about the past, as in "where did she work before".  English only."""
    return not asks_about_now(question) and _PAST.search(question) is not None


def kinds_expected(question: str) -> int:
    """The types of answer that a question expects, one bit each; 0 if it gives no hint."""
    return sum(1 << bit for bit, (asked, _) in enumerate(_KINDS) if asked.search(question))


def kinds_of(text: str) -> int:
    """The types of answer that a text contains, one bit each, as in ``kinds_expected``."""
    lowered = text.lower()
    return sum(1 << bit for bit, (_, kind) in enumerate(_KINDS) if kind.search(text if kind is _CAPITAL else lowered))
