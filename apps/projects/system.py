"""Scopes for work that no one asked for by name: schedules and the outbox."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from apps.core.retries import retried
from apps.core.scoping import ScopedManager, tenant_transaction
from apps.projects.scope import SYSTEM, Environment, Scope, TenantRef
from apps.tenants.models import Tenant


def system_scope(tenant: Tenant) -> Scope:
    """The system at work inside one tenant.  It reaches no space: such work asks for rows of the whole tenant."""
    return Scope(
        tenant=TenantRef(id=tenant.pk, uid=tenant.uid, name=tenant.name),
        environment=Environment.PRODUCTION,
        principal=SYSTEM,
    )


def system_scopes() -> Iterator[Scope]:
    """One scope for each open tenant, in the order they were made."""
    for tenant in Tenant.objects.filter(closed_at=None).order_by("pk").iterator():
        yield system_scope(tenant)


def sweep_each_tenant(sweep: Callable[[Scope], object], logger: logging.Logger) -> None:
    """Do this in each open tenant.  Where it fails, that is logged, and the tenants behind it do not wait for it."""
    for scope in system_scopes():
        try:
            retried(sweep)(scope)
        except Exception as error:  # noqa: BLE001  (whatever it is)
            logger.warning("a tenant was not swept", extra={"tenant": scope.tenant_id, "error": type(error).__name__})


def open_jobs(jobs: ScopedManager[Any], statuses: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Tenant and id of every job that has one of these statuses, oldest first in each tenant."""
    for scope in system_scopes():
        with tenant_transaction(scope):
            rows = jobs.within(scope).filter(status__in=statuses)
            ids = list(rows.order_by("pk").values_list("pk", flat=True))
        yield from ((scope.tenant_id, job_id) for job_id in ids)


def find_system_scope(tenant_id: int) -> Scope | None:
    tenant = Tenant.objects.filter(pk=tenant_id, closed_at=None).first()
    return system_scope(tenant) if tenant else None


def find_tenant_scope(name: str) -> Scope:
    """The system at work in the tenant of this name.  Raises Tenant.DoesNotExist."""
    return system_scope(Tenant.objects.get(name=name))
