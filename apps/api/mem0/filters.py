"""The filter language of mem0's clients: conditions, ``AND``, ``OR`` and ``NOT``, nested.

    {"AND": [{"user_id": "ana"}, {"OR": [{"categories": {"contains": "food"}}, {"created_at": {"gte": "2026-01-01"}}]}]}

Several keys of one object are ANDed, as are several operators of one key.  Anything else is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from apps.api.fields import DATE, is_number, read_moment
from apps.api.unknown import unknown_names
from apps.core.errors import Malformed
from apps.history.state_filters import json_equal

IDS: Final = ("user_id", "agent_id", "app_id", "run_id")
TIMES: Final = ("created_at", "updated_at", "timestamp", "expiration_date")
KEYWORDS: Final = ("keywords", "keywords_search")
JOINS: Final = ("AND", "OR", "NOT")
ANY: Final = "*"  # any ID that is not null
OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(IDS, ("eq", "ne", "in")),
    **dict.fromkeys(TIMES, ("gt", "gte", "lt", "lte", "eq", "ne", "in")),
    **dict.fromkeys(KEYWORDS, ("contains", "icontains")),
    "text": ("eq", "ne", "contains", "icontains"),
    "categories": ("in", "contains"),
    "metadata": ("eq", "ne", "contains"),
    "memory_ids": ("in",),
}
BARE: Final[Mapping[str, str]] = {  # the operator of a value without one
    **dict.fromkeys((*IDS, *TIMES, "text", "metadata"), "eq"),
    **dict.fromkeys(KEYWORDS, "icontains"),
    "categories": "contains",
    "memory_ids": "in",
}
MOST_CONDITIONS: Final = 100
MOST_VALUES: Final = 100  # of a list; of memory_ids, ten times as many
DEEPEST: Final = 10
MAX_VALUE: Final = 10_000  # characters
LATEST: Final = 253_402_300_799  # seconds since 1970: the last of the year 9999


class FilterMalformed(Malformed):
    """The filters are not as mem0's filter language has them."""

    code = "FILTER_MALFORMED"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """What filters may ask of a memory.  id: its ID on the wire."""

    id: str
    text: str
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None
    created_at: datetime
    updated_at: datetime
    timestamp: datetime
    expiration_date: datetime | None
    categories: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """value: as ``_read_value`` returns it."""

    key: str
    operator: str
    value: Any

    def accepts(self, memory: MemoryFacts) -> bool:
        if self.key in IDS:
            return _accepts_id(self.operator, getattr(memory, self.key), self.value)
        if self.key in TIMES:
            return _accepts_time(self.operator, getattr(memory, self.key), self.value)
        if self.key == "categories":
            return not {*self.value}.isdisjoint(memory.categories)
        if self.key == "metadata":
            return _accepts_metadata(self.operator, memory.metadata, self.value)
        if self.key == "memory_ids":
            return memory.id in self.value
        return _accepts_text(self.operator, memory.text, self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """join: AND, OR, or NOT, which accepts what none of the parts accepts."""

    join: str
    parts: "Sequence[Expression]"

    def accepts(self, memory: MemoryFacts) -> bool:
        found = (part.accepts(memory) for part in self.parts)
        return all(found) if self.join == "AND" else any(found) if self.join == "OR" else not any(found)


Expression = Condition | Join


def read_filters(data: Any) -> Expression:
    """The filters of a request.  Raises FilterMalformed."""
    count = [0]
    return _read(data, 1, count)


def both(*parts: Expression | None) -> Join:
    """All of these; None asks nothing."""
    return Join(join="AND", parts=[part for part in parts if part is not None])


# --- owners -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """Whose memories can match at all.  users, agents: by name; ANY for all.  shared: those of the project."""

    users: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    shared: bool = False

    def __or__(self, other: "Owners") -> "Owners":
        return Owners(
            users=self.users | other.users, agents=self.agents | other.agents, shared=self.shared or other.shared
        )


def owners_of(expression: Expression) -> Owners | None:
    """Whose memories the expression can accept; None if it names nobody.

    A memory of an end user has that user's ID, whatever else it has; one of an agent has that agent's and no user's.
    So of several conditions that all hold, one on a user decides, else one on an agent.
    """
    if isinstance(expression, Condition):
        return _named(expression)
    found = [owners_of(part) for part in expression.parts]
    named = [one for one in found if one is not None]
    if expression.join == "NOT" or not named or (expression.join == "OR" and len(named) < len(found)):
        return None
    if expression.join == "OR":
        together = Owners()
        for one in named:
            together |= one
        return together
    return min(named, key=_reach)


def narrows(expression: Expression) -> bool:
    """Whether it asks more than whose memories: then not all memories of its owners are accepted."""
    if isinstance(expression, Condition):
        return expression.key not in ("user_id", "agent_id") or expression.operator == "ne"
    return (len(expression.parts) > 1 and expression.join != "OR") or any(narrows(part) for part in expression.parts)


def _named(one: Condition) -> Owners | None:
    if one.key not in IDS or one.operator == "ne":
        return None
    names = frozenset(one.value)
    if one.key == "user_id":
        return Owners(users=names)
    return Owners(agents=names) if one.key == "agent_id" else Owners(shared=True)


def _reach(owners: Owners) -> tuple[bool, bool, bool, int]:
    """Orders alternatives: named users before all of them, before agents, before the project."""
    is_open = ANY in owners.users | owners.agents
    return owners.shared, bool(owners.agents), is_open, len(owners.users | owners.agents)


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(data: Any, depth: int, count: list[int]) -> Expression:
    if not isinstance(data, Mapping) or not data:
        raise FilterMalformed("filters: give an object with at least one condition.")
    if depth > DEEPEST:
        raise FilterMalformed(f"filters: nest them at most {DEEPEST} deep.")
    parts: list[Expression] = []
    for key, value in data.items():
        if key in JOINS:
            parts.append(Join(join=key, parts=_read_parts(key, value, depth, count)))
        elif key in OPERATORS:
            parts += _read_conditions(key, value)
        else:
            ((name, hint),) = unknown_names([str(key)], [*JOINS, *OPERATORS], kind="filter").items()
            raise FilterMalformed(f"filters.{name}: {hint}")
        count[0] += 1
        if count[0] > MOST_CONDITIONS:
            raise FilterMalformed(f"filters: give at most {MOST_CONDITIONS} conditions.")
    return parts[0] if len(parts) == 1 else Join(join="AND", parts=parts)


def _read_parts(join: str, value: Any, depth: int, count: list[int]) -> list[Expression]:
    if join == "NOT" and isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list) or not value:
        raise FilterMalformed(f"filters.{join}: give a list of at least one object.")
    return [_read(part, depth + 1, count) for part in value]


