"""Names of those who changed something, as the audit trail and histories record them."""

from apps.apikeys.selectors import list_keys
from apps.tenants.members import list_members
from apps.web.pages import PageContext


def actor_names(at: PageContext) -> dict[str, str]:
    """Display names by actor, as far as the role may see them."""
    names = {"system:0": "the system"}
    if "api_keys:read" in at.reach.permissions:
        names |= {f"api_key:{key.pk}": key.name for key in list_keys(at.scope)}
    if "team:read" in at.reach.permissions:
        names |= {f"account:{one.user_id}": one.user.email for one in list_members(at.reach.tenant)}
    return names | {at.scope.principal.label: "you"}
