"""Phrase rules that assign a memory to one of the tenant's own types.  Pure functions.

A phrase is a sequence of words, in any case.  A word may end in ``*``, which stands for any ending, and ``#`` stands
for a number: ``prescrib*``, ``# mg``, ``must not``.  Nothing else is special, so that no phrase is slow to match.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from apps.core.errors import Invalid
from text import patterns

MOST_WORDS: Final = 64  # phrases of one rule
LONGEST_PHRASE: Final = 64  # characters
NUMBER: Final = r"\d+(?:[.,]\d+)?"


class BadTypeRule(Invalid):
    """A rule has at most 64 phrases of at most 64 characters each, or a key prefix."""

    code = "BAD_TYPE_RULE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseRule:
    """A memory of one of ``sources`` gets ``type`` if its text and key match.

    The text has one of ``words`` and none of ``unless``; the key begins with ``key_prefix``.  Empty conditions always
    hold.
    """

    name: str
    type: str
    sources: Sequence[str]
    words: Sequence[str] = ()
    unless: Sequence[str] = ()
    key_prefix: str = ""

    def fits(self, type_: str, key: str | None, text: str) -> bool:
        """Whether the rule matches.  text: in its original wording."""
        if type_ not in self.sources or not (key or "").startswith(self.key_prefix):
            return False
        folded = text.casefold().replace("’", "'")
        if self.words and not _compiled(tuple(self.words)).search(folded):
            return False
        return not (self.unless and _compiled(tuple(self.unless)).search(folded))

    def check(self) -> None:
        """Raises BadTypeRule if the rule is empty or exceeds the limits."""
        phrases = (*self.words, *self.unless)
        is_long = any(len(phrase) > LONGEST_PHRASE for phrase in (*phrases, self.key_prefix))
        is_empty = any(not patterns.search(r"[\w#]", phrase) for phrase in phrases)
        if is_long or is_empty or len(phrases) > MOST_WORDS or not (self.words or self.key_prefix):
            raise BadTypeRule


def phrases_pattern(phrases: Sequence[str], *, inside: bool = False) -> str:
    """The source of a pattern that finds any of the phrases in folded text.  inside: a word may begin before it."""
    return ("" if inside else r"(?<!\w)") + rf"(?:{'|'.join(map(_phrase, phrases))})(?!\w)"


@lru_cache(maxsize=256)
def _compiled(phrases: tuple[str, ...]) -> patterns.Pattern:
    return patterns.compile(phrases_pattern(phrases))


def _phrase(phrase: str) -> str:
    return r"\s+".join(_word(word) for word in phrase.casefold().replace("’", "'").split())


def _word(word: str) -> str:
    if word == "#":
        return NUMBER
    return patterns.escape(word[:-1]) + r"\w*" if word.endswith("*") else patterns.escape(word)
