"""Scopes for work without a caller: schedules and the outbox."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from apps.core.retries import retried
from apps.core.scoping import ScopedManager, tenant_transaction
from apps.projects.scope import SYSTEM, Environment, Scope, TenantRef
from apps.tenants.models import Tenant


def system_scope(tenant: Tenant) -> Scope:
    """The system's scope inside one tenant.  It has no space: such work queries rows of the whole tenant."""
    return Scope(
        tenant=TenantRef(id=tenant.pk, uid=tenant.uid, name=tenant.name),
        environment=Environment.PRODUCTION,
        principal=SYSTEM,
    )


def system_scopes() -> Iterator[Scope]:
    """One scope per open tenant, in order of creation."""
    for tenant in Tenant.objects.filter(closed_at=None).order_by("pk").iterator():
        yield system_scope(tenant)


def sweep_each_tenant(sweep: Callable[[Scope], object], logger: logging.Logger) -> None:
    """Run ``sweep`` in each open tenant.  A failure is logged and does not delay the other tenants."""
    for scope in system_scopes():
        try:
            retried(sweep)(scope)
        except Exception as error:  # noqa: BLE001  (whatever it is)
            logger.warning("a tenant was not swept", extra={"tenant": scope.tenant_id, "error": type(error).__name__})


def open_jobs(jobs: ScopedManager[Any], statuses: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Tenant id and job id of every job with one of these statuses, oldest first within each tenant."""
    for scope in system_scopes():
        with tenant_transaction(scope):
            rows = jobs.within(scope).filter(status__in=statuses)
            ids = list(rows.order_by("pk").values_list("pk", flat=True))
        yield from ((scope.tenant_id, job_id) for job_id in ids)


def find_system_scope(tenant_id: int) -> Scope | None:
    tenant = Tenant.objects.filter(pk=tenant_id, closed_at=None).first()
    return system_scope(tenant) if tenant else None


def find_tenant_scope(name: str) -> Scope:
    """The system's scope in the tenant with this name.  Raises Tenant.DoesNotExist."""
    return system_scope(Tenant.objects.get(name=name))
