"""Finds values of a type's fields in a text, by the field's own words.  Pure functions, in linear time.

A hint introduces a value, which stands before the next hint of any field; a text also ends with its clause, and before
a number with a unit and a value of a choice.  Without hints a choice is found where the text names exactly one of its
values, and a number, or a text with units, where the text has exactly one such quantity.  A date needs a hint.  A
boolean is not guessed.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from apps.memories.phrase_rules import NUMBER, phrases_pattern
from apps.memories.type_fields import TypeField
from text import dates, patterns
from text.sentences import fold, lower, sentences

MOST_READ: Final = 10_000  # characters of a text
LONGEST_FOUND: Final = 120  # characters of a value

_CLAUSE_END: Final = r"[;:,()\n]|\b(?:and|but|or|because|while|which|who|that|so)\b"
_FREE: Final = r"(?<![\w.,])"  # before a number
_FIRST_NUMBER: Final = patterns.compile(rf"{_FREE}{NUMBER}(?!\w)")
_EDGES: Final = " \t.!?'\"-"


@dataclass(frozen=True, slots=True)
class _Compiled:
    """Patterns of a type's fields.  any_hint: None without hints.  By name of a field: hints, quantities, choices."""

    ends: patterns.Pattern
    any_hint: patterns.Pattern | None
    hints: dict[str, patterns.Pattern]
    quantities: dict[str, patterns.Pattern]
    choices: dict[str, patterns.Pattern]


class _Place(NamedTuple):
    """Where a value may be: in [start, end), a text in [start, text_end).  hint: where its hint begins."""

    start: int
    end: int
    text_end: int
    hint: int


def find_values(fields: Sequence[TypeField], text: str, *, now: datetime) -> dict[str, Any]:
    """The values that the text has, by name; each fits its field.  now: when it was said."""
    if not fields:
        return {}
    text = text[:MOST_READ]
    plain = fold(text)
    low = lower(plain)
    compiled = _compiled(tuple(fields))
    places = _places(compiled, plain, low)
    found: dict[str, Any] = {}
    for one in fields:
        near = places.get(one.name, ()) if one.hints else (_Place(0, len(text), 0, 0),)
        values = (_value(one, compiled, text, low, place, now) for place in near)
        value = next((value for value in values if value is not None), None)
        if value is not None:
            found[one.name] = value
    return found


def _places(compiled: _Compiled, plain: str, low: str) -> dict[str, list[_Place]]:
    """Behind each hint, by field, in the order of the text."""
    found: dict[str, list[_Place]] = {name: [] for name in compiled.hints}
    if compiled.any_hint is None:
        return found
    for start, end in sentences(plain):
        text_ends = [match.start() for match in compiled.ends.finditer(low, start, end)]
        ends = [match.start() for match in compiled.any_hint.finditer(low, start, end)]
        for name, hints in compiled.hints.items():
            for match in hints.finditer(low, start, end):
                at = match.end()
                until = _next(ends, at, end)
                found[name].append(_Place(at, until, min(_next(text_ends, at, end), until), match.start()))
    return found


def _next(ends: Sequence[int], at: int, last: int) -> int:
    place = bisect_left(ends, at)
    return min(ends[place] if place < len(ends) else last, at + LONGEST_FOUND)


def _value(one: TypeField, compiled: _Compiled, text: str, low: str, place: _Place, now: datetime) -> Any:
    """The field's value at this place, or None."""
    if one.kind == "choice":
        found = compiled.choices[one.name].finditer(low, place.start, place.end)
        named = {" ".join(match[0].split()) for match in found}
        return next((value for value in one.values if {_folded(value)} == named), None)
    if one.units:
        found = compiled.quantities[one.name].finditer(low, place.start, place.end)
        values = [
            _number(match["number"]) if one.kind == "number" else " ".join(text[slice(*match.span())].split())
            for match in found
        ]
        return values[0] if values and (one.hints or len(set(values)) == 1) else None
    if not one.hints:
        return None
    if one.kind == "date":
        when = dates.find(low[place.hint : place.end], now)
        return when.at.date().isoformat() if when and when.at and when.precision in ("day", "exact") else None
    if one.kind == "number":
        number = _FIRST_NUMBER.search(low, place.start, place.end)
        return _number(number[0]) if number else None
    return " ".join(text[place.start : place.text_end].split()).strip(_EDGES) or None if one.kind == "text" else None


def _number(written: str) -> float:
    """2 and 2.5; 2,5 as well, and 1,000 as one thousand."""
    whole, comma, rest = written.partition(",")
    value = float(whole + rest if len(rest) == 3 else f"{whole}.{rest}" if comma else written)
    return int(value) if value.is_integer() else value


def _folded(value: str) -> str:
    return " ".join(lower(fold(value)).split())


@lru_cache(maxsize=128)
def _compiled(fields: tuple[TypeField, ...]) -> _Compiled:
    hints = [hint for one in fields for hint in one.hints]
    units = [unit for one in fields for unit in one.units]
    values = [value for one in fields for value in one.values]
    ends = [
        _CLAUSE_END,
        *([phrases_pattern(hints)] if hints else []),
        *([_quantities(units)] if units else []),
        *([_choices(values)] if values else []),
    ]
    return _Compiled(
        ends=patterns.compile("|".join(ends)),
        any_hint=patterns.compile(phrases_pattern(hints)) if hints else None,
        hints={one.name: patterns.compile(phrases_pattern(one.hints)) for one in fields if one.hints},
        quantities={one.name: patterns.compile(_quantities(one.units, "?P<number>")) for one in fields if one.units},
        choices={one.name: patterns.compile(_choices(one.values)) for one in fields if one.values},
    )


def _quantities(units: Sequence[str], group: str = "?:") -> str:
    return rf"{_FREE}({group}{NUMBER})\s*{phrases_pattern(units, inside=True)}"


def _choices(values: Sequence[str]) -> str:
    longest_first = sorted((_folded(value) for value in values), key=len, reverse=True)
    alternatives = (r"\s+".join(map(patterns.escape, value.split())) for value in longest_first)
    return rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)"
