"""Fields of a tenant's own types: their definitions, and the check of values.  Pure functions.

A definition is the operator's vocabulary, stored in clear with the type.  Values belong to a memory and are encrypted
with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Final

from apps.core.errors import Invalid
from text import patterns

KINDS: Final = ("text", "number", "boolean", "date", "choice")
MOST_FIELDS: Final = 16
MOST_CHOICES: Final = 32
MOST_HINTS: Final = 32  # and as many units
LONGEST_WORD: Final = 64  # characters of a choice, a hint or a unit
LONGEST_DESCRIPTION: Final = 256
LONGEST_TEXT: Final = 1_000  # characters of a value
MOST_NUMBER: Final = 2**53  # every integer up to it is exact in JSON

_NAME: Final = patterns.compile(r"[a-z][a-z0-9_]{0,31}")
_DATE: Final = patterns.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class BadTypeFields(Invalid):
    """A type has at most 16 fields, each with a name, a kind and what the kind needs."""

    code = "BAD_TYPE_FIELDS"


class BadFieldValues(Invalid):
    """The values do not fit the fields of the memory's type; `details` names each."""

    code = "BAD_FIELD_VALUES"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeField:
    """One field.  required: values without it are refused.  values: of a choice.

    hints: phrases before the value in a text.  units: words behind its number.  Both are phrases as in a rule.
    """

    name: str
    kind: str
    required: bool = False
    description: str = ""
    values: Sequence[str] = ()
    hints: Sequence[str] = ()
    units: Sequence[str] = ()

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> "TypeField":
        """A field from its JSON.  Raises BadTypeFields for another shape; ``check_fields`` checks the rest."""
        unknown = sorted(raw.keys() - cls.__dataclass_fields__.keys())
        given = {name: value for name, value in raw.items() if value is not None}
        if unknown or not {"name", "kind"} <= given.keys():
            raise BadTypeFields(f"a field has a name, a kind and at most: {', '.join(cls.__dataclass_fields__)}")
        for name in ("values", "hints", "units"):
            words = given.get(name, ())
            if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
                raise BadTypeFields(f"{name} of a field are a list of strings")
            given[name] = tuple(words)
        return cls(**given)

    def describe(self) -> dict[str, Any]:
        """The field as JSON, as ``read`` accepts it."""
        return asdict(self) | {"values": list(self.values), "hints": list(self.hints), "units": list(self.units)}


def check_fields(fields: Sequence[TypeField]) -> None:
    """Raises BadTypeFields, whose message names the field and the problem."""
    if len(fields) > MOST_FIELDS:
        raise BadTypeFields(f"a type has at most {MOST_FIELDS} fields")
    seen: set[str] = set()
    for one in fields:
        if not isinstance(one.name, str) or not _NAME.fullmatch(one.name):
            raise BadTypeFields("the name of a field is [a-z][a-z0-9_]{0,31}")
        if problem := "is defined twice" if one.name in seen else _problem_of(one):
            raise BadTypeFields(f"{one.name}: {problem}")
        seen.add(one.name)


def check_values(fields: Sequence[TypeField], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they are stored, in the order of the fields; null is the same as absent, and {} is always allowed.

    Raises BadFieldValues, which names each value at fault and quotes none.
    """
    given = {name: value for name, value in values.items() if value is not None}
    known = {one.name: one for one in fields}
    problems = {name: _unknown(known) for name in given if name not in known}
    for name, one in known.items():
        if name in given:
            problem = _problem_of_value(one, given[name])
        else:
            problem = "is required" if one.required and given else ""
        if problem:
            problems[name] = problem
    if problems:
        named = {name if _NAME.fullmatch(name) else f"({len(name)} characters)": why for name, why in problems.items()}
        first, why = next(iter(named.items()))
        details = [{"loc": ["body", "fields", name], "msg": why, "type": "field_value"} for name, why in named.items()]
        raise BadFieldValues(f"fields.{first}: {why}", details=details[:MOST_FIELDS])
    return {name: given[name] for name in known if name in given}


def fitting(fields: Sequence[TypeField], *sources: Mapping[str, Any]) -> dict[str, Any]:
    """Of each field the first value that fits it; none at all if a required one is missing."""
    given = ((one, source.get(one.name)) for source in reversed(sources) for one in fields)
    known = {one.name: value for one, value in given if _fits(one, value)}
    fit = {one.name: known[one.name] for one in fields if one.name in known}
    return {} if any(one.required and one.name not in fit for one in fields) else fit


def _fits(one: TypeField, value: object) -> bool:
    return value is not None and not _problem_of_value(one, value)


def _problem_of(one: TypeField) -> str:
    """What is wrong with a definition; empty if nothing."""
    if one.kind not in KINDS:
        return f"its kind is one of: {', '.join(KINDS)}"
    if not isinstance(one.required, bool):
        return "required is true or false"
    if not isinstance(one.description, str) or len(one.description) > LONGEST_DESCRIPTION:
        return f"its description has at most {LONGEST_DESCRIPTION} characters"
    if bool(one.values) != (one.kind == "choice"):
        return "values belong to a choice, which has at least one"
    if len(one.values) > MOST_CHOICES or len(set(map(str.casefold, one.values))) < len(one.values):
        return f"it has at most {MOST_CHOICES} values, each once"
    if one.units and one.kind not in ("text", "number"):
        return "units belong to a text or a number"
    if len(one.hints) > MOST_HINTS or len(one.units) > MOST_HINTS:
        return f"it has at most {MOST_HINTS} hints and as many units"
    words = (*one.values, *one.hints, *one.units)
    if any(len(word) > LONGEST_WORD or not patterns.search(r"[\w#%]", word) for word in words):
        return f"each value, hint and unit has a letter or digit and at most {LONGEST_WORD} characters"
    return ""


def _problem_of_value(one: TypeField, value: object) -> str:
    """What is wrong with a value; empty if nothing.  Python treats true as 1: a flag is no number."""
    if one.kind == "text":
        is_text = isinstance(value, str) and value.strip() != "" and len(value) <= LONGEST_TEXT
        return "" if is_text else f"must be a text of at most {LONGEST_TEXT} characters that is not blank"
    if one.kind == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST_NUMBER
        return "" if is_number else "must be a number between -2^53 and 2^53"
    if one.kind == "boolean":
        return "" if isinstance(value, bool) else "must be true or false"
    if one.kind == "date":
        return "" if isinstance(value, str) and _is_date(value) else "must be a date such as 2026-05-05"
    return "" if value in one.values else f"must be one of: {', '.join(one.values)}"


def _is_date(value: str) -> bool:
    try:
        return bool(_DATE.fullmatch(value) and date.fromisoformat(value))
    except ValueError:
        return False


def _unknown(known: Mapping[str, TypeField]) -> str:
    return f"unknown field; there are: {', '.join(known)}" if known else "unknown field; its type has none"
