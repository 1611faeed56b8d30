"""Features of a text found without a model: sentences, names, figures, key points and token count.

Every sentence is an exact part of the text, so it can be quoted.  Deterministic, and made for English: in other
languages it finds sentences, figures and sizes, but fewer names.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from text import patterns
from text.terms import STOP_WORDS

MOST_NAMES: Final = 16
MOST_POINTS: Final = 3
MOST_TOPICS: Final = 5
LOOKED_AT: Final = 8_000  # characters

# A full stop followed by white space or the end; scripts without spaces have stops of their own.  A line break always
# ends a sentence.
_STOP = patterns.compile(r"[.!?…]+[)\"'”’]*(?=\s|$)|[。！？．]+|\n+")
_ABBREVIATION = patterns.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|approx|no|inc|ltd|co|e\.g|i\.e|a\.m|p\.m"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|\b[a-z])\.$",
    patterns.IGNORECASE,
)
_WORD = patterns.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_FIGURE = patterns.compile(r"[^\W_]*\d[^\W_]*(?:[.,:/-]\d+)*%?")
_PIECE = patterns.compile(r"[A-Za-z]+|\d+|[^\W\d_]|\S", patterns.ASCII)
# Verbs after a person's name at the start of a sentence, where a capital letter proves nothing.
_DOES = frozenset(
    """
    lives lived works worked moved likes liked loves loved hates said says told went goes got wants wanted prefers
    joined left bought sold paid gave took made came called asked sent wrote lent borrowed cooked sang ran flew visited
    plays played met married teaches studies and has will
    """.split()  # noqa: SIM905  (a list of words reads best as words)
)
_DAYS_AND_MONTHS = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december
    """.split()  # noqa: SIM905
)


def sentences(text: str) -> list[str]:
    """The sentences in order, none blank, each an exact part of the text."""
    found, begin = [], 0
    for stop in _STOP.finditer(text):
        if stop[0] == "." and _ABBREVIATION.search(text[max(begin, stop.start() - 8) : stop.end()]):
            continue
        found.append(text[begin : stop.end()].strip())
        begin = stop.end()
    found.append(text[begin:].strip())
    return [one for one in found if one]


def count_tokens(text: str) -> int:
    """Estimated number of tokens of a language model's tokenizer, rather too high than too low.

    One token per six letters of a word and per three digits, rounded up, and one per other sign and non-ASCII letter.
    """
    count = 0
    for piece in _PIECE.findall(text):
        size = 6 if piece[0].isalpha() else 3 if piece[0].isdigit() else 1
        count += math.ceil(len(piece) / size)
    return count


def names(text: str) -> list[str]:
    """Named entities in order, without duplicates: runs of capitalised words, except days and months.

    A single capitalised word at the start of a sentence is a name only if a verb for persons follows.
    """
    return _each_once(map(_names_in, sentences(text)))


def _each_once(names_of_sentences: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for found in names_of_sentences for name in found))[:MOST_NAMES]


def _names_in(sentence: str) -> list[str]:
    found: dict[str, None] = {}
    for words, is_first, follower in _capitalised(sentence):
        name = " ".join(words)
        if is_first and len(words) == 1 and follower not in _DOES and not name[1:].isupper():
            continue
        found.setdefault(name.removesuffix("'s").removesuffix("’s"), None)
    return [name for name in found if name.casefold() not in _DAYS_AND_MONTHS]


def _capitalised(sentence: str) -> Iterable[tuple[list[str], bool, str]]:
    """(run of capitalised words, whether it begins the sentence, the next word)."""
    if sentence.islower():
        return
    words = [(match[0], *match.span()) for match in _WORD.finditer(sentence)]
    at = 0
    while at < len(words):
        word, _, end = words[at]
        is_first = at == 0
        if not word[0].isupper() or word.casefold() in STOP_WORDS or word in {"I", "I'm", "I've", "I'll", "I'd"}:
            at += 1
            continue
        run = [word]
        while at + 1 < len(words) and words[at + 1][0][0].isupper() and sentence[end : words[at + 1][1]] == " ":
            at += 1
            run.append(words[at][0])
            end = words[at][2]
        at += 1
        yield run, is_first, words[at][0].casefold() if at < len(words) else ""


def figures(text: str) -> list[str]:
    """Numbers, dates and times as written, in order, without duplicates."""
    return list(dict.fromkeys(_FIGURE.findall(text)))


def key_points(text: str) -> list[str]:
    """The few sentences with the most names and figures, in order; empty for a single sentence."""
    found = sentences(text)
    return _key_points(found, list(map(_names_in, found)))


def _key_points(found: Sequence[str], names_of_each: Sequence[Sequence[str]]) -> list[str]:
    if len(found) < 2:
        return []
    weights = [min(len(mine), MOST_NAMES) + len(figures(one)) for one, mine in zip(found, names_of_each, strict=True)]
    best = sorted(range(len(found)), key=lambda at: (-weights[at], at))[:MOST_POINTS]
    return [found[at] for at in sorted(best)]


def topics(key: str | None, tags: Sequence[str]) -> list[str]:
    """Topics of a memory from its canonical key and tags: ``user.allergy.nuts`` is about allergy and nuts."""
    parts = [part.replace("_", " ") for part in (key or "").split(".")[1:]]
    return list(dict.fromkeys(part for part in [*parts, *tags] if part))[:MOST_TOPICS]


def keeps_everything(summary: str, texts: Iterable[str]) -> bool:
    """Whether the summary contains each name, number, date and time of the texts."""
    told = summary.casefold()
    return all(one.casefold() in told for text in texts for one in (*names(text), *figures(text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDigest:
    """What is shown beside a text; ``tokens`` is an estimate, for a long text from its beginning."""

    key_points: Sequence[str]
    entities: Sequence[str]
    topics: Sequence[str]
    tokens: int


def digest_of(text: str, *, key: str | None, tags: Sequence[str]) -> TextDigest:
    """Digest of the first LOOKED_AT characters, so that listing long memories stays fast."""
    beginning = text[:LOOKED_AT]
    found = sentences(beginning)
    names_of_each = [*map(_names_in, found)]
    return TextDigest(
        key_points=_key_points(found, names_of_each),
        entities=_each_once(names_of_each),
        topics=topics(key, tags),
        tokens=round(count_tokens(beginning) * max(1.0, len(text) / LOOKED_AT)),
    )
