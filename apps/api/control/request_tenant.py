"""The tenant of a request about the tenant itself."""

from typing import TYPE_CHECKING

from apps.projects.scope import Scope
from apps.tenants.selectors import get_tenant

if TYPE_CHECKING:  # views import no models
    from apps.tenants.models import Tenant


def tenant_of(caller: Scope) -> "Tenant":
    return get_tenant(caller.tenant.name)
