"""Quotas: adds and retrievals of a tenant per calendar month.  Off by default.

One unit is one request, whatever its size.  A single statement checks and counts, so that of n concurrent requests
never more pass than there is room for; free requests are subtracted afterwards.
"""

import math
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.apikeys.models import TenantQuota
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Invalid
from apps.core.queries import execute, fetch_all, fetch_one
from apps.core.scoping import InTenant, tenant_transaction

METERS: Final = ("adds", "retrievals")
THRESHOLDS: Final = (100, 80)  # of a limit, in percent: subscribers are notified
MODES: Final = ("off", "strict", "silent")
MODE_SECONDS: Final = 1.0

_modes: dict[int, tuple[float, str]] = {}  # per tenant: expiry by the monotonic clock, and mode


class QuotaMalformed(Invalid):
    """mode is off, strict or silent, and a limit is a whole number or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaState:
    """One meter in this month.  limit: None for unlimited."""

    meter: str
    used: int
    limit: int | None


def set_quota(
    tenant: InTenant, *, actor: str, mode: str, adds: int | None = None, retrievals: int | None = None, now: datetime
) -> None:
    """mode: ``off`` neither counts nor refuses; ``strict`` refuses; ``silent`` responds as if the request had been
    executed.  Raises QuotaMalformed."""
    if mode not in MODES or any(limit is not None and limit < 0 for limit in (adds, retrievals)):
        raise QuotaMalformed
    with tenant_transaction(tenant):
        TenantQuota.objects.update_or_create(
            tenant,
            defaults={"mode": mode, "adds": adds, "retrievals": retrievals},
            create_defaults={"mode": mode, "adds": adds, "retrievals": retrievals, "created_at": now},
        )
        record(tenant, actor=actor, action=AuditAction.TENANT_QUOTA, reason=mode, now=now)
    _modes.pop(tenant.tenant_id, None)


def quota_mode(scope: InTenant) -> str:
    """The mode, cached for MODE_SECONDS: every metered request reads it, and it hardly ever changes."""
    until, mode = _modes.get(scope.tenant_id, (0.0, ""))
    if until <= time.monotonic():
        with tenant_transaction(scope):
            mode = TenantQuota.objects.within(scope).values_list("mode", flat=True).first() or "off"
        _modes[scope.tenant_id] = (time.monotonic() + MODE_SECONDS, mode)
    return mode


def take(scope: InTenant, meter: str, *, actor: str, now: datetime) -> bool:
    """Count one unit if there is room; returns whether there was.  Reaching a threshold is recorded in the audit
    trail."""
    with tenant_transaction(scope):
        row = fetch_one(
            f"""
            insert into apikeys_quotause as kept (tenant_id, month, meter, used, created_at)
            select q.tenant_id, %s, %s, 1, %s from apikeys_tenantquota q
             where q.tenant_id = %s and (q.{meter} is null or q.{meter} > 0)
            on conflict (tenant_id, month, meter) do update set used = kept.used + 1
             where kept.used < coalesce(
                (select q.{meter} from apikeys_tenantquota q where q.tenant_id = kept.tenant_id), 9223372036854775807)
            returning used, (select q.{meter} from apikeys_tenantquota q where q.tenant_id = kept.tenant_id)
            """,  # noqa: S608  (one of METERS)
            [month_of(now), _known(meter), now, scope.tenant_id],
        )
        if row is not None and (percent := _threshold(*row)):
            target = f"meter:{meter}"
            record(scope, actor=actor, action=AuditAction.QUOTA_THRESHOLD, target=target, count=percent, now=now)
        return row is not None


def give_back(scope: InTenant, meter: str, *, now: datetime) -> None:
    """Subtract the unit of a request that failed or was free."""
    with tenant_transaction(scope):
        execute(
            "update apikeys_quotause set used = greatest(0, used - 1) "
            "where tenant_id = %s and month = %s and meter = %s",
            [scope.tenant_id, month_of(now), _known(meter)],
        )


def standings(scope: InTenant, *, now: datetime) -> list[QuotaState]:
    """All meters of this month."""
    with tenant_transaction(scope):
        quota = TenantQuota.objects.within(scope).first()
        rows = fetch_all(
            "select meter, used from apikeys_quotause where tenant_id = %s and month = %s",
            [scope.tenant_id, month_of(now)],
        )
        used: dict[str, int] = dict(rows)
    return [
        QuotaState(meter=meter, used=used.get(meter, 0), limit=getattr(quota, meter) if quota else None)
        for meter in METERS
    ]


def month_of(now: datetime) -> str:
    return f"{now:%Y-%m}"


def _threshold(used: int, limit: int | None) -> int | None:
    """The threshold in percent that exactly this unit reaches, if any."""
    if not limit:
        return None
    return next((percent for percent in THRESHOLDS if used == math.ceil(limit * percent / 100)), None)


def _known(meter: str) -> str:
    if meter not in METERS:
        raise ValueError("no such meter")
    return meter
