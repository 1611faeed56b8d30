"""The word overlap of a query and a text, for items without an embedding."""

import unicodedata
from typing import Final

from apps.core.plaintext import Plaintext
from text import patterns

_WORD: Final = patterns.compile(r"[^\W_]+")
# Scripts written without spaces: a run of them is compared by pairs of characters.
_UNSPACED: Final = patterns.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿฀-๿]+")


def overlap(query: Plaintext, text: Plaintext) -> float:
    """The share of the query's words, each counted once, that are words of the text: 0 to 1."""
    asked = _words(query.reveal())
    return len(asked & _words(text.reveal())) / len(asked) if asked else 0.0


def _words(text: str) -> set[str]:
    found: set[str] = set()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        runs = _UNSPACED.findall(word)
        found.update(run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1)))
        found.update(filter(None, _UNSPACED.split(word)))
    return found
