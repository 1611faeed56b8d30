"""Celery tasks: scheduled retention sweeps, confirmed erasures, and expiry of undecided forget requests."""

import logging
from functools import partial

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.core.slices import SLICE_SECONDS
from apps.erasure.branches import shred_ended
from apps.memories.tombstones import forget_old
from apps.projects.system import find_system_scope, sweep_each_tenant, system_scopes
from apps.retention.erasure_requests import carry_out_due
from apps.retention.requests import expire_requests
from apps.retention.retention_sweep import RunUnderway, sweep, tier

logger = logging.getLogger(__name__)


@shared_task(name="retention.expire_requests")  # type: ignore[untyped-decorator]  # Celery has no types
def expire_due_requests(**_: object) -> None:
    """Expire overdue forget requests and old tombstones, in every tenant."""
    sweep_each_tenant(partial(expire_requests, now=timezone.now()), logger)
    sweep_each_tenant(partial(forget_old, now=timezone.now()), logger)


@shared_task(name="retention.carry_out_erasures")  # type: ignore[untyped-decorator]
def carry_out_erasures(**_: object) -> None:
    """Carry out confirmed erasures that are past their grace period, in every tenant."""
    sweep_each_tenant(partial(carry_out_due, now=timezone.now()), logger)


@shared_task(name="retention.end_branches")  # type: ignore[untyped-decorator]
def shred_ended_branches(**_: object) -> None:
    """Shred branches whose time is over, in every tenant."""
    sweep_each_tenant(partial(shred_ended, now=timezone.now()), logger)


@shared_task(name="retention.sweep")  # type: ignore[untyped-decorator]
def sweep_tenants(**_: object) -> None:
    """Queue a sweep for every tenant. After a missed sweep, the next one processes everything that is due."""
    for scope in system_scopes():
        sweep_tenant.apply_async(kwargs={"tenant_id": scope.tenant_id}, expires=3600.0)


@shared_task(name="retention.sweep_tenant")  # type: ignore[untyped-decorator]
def sweep_tenant(tenant_id: int, **_: object) -> None:
    """Sweep one tenant for a while, and queue the task again if due memories are left."""
    scope = find_system_scope(tenant_id)
    if scope is None:
        return
    try:
        done = sweep(scope, now=timezone.now(), seconds=SLICE_SECONDS, pause=settings.RETENTION_PAUSE)
    except RunUnderway:
        return  # the running worker processes everything that is due
    if not done.is_done:
        sweep_tenant.apply_async(kwargs={"tenant_id": tenant_id}, expires=3600.0)


@shared_task(name="retention.tier")  # type: ignore[untyped-decorator]
def tier_memories(**_: object) -> None:
    """Set memories' tiers by their last recall, in every tenant."""
    now = timezone.now()
    for scope in system_scopes():
        try:
            tier(scope, now=now)
        except Exception as error:  # noqa: BLE001  (whatever it is, the tenants behind this one are not to wait for it)
            logger.warning("a tenant was not tiered", extra={"tenant": scope.tenant_id, "error": type(error).__name__})