def _read_conditions(key: str, value: Any) -> list[Expression]:
    """A bare value, or an object of operators.  Metadata are objects themselves: with one operator alone."""
    known = OPERATORS[key]
    is_operators = isinstance(value, Mapping) and (key != "metadata" or (len(value) == 1 and {*value} <= {*known}))
    if not is_operators:
        return [Condition(key=key, operator=BARE[key], value=_read_value(key, BARE[key], value))]
    if not value:
        raise FilterMalformed(f"filters.{key}: give an operator: {', '.join(known)}.")
    if any(operator not in known for operator in value):
        raise FilterMalformed(f"filters.{key}: the operators are {', '.join(known)}.")
    return [Condition(key=key, operator=name, value=_read_value(key, name, one)) for name, one in value.items()]


def _read_value(key: str, operator: str, value: Any) -> Any:
    """Of IDs, categories and memory_ids a tuple of strings; of times of (first, last) moments; else the value."""
    at = f"filters.{key}"
    if key == "metadata":
        if not isinstance(value, Mapping) or not value:
            raise FilterMalformed(f"{at}: give an object with at least one name.")
        return value
    takes_list = operator == "in" or (key == "categories" and isinstance(value, list))
    if takes_list:
        most = MOST_VALUES * (10 if key == "memory_ids" else 1)
        if not isinstance(value, list) or not 0 < len(value) <= most:
            raise FilterMalformed(f"{at}: give a list of 1 to {most} values.")
    values = value if takes_list else [value]
    if key in TIMES:
        return tuple(_read_time(at, one) for one in values)
    if not all(isinstance(one, str) and 0 < len(one) <= MAX_VALUE for one in values):
        raise FilterMalformed(f"{at}: give a string that is not empty{', or a list of them' if takes_list else ''}.")
    return tuple(values) if key in (*IDS, "categories", "memory_ids") else values[0]


def _read_time(at: str, value: Any) -> tuple[datetime, datetime]:
    """The first and the last moment of what is named: a day, or one moment."""
    if is_number(value) and 0 <= value <= LATEST:
        moment = datetime.fromtimestamp(value, UTC)
        return moment, moment
    begin, end = read_moment(value), read_moment(value, is_end=True)
    if begin is None or end is None:
        raise FilterMalformed(f"{at}: give a day or a time in ISO 8601, or seconds since 1970.")
    return begin, end


# --- matching ---------------------------------------------------------------------------------------------------------


def _accepts_id(operator: str, named: str | None, values: Sequence[str]) -> bool:
    is_one = named is not None and (named in values or ANY in values)
    return not is_one if operator == "ne" else is_one


_COMPARED: Final[Mapping[str, Callable[[datetime, datetime, datetime], bool]]] = {
    "gt": lambda at, first, last: at > last,
    "gte": lambda at, first, last: at >= first,
    "lt": lambda at, first, last: at < first,
    "lte": lambda at, first, last: at <= last,
    "eq": lambda at, first, last: first <= at <= last,
    "in": lambda at, first, last: first <= at <= last,
    "ne": lambda at, first, last: not first <= at <= last,
}


def _accepts_time(operator: str, at: datetime | None, values: Sequence[tuple[datetime, datetime]]) -> bool:
    if at is None:
        return operator == "ne"
    return any(_COMPARED[operator](at, first, last) for first, last in values)


def _accepts_metadata(operator: str, metadata: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    if operator == "contains":
        return all(name in metadata and _contains(metadata[name], value) for name, value in asked.items())
    is_so = all(name in metadata and json_equal(metadata[name], value) for name, value in asked.items())
    return not is_so if operator == "ne" else is_so


def _contains(held: Any, value: Any) -> bool:
    if isinstance(held, str) and isinstance(value, str):
        return value in held
    return any(json_equal(one, value) for one in held) if isinstance(held, list) else json_equal(held, value)


def _accepts_text(operator: str, text: str, asked: str) -> bool:
    if operator == "icontains":
        return asked.casefold() in text.casefold()
    if operator == "contains":
        return asked in text
    return (text == asked) == (operator == "eq")


def end_of_day(day: str) -> datetime | None:
    """The first moment after a day as YYYY-MM-DD; None for any other string."""
    if not DATE.fullmatch(day):
        return None
    try:
        return datetime.combine(date.fromisoformat(day) + timedelta(days=1), time.min, UTC)
    except (ValueError, OverflowError):
        return None
