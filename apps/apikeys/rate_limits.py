"""Rate limits: sliding windows, counted in the database so that every process sees the same count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import execute, fetch_all
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True)
class RateCeiling:
    """At most ``ceiling`` requests in any ``seconds``."""

    seconds: int
    ceiling: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateVerdict:
    """Whether this request may pass, and the state of the tightest window after it.  retry_after_seconds: 0 if it
    may."""

    is_allowed: bool
    limit: int
    remaining: int
    reset_seconds: float
    retry_after_seconds: float = 0.0


def _windows(second: int, minute: int, hour: int) -> tuple[RateCeiling, ...]:
    return RateCeiling(1, second), RateCeiling(60, minute), RateCeiling(3600, hour)


# The wire contract's table, section 3.6.
TIERS: Final[Mapping[str, tuple[RateCeiling, ...]]] = {
    "free": _windows(2, 30, 100),
    "pro": _windows(10, 200, 5_000),
    "enterprise": _windows(50, 1_000, 50_000),
    "unlimited": (),
}
WITHOUT_KEY: Final = _windows(5, 60, 600)
FAILED_ATTEMPTS: Final = (RateCeiling(60, 20),)
TOLD: Final = (RateCeiling(60, 1),)  # audit rows about a rate-limited key


def take(caller: str, windows: Sequence[RateCeiling], *, now: datetime) -> RateVerdict:
    """Count this request in every window if all of them have room; otherwise in none.

    caller: at most 64 characters.  windows: at least one.

    A window slides by the usual approximation: the previous fixed window counts in proportion to its remaining overlap.
    One statement counts and checks all windows, and its row locks serialize callers: of n concurrent requests, never
    more pass than there is room for.  A refused request is not counted, so that a client that keeps retrying is
    admitted as soon as one that waited.
    """
    at = now.timestamp()
    standings = _count(caller, windows, at)
    tightest = min(standings, key=lambda standing: standing.room)
    if tightest.room >= 0:
        return RateVerdict(
            is_allowed=True,
            limit=tightest.window.ceiling,
            remaining=int(tightest.room),
            reset_seconds=tightest.seconds_left,
        )
    _give_back(caller, windows, at)
    slowest = max(standings, key=lambda standing: standing.wait_seconds)
    return RateVerdict(
        is_allowed=False,
        limit=slowest.window.ceiling,
        remaining=0,
        reset_seconds=slowest.seconds_left,
        retry_after_seconds=slowest.wait_seconds,
    )


def give_back(caller: str, windows: Sequence[RateCeiling], *, now: datetime) -> None:
    """Undo a ``take`` made at this time."""
    _give_back(caller, windows, now.timestamp())


def forget(*, now: datetime) -> int:
    """Delete windows that can no longer affect a request; returns the number of rows."""
    return execute('delete from apikeys_ratewindow where ("window" + 2) * seconds <= %s', [now.timestamp()])


def note_refused(scope: Scope, *, now: datetime) -> None:
    """Record in the audit trail that a key was rate-limited, at most once a minute."""
    if take(f"told:{scope.principal.id}", TOLD, now=now).is_allowed:
        with tenant_transaction(scope):
            who = scope.principal.label
            record(scope, actor=who, action=AuditAction.API_KEY_LIMITED, target=who, outcome="denied", now=now)


@dataclass(frozen=True, slots=True)
class _Standing:
    """One window: count in the current fixed window (this request included), and in the previous one."""

    window: RateCeiling
    count: int
    before: int
    elapsed: float  # elapsed part of the fixed window, 0..1

    @classmethod
    def of(cls, window: RateCeiling, count: int, before: int, at: float) -> Self:
        return cls(window, count, before, at % window.seconds / window.seconds)

    @property
    def room(self) -> float:
        """How many more requests could pass now; negative if this one may not."""
        return self.window.ceiling - self.count - self.before * (1 - self.elapsed)

    @property
    def seconds_left(self) -> float:
        return self.window.seconds * (1 - self.elapsed)

    @property
    def wait_seconds(self) -> float:
        """Time until this request would have room, if no other request comes; 0 if it has room."""
        if self.room >= 0:
            return 0.0
        spare = self.window.ceiling - self.count
        if spare >= 0:  # the previous window still counts, and slides out
            return self.window.seconds * ((1 - spare / self.before) - self.elapsed)
        counted = self.count - 1  # this request is not counted; the others slide out of the next window
        return self.seconds_left + self.window.seconds * max(0.0, 1 - (self.window.ceiling - 1) / counted)


def _count(caller: str, windows: Sequence[RateCeiling], at: float) -> list[_Standing]:
    """A single statement.  Rows are locked in order of window length, so that two callers cannot deadlock."""
    ordered = sorted(windows, key=lambda window: window.seconds)
    rows = fetch_all(
        """
        with asked as (
            select seconds, "window" from unnest(%(seconds)s::int[], %(numbers)s::bigint[]) as w(seconds, "window")
        ), counted as (
            insert into apikeys_ratewindow as kept (caller, seconds, "window", count)
            select %(caller)s, seconds, "window", 1 from asked order by seconds
            on conflict (caller, seconds, "window") do update set count = kept.count + 1
            returning seconds, "window", count
        ), forgotten as (
            delete from apikeys_ratewindow old using asked
            where old.caller = %(caller)s and old.seconds = asked.seconds and old."window" < asked."window" - 1
        )
        select counted.seconds, counted.count, coalesce(before.count, 0)
        from counted left join apikeys_ratewindow before
          on before.caller = %(caller)s and before.seconds = counted.seconds
         and before."window" = counted."window" - 1
        """,
        {
            "caller": caller,
            "seconds": [window.seconds for window in ordered],
            "numbers": [int(at // window.seconds) for window in ordered],
        },
    )
    counts = {seconds: (count, before) for seconds, count, before in rows}
    return [_Standing.of(window, *counts[window.seconds], at) for window in ordered]


def _give_back(caller: str, windows: Sequence[RateCeiling], at: float) -> None:
    execute(
        """
        update apikeys_ratewindow set count = count - 1
        where id in (
            select kept.id
            from apikeys_ratewindow kept
            join unnest(%s::int[], %s::bigint[]) as w(seconds, "window") using (seconds, "window")
            where kept.caller = %s order by kept.seconds for update of kept
        )
        """,
        [[window.seconds for window in windows], [int(at // window.seconds) for window in windows], caller],
    )
