"""Quotas: how many adds and retrievals a tenant may make in a calendar month.  Off, unless one is set.

One unit is one request, whatever it carries.  Check and count are one statement, so that of n requests at once never
more pass than there is room for; what turns out to be free is given back.
"""

import math
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from apps.apikeys.models import TenantQuota
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Invalid
from apps.core.scoping import InTenant, tenant_transaction

METERS: Final = ("adds", "retrievals")
THRESHOLDS: Final = (100, 80)  # of a limit, in percent: reported to those who subscribe to them
MODES: Final = ("off", "strict", "silent")
MODE_SECONDS: Final = 1.0

_modes: dict[int, tuple[float, str]] = {}  # of each tenant that asked, until when, by the monotonic clock


class QuotaMalformed(Invalid):
    """mode is off, strict or silent, and a limit is a whole number or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaState:
    """One meter of this month.  limit: None for none."""

    meter: str
    used: int
    limit: int | None


def set_quota(
    tenant: InTenant, *, actor: str, mode: str, adds: int | None = None, retrievals: int | None = None, now: datetime
) -> None:
    """mode: ``off`` counts and refuses nothing; ``strict`` refuses; ``silent`` answers as if it had been done.  Raises
    QuotaMalformed."""
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
    """As it was at most MODE_SECONDS ago: every metered request asks, and hardly ever does it change."""
    until, mode = _modes.get(scope.tenant_id, (0.0, ""))
    if until <= time.monotonic():
        with tenant_transaction(scope):
            mode = TenantQuota.objects.within(scope).values_list("mode", flat=True).first() or "off"
        _modes[scope.tenant_id] = (time.monotonic() + MODE_SECONDS, mode)
    return mode


def take(scope: InTenant, meter: str, *, actor: str, now: datetime) -> bool:
    """Count one unit if there is room for it; whether there was.  That a threshold is reached goes into the trail."""
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(
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
        row = cursor.fetchone()
        if row is not None and (percent := _threshold(*row)):
            target = f"meter:{meter}"
            record(scope, actor=actor, action=AuditAction.QUOTA_THRESHOLD, target=target, count=percent, now=now)
        return row is not None


def give_back(scope: InTenant, meter: str, *, now: datetime) -> None:
    """What was counted for a request that failed or turned out to be free."""
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(
            "update apikeys_quotause set used = greatest(0, used - 1) "
            "where tenant_id = %s and month = %s and meter = %s",
            [scope.tenant_id, month_of(now), _known(meter)],
        )


def standings(scope: InTenant, *, now: datetime) -> list[QuotaState]:
    """Every meter of this month."""
    with tenant_transaction(scope), connection.cursor() as cursor:
        quota = TenantQuota.objects.within(scope).first()
        cursor.execute(
            "select meter, used from apikeys_quotause where tenant_id = %s and month = %s",
            [scope.tenant_id, month_of(now)],
        )
        used = dict(cursor.fetchall())
    return [
        QuotaState(meter=meter, used=used.get(meter, 0), limit=getattr(quota, meter) if quota else None)
        for meter in METERS
    ]


def month_of(now: datetime) -> str:
    return f"{now:%Y-%m}"


def _threshold(used: int, limit: int | None) -> int | None:
    """In percent, where this unit is the one that reaches it."""
    if not limit:
        return None
    return next((percent for percent in THRESHOLDS if used == math.ceil(limit * percent / 100)), None)


def _known(meter: str) -> str:
    if meter not in METERS:
        raise ValueError("no such meter")
    return meter
