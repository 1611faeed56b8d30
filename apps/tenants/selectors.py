"""Queries of tenants and organizations by name."""

from apps.core.errors import Conflict, NotFound
from apps.tenants.models import Egress, Organization, Tenant


class TenantNotFound(NotFound):
    """There is no tenant with this name; `memsync tenant list` shows all."""

    code = "TENANT_NOT_FOUND"


class OrganizationNotUnique(Conflict):
    """Several organizations have this name; rename one of them."""


def get_tenant(name: str) -> Tenant:
    """The tenant with this name, even if closed.  Raises TenantNotFound."""
    tenant = Tenant.objects.select_related("organization").filter(name=name).first()
    if tenant is None:
        raise TenantNotFound
    return tenant


def list_tenants() -> list[Tenant]:
    return list(Tenant.objects.select_related("organization").order_by("name", "id"))


def find_first_tenant() -> Tenant | None:
    """The oldest open tenant; the first start created it, unless that one was closed."""
    return Tenant.objects.filter(closed_at=None).order_by("id").first()


def find_organization(name: str) -> Organization | None:
    """None if there is none.  Raises OrganizationNotUnique, because organization names are not unique."""
    found = list(Organization.objects.filter(name=name).order_by("id")[:2])
    if len(found) > 1:
        raise OrganizationNotUnique
    return found[0] if found else None


def instructions_of(tenant_id: int) -> str:
    """What becomes of instructions that extraction finds: a value of ``Instructions``."""
    return Tenant.objects.values_list("instructions", flat=True).get(pk=tenant_id)


def may_leave(tenant_id: int, policy: str, *, self_hosted: bool) -> bool:
    """Whether a model behind an endpoint may receive what the tenant's end users say.

    policy: ``ai_extract`` or ``ai_rerank``.  self_hosted: whether the operator runs the endpoint.
    """
    said = Tenant.objects.values_list(policy, flat=True).get(pk=tenant_id)
    return said == Egress.ALLOW or (said == Egress.SELF_HOSTED_ONLY and self_hosted)
