"""Quotas of API requests: a metered request takes one unit before it runs, and returns it if it turns out to be free.

A view declares the meters of its methods (``meters``), and its response over a silent quota (``silent_answer``).
"""

from datetime import datetime
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from apps.apikeys import quota
from apps.core.errors import LimitReached
from apps.projects.scope import Scope

TAKEN: Final = "memsync.meter"  # key in request.META of the unit that was taken
REPLAYED: Final = "already_ingested"


class QuotaExceeded(LimitReached):
    """The tenant's quota for this month is used up."""

    code = "QUOTA_EXCEEDED"


class SilentlyOver(Exception):
    """Over a silent quota: respond as if the request had been executed."""


def take(request: Request, scope: Scope, meter: str, *, may_be_silent: bool, now: datetime) -> None:
    """Count a unit.  Raises QuotaExceeded or SilentlyOver."""
    mode = quota.quota_mode(scope)
    if mode == "off":
        return
    if quota.take(scope, meter, actor=scope.principal.label, now=now):
        request.META[TAKEN] = (scope, meter, now)
    elif mode == "silent" and may_be_silent:
        raise SilentlyOver
    else:
        raise QuotaExceeded(retry_after=seconds_left(now))


def settle(request: Request, response: Response) -> None:
    """Return the unit of a failed request or a recognised retry."""
    taken = request.META.pop(TAKEN, None)
    if taken is not None and (response.status_code >= 400 or _is_replay(getattr(response, "data", None))):
        scope, meter, now = taken
        quota.give_back(scope, meter, now=now)


def seconds_left(now: datetime) -> float:
    """Seconds until the next month (UTC)."""
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return (following - now).total_seconds()


def _is_replay(body: Any) -> bool:
    if not isinstance(body, dict):
        return False
    if body.get("reason") == REPLAYED or body.get("processing_status") == "skipped_replay":
        return True
    results = body.get("results")
    if isinstance(results, list) and results:
        return all(isinstance(one, dict) and one.get("reason") == REPLAYED for one in results)
    return _stored_before(body)


def _stored_before(body: dict[str, Any]) -> bool:
    """Whether every turn of a history, or the one state item, was already stored."""
    items = body.get("items")
    if isinstance(items, list) and items:
        return all(isinstance(one, dict) and one.get("created") is False for one in items)
    return "item" in body and body.get("created") is False
