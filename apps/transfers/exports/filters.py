"""Filters of an export: which memories of an environment and project, and words to search for in them."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

from apps.core.errors import Invalid
from apps.core.plaintext import Plaintext
from apps.memories.models import Memory, MemoryQuerySet
from apps.memories.opened import OpenedMemory
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.transfers.models.exports import ExportReach

TIMES: Final = ("time_range", "date_from", "date_to")
_RANGE: Final = re.compile(r"([1-9][0-9]{0,2})([hdwy])", re.ASCII)
_UNITS: Final[Mapping[str, timedelta]] = {
    "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1), "y": timedelta(days=365),
}  # fmt: skip


class FiltersClash(Invalid):
    """These filters and this scope cannot be combined."""

    code = "EXPORT_FILTERS_CLASH"


class TimeRangeMalformed(Invalid):
    """A time range is a number and a unit: 24h, 7d, 4w or 1y."""

    code = "EXPORT_TIME_RANGE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFilters:
    """A memory must match every given filter.

    q: words that must all be in its text, summary, tags or source, in any order and case.  user_id: the tenant's own id
    for the end user; in its namespace, if one is given.  time_range: length of the period before the export was
    requested.  date_from, date_to: creation time, both inclusive.
    """

    q: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    is_summary: bool | None = None
    tier: str | None = None
    source: str | None = None
    time_range: str | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None
    include_soft_deleted: bool = False

    def to_json(self) -> dict[str, Any]:
        """The filters that were given."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        moments = {name: datetime.fromisoformat(said[name]) for name in ("date_from", "date_to") if name in said}
        return cls(**{**said, **moments})


def check(reach: ExportReach, filters: ExportFilters) -> None:
    """Check that the filters can be combined.  Raises FiltersClash or TimeRangeMalformed."""
    if filters.time_range is not None and not _RANGE.fullmatch(filters.time_range):
        raise TimeRangeMalformed
    given = {name for name in filters.to_json() if name != "include_soft_deleted"}
    if reach == ExportReach.ALL and given:
        raise FiltersClash("The scope all takes no filter but include_soft_deleted; with filters it is filtered.")
    if reach == ExportReach.DATE_RANGE and not given & set(TIMES):
        raise FiltersClash("The scope date_range needs date_from, date_to or time_range.")
    if filters.namespace is not None and filters.user_id is None:
        raise FiltersClash("namespace needs user_id: the profile in it.")
    if filters.time_range is not None and filters.date_from is not None:
        raise FiltersClash("Give time_range or date_from, not both.")
    if filters.date_from and filters.date_to and filters.date_from > filters.date_to:
        raise FiltersClash("date_from is after date_to.")


def matching(
    scope: Scope, filters: ExportFilters, *, space_id: int | None, asked_at: datetime, now: datetime
) -> MemoryQuerySet:
    """Memories of the scope's environment and project, of all end users, that match the filters on unencrypted columns.

    Not those of branches, which are temporary copies.  space_id: restrict to the space of one end user.
    """
    rows = Memory.objects.within_tenant(scope).in_project(scope).filter(environment=scope.environment)
    if space_id is not None:
        rows = rows.filter(space_id=space_id)
    else:
        rows = rows.exclude(space_id__in=Space.objects.within(scope).exclude(origin_uid=None).values("pk"))
    rows = _standing(rows, filters, now=now)
    if filters.is_summary is not None:
        rows = rows.filter(is_summary=filters.is_summary)
    if filters.tier is not None:
        rows = rows.filter(tier=filters.tier)
    if filters.source is not None:
        rows = rows.filter(source=filters.source)
    since = asked_at - _length(filters.time_range) if filters.time_range else filters.date_from
    if since is not None:
        rows = rows.filter(created_at__gte=since)
    if filters.date_to is not None:
        rows = rows.filter(created_at__lte=filters.date_to)
    return rows


def says(memory: OpenedMemory, q: str | None) -> bool:
    """Whether the memory's text, summary, tags or source contain all of these words."""
    if q is None:
        return True
    read = [memory.text, memory.summary or Plaintext(""), Plaintext(" ".join(memory.tags)), Plaintext(memory.source)]
    there = "\n".join(one.reveal() for one in read).casefold()
    return all(word in there for word in q.casefold().split())


def _standing(rows: MemoryQuerySet, filters: ExportFilters, *, now: datetime) -> MemoryQuerySet:
    if filters.include_soft_deleted:
        return rows.filter(retention_status__in=("active", "archived", "soft_deleted"))
    return rows.existing(now)


def _length(time_range: str) -> timedelta:
    found = _RANGE.fullmatch(time_range)
    if found is None:
        raise TimeRangeMalformed
    return int(found[1]) * _UNITS[found[2]]
