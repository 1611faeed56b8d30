"""Guesses which attributes of which subjects a question is about, as claim keys: ("user.sister", "location").

A question yields at most a few dozen pairs, most of which match no claim.  They are looked up by their keyed forms, so
a wrong guess costs only an index lookup without a result.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from text import patterns
from text.predicates import canonical

MOST_PAIRS: Final = 96

_WORD: Final = patterns.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# Function words of questions.
_QUESTION_WORDS: Final = (
    "a am an and are as at be been by can could did do does for from had has have he her him his how i if in is it its "
    "long many me mine much my myself of old on or our she should tell than that the their them then there they this "
    "to us was we were what when where which who whom whose why will with would you your"
)
_EMPTY: Final = frozenset(_QUESTION_WORDS.split())
# Words that ask for an attribute.  Each name is the last part of a canonical key.
_ASKED_BY: Final = (
    (r"live[sd]?|living|located|based|home|reside[sd]?|moved?|where", ("location",)),
    (r"work(?:s|ed|ing)?|employ\w*|company|job", ("employer", "role")),
    (r"job|role|profession|occupation|title|living|position", ("role", "employer")),
    (r"allerg\w*", ("allergy", "condition")),
    (r"conditions?|diagnos\w*|illness|disease", ("condition",)),
    (r"medic\w*|pills?|drugs?|takes?|taking", ("medication",)),
    (r"name[sd]?|call(?:ed)?", ("name", "preferred_name")),
    (r"boss|managers?|manages?|reports?", ("reports_to", "managed_by", "manages")),
    (r"diet|eats?|vegetarian|vegan|food", ("diet",)),
    (r"stud(?:y|ies|ied|ying)|degree|major|university|college|school", ("studies", "school")),
    (r"speaks?|languages?", ("language",)),
    (r"old|age|born|birth\w*", ("age", "birthday", "birth_year")),
    (r"married|single|dating|relationship|engaged", ("relationship_status",)),
    (r"colleagues?|coworkers?|works?", ("works_with",)),
    (r"time ?zone", ("timezone",)),
    (r"phone|number", ("phone_number",)),
    (r"earns?|salary|paid", ("salary",)),
    (r"smok\w*", ("smoking",)),
)
_PROPERTIES: Final = tuple((patterns.compile(rf"\b(?:{words})\b"), names) for words, names in _ASKED_BY)
_OF_ME: Final = patterns.compile(r"\b(?:i|me|my|mine|myself|we|our|us)\b")
_MINE: Final = patterns.compile(r"\b(?:my|our) ([^\W\d_]+)")
_OF_ANOTHER: Final = patterns.compile(r"(?<=[^.!?] )([A-Z][^\W\d_]+)|^([A-Z][^\W\d_]+)['’]s\b")


def asked_claims(text: str) -> list[tuple[str, str]]:
    """Pairs (about, attribute) as in ``text.predicates``, most likely first, at most MOST_PAIRS."""
    properties = list(dict.fromkeys(_properties(text)))
    pairs = ((about, attribute) for attribute in properties for about in _subjects(text))
    return list(dict.fromkeys(pairs))[:MOST_PAIRS]


def _subjects(text: str) -> list[str]:
    lowered = text.casefold()
    others = [canonical(patterns.sub(r"['’]s$", "", one or other)) for one, other in _OF_ANOTHER.findall(text)]
    found = [f"user.{canonical(word)}" for word in _MINE.findall(lowered)]
    found += [word for word in others if word not in _EMPTY]
    if _OF_ME.search(lowered):
        found.append("user")
    return list(dict.fromkeys(found))[:6]


def _properties(text: str) -> Iterator[str]:
    lowered = text.casefold()
    for pattern, names in _PROPERTIES:
        if pattern.search(lowered):
            yield from names
    words = [patterns.sub(r"['’]s$", "", word) for word in _WORD.findall(lowered)]
    for one, other in pairwise(words):
        if one not in _EMPTY and other not in _EMPTY:
            yield canonical(f"{one} {other}")
    yield from (canonical(word) for word in words if word not in _EMPTY)
