"""Recognize statements that say the same of different things: "Invoice 12 is due in May", "Invoice 13 is due in June".

They share the first words, differ in a word or two, share a verb, and differ again: another subject with another value.
"""

from collections.abc import Sequence
from itertools import product
from typing import Final

from text import patterns
from text.sentences import all_clauses, fold, lower

_WORD: Final = patterns.compile(r"\w+(?:[-.:/]\w+)*")
_MOST_BEFORE: Final = 4  # words before the difference: "colleague number", "the meeting on"
_MOST_DIFFERENT: Final = 2  # words that tell the subjects apart
_VERBS: Final = frozenset(
    """
    is are was were am has have had will can must should needs need gets got goes went does did costs runs holds sits
    """.split()  # noqa: SIM905  (a list of words reads best as words)
)
_PRONOUNS: Final = frozenset("i we you he she they it there".split())  # noqa: SIM905
# "my old car" and "my new car" are one car at two times
_OF_TIME: Final = frozenset(
    "old new current previous former last latest first next this that today tomorrow yesterday now still".split()  # noqa: SIM905
)


def have_other_subjects(later: str, earlier: str) -> bool:
    """Whether two statements differ in their subjects and in what they say of them, and in nothing between.

    earlier: of one clause.  It looks at the first words only, each once.
    """
    plain = lower(fold(earlier))
    if len(all_clauses(plain)) != 1:
        return False
    one, other = _WORD.findall(plain), _WORD.findall(lower(fold(later)))
    begin = _shared(one, other)
    before = one[:begin]
    if not 0 < begin <= _MOST_BEFORE or not _PRONOUNS.isdisjoint(before) or any(map(_may_be_verb, before)):
        return False
    for mine, its in product(range(1, _MOST_DIFFERENT + 1), repeat=2):
        between = one[begin + mine :][: _shared(one[begin + mine :], other[begin + its :])]
        if between:
            told = {*one[begin : begin + mine], *other[begin : begin + its]}
            ends = len(one) == begin + mine + len(between) or len(other) == begin + its + len(between)
            return told.isdisjoint(_OF_TIME | _VERBS) and not ends and any(map(_may_be_verb, between[:2]))
    return False


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words they begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _may_be_verb(word: str) -> bool:
    """Whether it is a common verb, or has the ending of one: "arrives"."""
    return word in _VERBS or (len(word) > 3 and word.endswith("s") and not word.endswith("ss"))
