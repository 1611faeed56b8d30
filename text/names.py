"""Names as they are compared: what makes two of them the same, and how alike two others are."""

import unicodedata
from collections.abc import Iterator
from typing import Final

from text import patterns

ALIKE: Final = 0.85  # trigram Jaccard from which two names are one (seed 003)
ALIKE_ENOUGH_TO_LOOK: Final = 0.5  # from here on a person should look
SHORTEST_ALIKE: Final = 8  # characters: in a shorter name one letter is more than the threshold allows

_WORD: Final = patterns.compile(r"[^\W_]+(?:[+#]+)?")
_POSSESSIVE: Final = patterns.compile(r"['’]s?(?=\s|$)")
_ARTICLES: Final = frozenset({"the", "a", "an"})
_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "herr", "frau", "mx"})
_PARTICLES: Final = frozenset({"van", "von", "de", "der", "den", "la", "le", "da", "di", "del", "bin", "al", "ter"})


def normalised(name: str) -> str:
    """By which an alias is known: folded, no accents, articles, titles or marks; one blank between words."""
    words = _WORD.findall(_folded(_POSSESSIVE.sub("", name.strip())))
    while len(words) > 1 and (words[0] in _ARTICLES or words[0] in _TITLES):
        words = words[1:]
    return " ".join(words)


def _folded(text: str) -> str:
    if text.isascii():  # most are, and then there are no accents to look for
        return text.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if not unicodedata.combining(c))


def is_full(name: str) -> bool:
    """Whether a person's name, normalised, has a surname beside a first name that is spelled out."""
    words = name.split()
    return len(words) > 1 and len(words[0]) > 1


def short_forms(name: str) -> Iterator[str]:
    """Of a person's full name, normalised: the first name, and the surname behind an initial."""
    words = name.split()
    if is_full(name):
        yield words[0]
        yield f"{words[0][0]} {' '.join(words[1:])}"


def may_be_one(one: str, other: str) -> bool:
    """Whether two names of persons, normalised, can be the same person's: none says what the other denies."""
    first, second = one.split(), other.split()
    if not (first[0] == second[0] or (first[0][:1] == second[0][:1] and 1 in (len(first[0]), len(second[0])))):
        return False
    surnames = [[word for word in words[1:] if word not in _PARTICLES] for words in (first, second)]
    return not all(surnames) or surnames[0][-1] == surnames[1][-1]


def trigrams(name: str) -> frozenset[str]:
    """Of a normalised name: each word with two blanks before and one behind it, in threes; the order is no matter."""
    return frozenset(
        padded[at : at + 3] for word in name.split() for padded in (f"  {word} ",) for at in range(len(padded) - 2)
    )


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard of trigrams, 0 to 1."""
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0


def slug(name: str) -> str:
    """``e_priya_sharma``: to be shown, never to be looked up by."""
    return f"e_{normalised(name).replace(' ', '_')[:60] or 'unnamed'}"
