"""Navigation of every page: the tenant's menu, the environment, and the colour scheme."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode

from apps.projects.scope import Environment
from apps.tenants.members import Reach
from apps.web.access import AccessLevel, permits

THEME: Final = "memsync_theme"  # cookie with the user's colour scheme
ENVIRONMENT: Final = "memsync_environment"  # cookie with a tenant and its environment that was shown last
THEMES: Final = ("auto", "light", "dark")
YEAR: Final = 365 * 86_400


@dataclass(frozen=True, slots=True)
class NavItem:
    """A page in the menu.

    name: what the page passes to ``show`` as ``place``.  route: its URL name, with the tenant as the only argument.
    grant: the grant that its page requires.  of_environment: the page shows one environment.  closed: also shown for a
    closed tenant.
    """

    name: str
    label: str
    route: str
    group: str
    need: AccessLevel
    grant: str = ""
    of_environment: bool = field(default=False, kw_only=True)
    closed: bool = field(default=False, kw_only=True)

    @property
    def icon(self) -> str:
        """The path of the item's SVG icon."""
        return ICONS[self.name]


MEMORY, FORGETTING, CONNECTIONS, TRUST = "Memory", "Deletion", "Connections", "Trust"
ACCESS, TENANT = "Access", "Tenant"
READER, GRANTED, DECIDER = AccessLevel.READER, AccessLevel.GRANTED, AccessLevel.DECIDER
PLACES: Final = (
    NavItem("overview", "Overview", "web_tenant", MEMORY, READER, of_environment=True),
    NavItem("spaces", "People and spaces", "web_spaces", MEMORY, READER, of_environment=True),
    NavItem("review", "Review", "web_review", MEMORY, READER, of_environment=True),
    NavItem("requests", "Deletion requests", "web_requests", FORGETTING, DECIDER),
    NavItem("erasures", "Erasures", "web_erasures", FORGETTING, DECIDER, closed=True),
    NavItem("retention", "Retention", "web_retention", FORGETTING, GRANTED, "retention:read"),
    NavItem("webhooks", "Webhooks", "web_webhooks", CONNECTIONS, GRANTED, "webhooks:read", of_environment=True),
    NavItem("exports", "Exports", "web_exports", CONNECTIONS, GRANTED, "exports:read", of_environment=True),
    NavItem("keys", "API keys", "web_keys", ACCESS, GRANTED, "api_keys:read"),
    NavItem("team", "Team", "web_team", ACCESS, GRANTED, "team:read"),
    NavItem("projects", "Projects", "web_projects", TENANT, GRANTED, "projects:read"),
    NavItem("usage", "Usage", "web_usage", TENANT, GRANTED, "usage:read"),
    NavItem("settings", "Settings", "web_settings", TENANT, GRANTED, "settings:read"),
    NavItem("audit", "Audit trail", "web_audit", TRUST, GRANTED, "audit:read"),
    NavItem("receipts", "Receipts", "web_receipts", TRUST, DECIDER, closed=True),
    NavItem("glass", "Operators", "web_glass", TRUST, DECIDER),
)
ICONS: Final[Mapping[str, str]] = {  # SVG paths in a 24x24 box
    "overview": "M3 21h18M6 17v-6M12 17V5M18 17v-9",
    "spaces": "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM2 21c0-4 3-6 7-6s7 2 7 6M17 4a4 4 0 0 1 0 7M19 15c2 1 3 3 3 6",
    "review": "M4 12l5 5L20 6",
    "requests": "M4 4h16v12H9l-5 4V4ZM8 10h8",
    "erasures": "M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14",
    "retention": "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3.5 2",
    "webhooks": "M9 8a3 3 0 1 1 4.5 2.6l-3 5.4M6.5 12.5A3.5 3.5 0 1 0 10 17h6M13 9l3 5a3 3 0 1 1-1 4",
    "exports": "M12 3v12M7 10l5 5 5-5M4 19h16",
    "keys": "M8 15a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 11h10M18 11v4M22 11v3",
    "team": "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21c0-4 4-6 8-6s8 2 8 6",
    "projects": "M3 7V5h6l2 2h10v12H3V7Z",
    "usage": "M3 20h18M4 15l5-5 4 3 7-8",
    "settings": "M4 7h9M19 7h1M4 17h1M11 17h9M16 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 20a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z",
    "audit": "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6l8-3ZM8.5 12l2.5 2.5 4.5-4.5",
    "receipts": "M6 3h12v18l-3-2-3 2-3-2-3 2V3ZM9 8h6M9 12h6",
    "glass": "M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7ZM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NavLink:
    place: NavItem
    address: str


def navigation(reach: Reach, environment: Environment | None) -> dict[str, list[NavLink]]:
    """The menu items that the role may open, by group.  environment: of the current page, if it shows one; links keep
    it."""
    groups: dict[str, list[NavLink]] = {}
    for place in PLACES:
        if not permits(reach, place.need, place.grant) or (reach.tenant.closed_at is not None and not place.closed):
            continue
        address = reverse(place.route, args=[reach.tenant.name])
        if place.of_environment and environment is not None:
            address = f"{address}?{urlencode({'environment': environment.value})}"
        groups.setdefault(place.group, []).append(NavLink(place=place, address=address))
    return groups


def front(reach: Reach) -> str | None:
    """Address of the first page that the role may open in this tenant; None if there is none."""
    return next((link.address for links in navigation(reach, None).values() for link in links), None)


def colours(request: HttpRequest) -> dict[str, str]:
    """Context processor: ``colours``, the scheme chosen in this browser, or ``auto``."""
    said = request.COOKIES.get(THEME, "")
    return {"colours": said if said in THEMES else THEMES[0]}


def choose_colours(request: HttpRequest) -> HttpResponse:
    """Store the chosen scheme in a cookie and redirect to the page that posted it."""
    response = HttpResponseRedirect(_way_back(request))
    said = request.POST.get("colours", "")
    if said in THEMES:
        set_choice(response, THEME, said)
    return response


def set_choice(response: HttpResponse, name: str, value: str) -> None:
    """Set a cookie with what was chosen in this browser."""
    response.set_cookie(name, value, max_age=YEAR, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax")


def chosen_environment(request: HttpRequest, tenant: str) -> str:
    """The environment of this tenant that was shown last in this browser; empty if there is none."""
    whose, _, environment = request.COOKIES.get(ENVIRONMENT, "").rpartition(":")
    return environment if whose == tenant else ""


def _way_back(request: HttpRequest) -> str:
    """The page that posted the form, if it belongs to this site; else the home page."""
    address = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if is_ours else reverse("web_home")
