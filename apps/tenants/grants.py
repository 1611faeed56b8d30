"""API permissions of each role: a role has exactly the permissions listed here.

Names are those that routes check, as for API keys (``apps.apikeys.permissions``).  A name in both tables is for
programs and users, a name only in this one for users.  Memories are for programs, and for users in the browser.
"""

from collections.abc import Mapping
from typing import Final

from apps.tenants.models import Role

GRANTED: Final[Mapping[str, str]] = {
    "projects:read": "see projects",
    "projects:write": "make, rename, archive and delete projects",
    "api_keys:read": "see API keys, never their text",
    "api_keys:write": "issue, rotate and revoke API keys with scopes of the default set, or that they have themselves",
    "api_keys:any_scope": "issue and rotate API keys with every scope",
    "team:read": "see who has which role",
    "team:write": "change roles, suspend and remove people",
    "settings:read": "see the tenant's policies",
    "retention:read": "see what is kept for how long, and what goes next",
    "retention:write": "make retention stricter",
    "retention:loosen": "keep memories for longer, or for good",
    "audit:read": "read the tenant's audit trail",
    "usage:read": "see what was used of a quota",
    "billing:read": "see the plan",
    "integrations:read": "see which connectors there are",
    "webhooks:read": "see webhooks and their deliveries",
    "webhooks:write": "make, change and delete webhooks, and send again",
    "exports:read": "see exports, and download them",
    "exports:write": "start and cancel exports",
}
_ALL: Final = frozenset(GRANTED)
GRANTS: Final[Mapping[str, frozenset[str]]] = {
    Role.OWNER: _ALL,
    Role.ADMIN: _ALL - {"billing:read", "retention:loosen"},
    Role.DEVELOPER: frozenset(
        {
            "projects:read",
            "api_keys:read",
            "api_keys:write",
            "retention:read",
            "audit:read",
            "usage:read",
            "integrations:read",
            "webhooks:read",
            "webhooks:write",
        }
    ),
    Role.ANALYST: frozenset(
        {
            "projects:read",
            "retention:read",
            "audit:read",
            "usage:read",
            "integrations:read",
            "exports:read",
            "exports:write",
        }
    ),
    Role.BILLING: frozenset({"billing:read", "usage:read"}),
}
