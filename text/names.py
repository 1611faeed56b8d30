"""Comparison of names: normalised forms, and the similarity of different names."""

import unicodedata
from collections.abc import Iterator
from typing import Final

from text import patterns

ALIKE: Final = 0.85  # trigram Jaccard from which two names are the same (seed 003)
ALIKE_ENOUGH_TO_LOOK: Final = 0.5  # from here on a person should review the pair
SHORTEST_ALIKE: Final = 8  # characters: in a shorter name one letter exceeds the threshold

_WORD: Final = patterns.compile(r"[^\W_]+(?:[+#]+)?")
_POSSESSIVE: Final = patterns.compile(r"['’]s?(?=\s|$)")
_ARTICLES: Final = frozenset({"the", "a", "an"})
_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "herr", "frau", "mx"})
_PARTICLES: Final = frozenset({"van", "von", "de", "der", "den", "la", "le", "da", "di", "del", "bin", "al", "ter"})


def normalised(name: str) -> str:
    """The lookup form of an alias: case-folded, without accents, articles, titles and punctuation, single blanks."""
    words = _WORD.findall(_folded(_POSSESSIVE.sub("", name.strip())))
    while len(words) > 1 and (words[0] in _ARTICLES or words[0] in _TITLES):
        words = words[1:]
    return " ".join(words)


def _folded(text: str) -> str:
    if text.isascii():  # the most common case: no accents to remove
        return text.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if not unicodedata.combining(c))


def is_full(name: str) -> bool:
    """Whether a person's normalised name has a surname and a first name that is spelled out."""
    words = name.split()
    return len(words) > 1 and len(words[0]) > 1


def short_forms(name: str) -> Iterator[str]:
    """Short forms of a normalised full name: the first name, and the initial with the surname."""
    words = name.split()
    if is_full(name):
        yield words[0]
        yield f"{words[0][0]} {' '.join(words[1:])}"


def may_be_one(one: str, other: str) -> bool:
    """Whether two normalised names can be the same person's, because no part contradicts the other."""
    first, second = one.split(), other.split()
    if not (first[0] == second[0] or (first[0][:1] == second[0][:1] and 1 in (len(first[0]), len(second[0])))):
        return False
    surnames = [[word for word in words[1:] if word not in _PARTICLES] for words in (first, second)]
    return not all(surnames) or surnames[0][-1] == surnames[1][-1]


def trigrams(name: str) -> frozenset[str]:
    """Trigrams of a normalised name, whose words get two blanks before and one after; word order does not matter."""
    return frozenset(
        padded[at : at + 3] for word in name.split() for padded in (f"  {word} ",) for at in range(len(padded) - 2)
    )


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity of trigrams, 0 to 1."""
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0


def slug(name: str) -> str:
    """``e_priya_sharma``: for display, never for lookups."""
    return f"e_{normalised(name).replace(' ', '_')[:60] or 'unnamed'}"
