"""Filters on the values of state items, in the grammar of LangGraph's stores."""

from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_DEPTH: Final = 32

Filter = Mapping[str, Any]


def is_filter(candidate: Any, *, depth: int = 0) -> bool:
    """Whether an object is a filter: each operator in it is known, and operators and names are not mixed."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(candidate, list):
        return all(is_filter(one, depth=depth + 1) for one in candidate)
    if not isinstance(candidate, dict):
        return True
    operators = [name for name in candidate if name.startswith("$")]
    if operators:
        return depth > 0 and len(operators) == len(candidate) and OPERATORS.keys() >= candidate.keys()
    return all(is_filter(one, depth=depth + 1) for one in candidate.values())


def matches(value: Any, wanted: Any) -> bool:
    """Whether a value has what the filter asks for.  An absent field counts as null."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(OPERATORS[name](value, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(matches(value.get(name), other) for name, other in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(matches, value, wanted))
    return json_equal(value, wanted)


def json_equal(value: Any, other: Any) -> bool:
    """Equal as JSON: 1 equals 1.0, and not true."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """The comparison, of two numbers or two strings; nothing else has an order."""

    def holds(value: Any, other: Any) -> bool:
        kinds: tuple[Any, ...] = (str, int | float)
        alike = any(isinstance(value, kind) and isinstance(other, kind) for kind in kinds)
        return alike and not isinstance(value, bool) and not isinstance(other, bool) and compare(value, other)

    return holds


OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": json_equal,
    "$ne": lambda value, other: not json_equal(value, other),
    "$gt": _ordered(lambda value, other: value > other),
    "$gte": _ordered(lambda value, other: value >= other),
    "$lt": _ordered(lambda value, other: value < other),
    "$lte": _ordered(lambda value, other: value <= other),
}
