"""Finds memories by time: when the described event happened, or else when it was stated."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from apps.core.queries import fetch_all, fetch_column
from apps.projects.scope import Scope, SpaceRef

# The index ``memory_said_at`` is on this expression.  The index ``memory_stretch`` finds events that begin before the
# window; it contains only memories with a range.
_SAID_AT: Final = "coalesce(memory.event_at, memory.created_at)"
_OF_A_TIME: Final = """
select found.id, asked.worth
from unnest(%s::timestamptz[], %s::timestamptz[], %s::float8[]) asked(since, until, worth)
cross join lateral (
    (select memory.id from memories_memory memory
      where memory.tenant_id = %s and memory.space_id = %s
        and coalesce(memory.event_at, memory.created_at) >= asked.since
        and coalesce(memory.event_at, memory.created_at) < asked.until
        and memory.retention_status = 'active' and (memory.expires_at is null or memory.expires_at > %s) {where}
      order by coalesce(memory.event_at, memory.created_at) desc, memory.id desc limit %s)
    union all
    (select memory.id from memories_memory memory
      where memory.tenant_id = %s and memory.space_id = %s and memory.event_range is not null
        and lower(memory.event_range) < asked.until and lower(memory.event_range) > asked.since - interval '366 days'
        and upper(memory.event_range) > asked.since
        and memory.retention_status = 'active' and (memory.expires_at is null or memory.expires_at > %s) {where}
      order by lower(memory.event_range) desc, memory.id desc limit %s)
) found
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time asked about, [since, until).  worth: 0..1, how well memories in it fit the query."""

    since: datetime
    until: datetime
    worth: float

    def meets(self, said_at: datetime, stretch: tuple[datetime, datetime] | None = None) -> bool:
        """Whether an event at that time, or with that range, is in the window.  Same condition as the SQL above."""
        if self.since <= said_at < self.until:
            return True
        return stretch is not None and stretch[0] < self.until and stretch[1] > self.since


def years_told_of(scope: Scope, space: SpaceRef) -> tuple[int, int] | None:
    """The first and the last year of the space's memories.  Inside the tenant's transaction."""
    ends = []
    for direction in ("asc", "desc"):
        ends += fetch_column(
            f"select extract(year from {_SAID_AT} at time zone 'utc')::int from memories_memory memory "  # noqa: S608  (ours)
            f"where memory.tenant_id = %s and memory.space_id = %s order by {_SAID_AT} {direction} limit 1",
            [scope.tenant_id, space.id],
        )
    return (ends[0], ends[1]) if ends else None


def of_a_time(
    scope: Scope,
    space: SpaceRef,
    windows: Sequence[Window],
    *,
    where: str,
    values: Sequence[Any],
    limit: int,
    now: datetime,
) -> list[tuple[int, float]]:
    """(memory id, worth), best fit first, then the newest; at most ``limit``.

    where, values: further SQL conditions on ``memory``, applied before the limit.
    """
    if not windows:
        return []
    mine = [scope.tenant_id, space.id, now, *values, limit]
    rows = fetch_all(
        _OF_A_TIME.format(where=where),
        [[one.since for one in windows], [one.until for one in windows], [one.worth for one in windows],
         *mine, *mine],
    )  # fmt: skip
    worth: dict[int, float] = {}
    for memory_id, value in rows:
        worth[memory_id] = max(worth.get(memory_id, 0.0), float(value))
    return sorted(worth.items(), key=lambda one: (-one[1], -one[0]))[:limit]
