"""The operators' site: one page of counts, the apps' pages, and a policy for the browser that only they need.

Everything is read as the database role ``memsync_operator``; see ``apps.core.admin``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from memsync import overview, sign_in

if TYPE_CHECKING:  # unfold ships no types
    from django.contrib.admin import AdminSite as UnfoldAdminSite
else:
    from unfold.sites import UnfoldAdminSite

# The theme evaluates expressions in attributes and styles elements one by one; nothing outside /admin/ may.
POLICY: Final = {
    "default-src": ["'self'"],
    "script-src": ["'self'", "'unsafe-eval'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "object-src": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
}


class MemsyncAdminSite(UnfoldAdminSite):
    index_template = "admin/overview.html"
    index_title = "Overview"

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        return csp_replace(POLICY)(super().admin_view(view, cacheable))

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().index(request, {"overview": overview.gather(now=timezone.now()), **(extra_context or {})})

    def about_tenant(self, tenant: Any) -> overview.AboutTenant:
        """For a tenant's page: what it holds, which only apps above ``tenants`` know."""
        return overview.about_tenant(tenant.pk, now=timezone.now())

    @method_decorator(csp_replace(POLICY))
    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method != "POST":
            return super().login(request, extra_context)
        now = timezone.now()
        if wait := sign_in.seconds_to_wait(request, now=now):
            answer = f"Too many attempts to sign in. Try again in {wait} seconds."
            return HttpResponse(answer, status=429, headers={"Retry-After": str(wait)}, content_type="text/plain")
        response = super().login(request, extra_context)
        sign_in.note(request, now=now)
        return response
