"""Display names of the retention rules, their values and the retention steps."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from apps.memories.lifetimes import COUNTED, Rule
from apps.memories.opened import OpenedMemory
from apps.policies.retention import DEFAULT, KEEP, AgeFrom, Level

# For each rule: title, unit of its value, and explanation.
TITLES: Final[Mapping[str, tuple[str, str, str]]] = {
    "active_days": ("Active for", "days", "in recall; pinned memories and constraints are exempt"),
    "active_from": ("Counted from", "word", "the day on which these days begin"),
    "archive_days": ("Archived after that for", "days", "out of recall, readable by ID; 0 archives nothing"),
    "grace_days": ("Recoverable for", "days", "after deletion, until it is gone for good"),
    "task_ttl_seconds": ("Tasks last at most", "seconds", "whatever the caller asked for"),
    "event_max_age_seconds": ("Events last at most", "seconds", "from when they were stored"),
    "superseded_max_age_seconds": ("Replaced values last", "seconds", "from when they were replaced"),
    "superseded_max_count": ("Replaced values per fact", "count", "the newest are kept"),
}
UNITS: Final[Mapping[str, int]] = {"days": 86_400, "hours": 3_600, "minutes": 60}
FROM: Final[Mapping[int, str]] = {AgeFrom.USED: "last said or recalled", AgeFrom.STORED: "stored"}
SET_BY: Final[Mapping[str, str]] = {
    DEFAULT: "the default",
    Level.TENANT: "set for the tenant",
    Level.PROJECT: "set for the project",
    Level.NAMESPACE: "set for the namespace",
    Level.SPACE: "set for the end user",
}
STEPS: Final = {
    "archived": ("archived", "out of recall, still readable by ID"),
    "soft_deleted": ("deleted", "out of every answer, can be restored"),
    "purged": ("permanently deleted", ""),
}
BY: Final = {
    "ttl": "its own time limit",
    "grace": "no longer recoverable",
    COUNTED: "newer values of the same fact",
}


def amount(rule: str, value: int | None) -> str:
    """A rule's value, formatted for a user."""
    if value is None or value == KEEP:
        return "for good" if rule == "active_days" else "no limit"
    unit = TITLES.get(rule, ("", "days", ""))[1]
    if unit == "word":
        return FROM[value]
    if unit == "count":
        return f"{value:,}"
    if unit == "days":
        return _plural(value, "days")
    for name, seconds in UNITS.items():
        if value % seconds == 0:
            return _plural(value // seconds, name)
    return f"{value:,} seconds"


def why_kept(memory: OpenedMemory, ends_by: Rule | None, ages_from: datetime) -> str:
    """Why a memory is kept until its end, or for good."""
    if ends_by is None:
        exempt = "pinned" if memory.pinned else "a constraint" if memory.type == "constraint" else ""
        return f"{exempt}: exempt from age" if exempt else "no rule limits its age"
    if ends_by.name != "active_days":
        return BY.get(ends_by.name) or f"{TITLES[ends_by.name][0].lower()} {amount(ends_by.name, ends_by.value)}"
    lasts = amount(ends_by.name, ends_by.value)
    if ends_by.is_from_stored or ages_from == memory.created_at:
        return f"{lasts} after it was stored{'' if ends_by.is_from_stored else '; each use renews that'}"
    return f"{lasts} after it was last used, {ages_from:%-d %b %Y}"


def called(level: str) -> str:
    """Display name of a level: a space is shown as an end user."""
    return "end user" if level == Level.SPACE else level


def _plural(number: int, unit: str) -> str:
    return f"{number:,} {unit[:-1] if number == 1 else unit}"
