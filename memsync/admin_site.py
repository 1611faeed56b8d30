"""The operators' admin site: one page of counts, the apps' pages, and its own Content-Security-Policy.

All rows are read as the database role ``memsync_operator``; see ``apps.core.admin``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from csp.decorators import csp_replace
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from apps.accounts import second_factors
from apps.core.retries import retried
from memsync import admin_cards

if TYPE_CHECKING:  # unfold ships no types
    from django.contrib.admin import AdminSite as UnfoldAdminSite
else:
    from unfold.sites import UnfoldAdminSite

# Hashes of the two inline style sheets in the theme's pages: its colours, and the one that its htmx adds.  Besides, the
# theme uses style attributes.  tests/web/test_admin_in_a_browser.py fails when a new version has other style sheets.
STYLE_SHEETS: Final = (
    "'sha256-CftXQ/6rIQ3AMOrJUsQzoK+KGLgk4scJJlfXyvE/1mQ='",
    "'sha256-bsV5JivYxvGywDAZ22EZJKBFip65Ng9xoJVLbBg7bdo='",
)
POLICY: Final = {
    "default-src": ["'self'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "style-src-elem": ["'self'", *STYLE_SHEETS],
    "style-src-attr": ["'unsafe-inline'"],
    "object-src": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
}


class MemsyncAdminSite(UnfoldAdminSite):
    index_template = "admin/overview.html"
    index_title = "Overview"

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        return csp_replace(POLICY)(super().admin_view(retried(view), cacheable))

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().index(request, {"overview": admin_cards.gather(now=timezone.now()), **(extra_context or {})})

    def about_tenant(self, tenant: Any) -> admin_cards.AboutTenant:
        """Figures for a tenant's page that only apps above ``tenants`` can compute."""
        return admin_cards.about_tenant(tenant.pk, now=timezone.now())

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the user is an operator who has used a passkey or a code in this session."""
        return bool(super().has_permission(request)) and second_factors.has_shown_second_factor(request)

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Redirect to the common sign-in pages, where operators sign in and use a second factor like all users."""
        first = reverse("admin:index", current_app=self.name)
        asked = request.GET.get(REDIRECT_FIELD_NAME, "")
        is_here = asked.startswith(first) and asked.isprintable()
        back = asked if is_here else first
        if not request.user.is_authenticated:
            return _redirect("account_login", next=back)
        if not super().has_permission(request):
            messages.warning(request, "This account is not an operator. Sign out and sign in as an operator.")
            return _redirect("web_home")
        if self.has_permission(request):
            return HttpResponseRedirect(back)
        if second_factors.has_second_factor(request.user.pk or 0):
            return _redirect("account_reauthenticate", next=back)
        messages.warning(request, "The admin requires a passkey or an authenticator: add one here first.")
        return _redirect("mfa_index")


def _redirect(name: str, **query: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse(name)}?{urlencode(query)}" if query else reverse(name))
