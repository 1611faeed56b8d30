"""Foundations of every page: access checks, error pages, and the content security policy.

Every view declares its access level; a view without one cannot be routed (``tests/web/test_deletes.py``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from apps.accounts import enrolment, second_factors, stepup
from apps.accounts.services import is_operator, person_of
from apps.accounts.stepup import StepUpRequired
from apps.adapters.errors import AdapterError
from apps.breakglass.services import LASTS, OPERATOR
from apps.core.clock import database_time
from apps.core.errors import Conflict, DomainError, Forbidden, Invalid, LimitReached, Malformed, NotFound, Unavailable
from apps.core.retries import retried
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import scope_in
from apps.tenants.grants import GRANTED
from apps.tenants.members import Reach, reach_in, reach_of
from apps.tenants.selectors import TenantNotFound, get_tenant
from apps.web.access import OF_A_TENANT, OF_OPERATORS, permits
from apps.web.access import STEPPED_UP as STEPPED_UP
from apps.web.access import AccessLevel as AccessLevel
from apps.web.navigation import ENVIRONMENT, chosen_environment, navigation, set_choice

if TYPE_CHECKING:  # views import no models
    from apps.accounts.models import User

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]

# The pages load one stylesheet and, for passkeys, our own scripts; nothing inline, nothing from other hosts.
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
STATUSES: Final[Mapping[type[DomainError], int]] = {
    NotFound: 404,
    Forbidden: 403,
    Conflict: 409,
    Invalid: 422,
    Malformed: 400,
    LimitReached: 429,
    Unavailable: 503,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """The user, the tenant and the time of a request.  scope: the user's scope in the tenant, without a space.

    reaches: every tenant that the user can open, including this one.
    """

    person: "User"
    reach: Reach
    reaches: Sequence[Reach]
    scope: Scope
    now: datetime

    @property
    def tenant(self) -> str:
        return self.reach.tenant.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakGlassContext:
    """An operator on the pages of one tenant.  scope: principal ``operator``, without a space.  now: the database's
    clock, because the end of a grant is compared with it."""

    person: "User"
    scope: Scope
    now: datetime

    @property
    def tenant(self) -> str:
        return self.scope.tenant.name


class AmbiguousPageCredentials(Malformed):
    """Send an API key or a browser session, not both; these pages do not accept API keys."""

    code = "ambiguous_credentials"


class PageRoleTooLow(Forbidden):
    """Your role in this tenant does not allow this; an owner can change your role."""

    code = "ROLE_TOO_LOW"


def needs(need: AccessLevel, *, methods: str = "GET") -> Callable[[View], View]:
    """Decorator that checks the access level and turns errors into pages.

    methods: the allowed HTTP methods, separated by spaces; GET includes HEAD.
    """
    allowed = [*methods.split(), *(["HEAD"] if "GET" in methods.split() else [])]

    def decorate(view: View) -> View:
        view = retried(view)

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                response = _open(need, view, request, *args, **kwargs)
            except StepUpRequired:
                response = to_step_up(request)
            except DomainError as error:
                response = refusal(request, _sentence(error), status=status_of(error))
                if isinstance(error, LimitReached):
                    response["Retry-After"] = str(max(1, int(error.retry_after)))
            except AdapterError as error:
                if error.permanent:
                    raise
                response = refusal(request, "A part of the service is unavailable. Try again later.", status=503)
            response.headers.setdefault("Content-Security-Policy", POLICY)
            return response

        checked = require_http_methods(allowed)(guarded)
        # Read by ``_way_back`` and by the tests that check every route.
        checked.need, checked.methods = need, methods.split()  # type: ignore[attr-defined]
        return checked

    return decorate


def in_tenant(
    need: AccessLevel, *, methods: str = "GET", closed: bool = False, grant: str = ""
) -> Callable[[Callable[Concatenate[HttpRequest, PageContext, P], HttpResponseBase]], View]:
    """Like ``needs``, for pages below ``t/<tenant>/``: the view gets a ``PageContext`` instead of the tenant's name.

    closed: also allow a closed tenant, whose receipts remain available.  grant: the grant that the role must have, as
    in the API, for pages that neither read nor delete memories.
    """
    is_clear = need in OF_A_TENANT and (grant in GRANTED if grant else need != AccessLevel.GRANTED)
    assert is_clear  # noqa: S101  (a mistake of ours, seen at the first import)

    def decorate(view: Callable[Concatenate[HttpRequest, PageContext, P], HttpResponseBase]) -> View:
        def opened(request: HttpRequest, *args: Any, tenant: str, **kwargs: Any) -> HttpResponseBase:
            person = person_of(request)
            reaches = reach_of(person.pk, closed=closed)
            reach = reach_in(reaches, tenant)
            if not permits(reach, need, grant):
                raise PageRoleTooLow
            if need in STEPPED_UP:
                stepup.require_step_up(request)
            scope = scope_in(reach.tenant, principal=Principal(kind="account", id=person.pk))
            scope = replace(scope, permissions=reach.permissions)
            return view(
                request,
                PageContext(person=person, reach=reach, reaches=reaches, scope=scope, now=timezone.now()),
                *args,
                **kwargs,
            )

        guarded = needs(need, methods=methods)(wraps(view)(opened))
        guarded.grant = grant  # type: ignore[attr-defined]  # for the same tests
        return guarded

    return decorate


def as_operator(
    need: AccessLevel, *, methods: str = "GET"
) -> Callable[[Callable[Concatenate[HttpRequest, BreakGlassContext, P], HttpResponseBase]], View]:
    """Like ``in_tenant``, for operators' pages.  Other users get 404, as do operators if the tenant is missing, closed
    or suspended."""
    assert need in OF_OPERATORS  # noqa: S101  (a mistake of ours, seen at the first import)

    def decorate(view: Callable[Concatenate[HttpRequest, BreakGlassContext, P], HttpResponseBase]) -> View:
        def opened(request: HttpRequest, *args: Any, tenant: str, **kwargs: Any) -> HttpResponseBase:
            person = person_of(request)
            if not is_operator(person.pk):
                raise TenantNotFound
            there = get_tenant(tenant)
            if there.closed_at is not None or there.suspended_at is not None:  # its users could not see or end a grant
                raise TenantNotFound
            if need == AccessLevel.READING_OPERATOR:
                stepup.require_step_up(request, max_age=LASTS.total_seconds())
            if need == AccessLevel.FRESH_OPERATOR:
                stepup.require_step_up(request)
            scope = scope_in(there, principal=Principal(kind=OPERATOR, id=person.pk))
            return view(request, BreakGlassContext(person=person, scope=scope, now=database_time()), *args, **kwargs)

        return needs(need, methods=methods)(wraps(view)(opened))

    return decorate


def show(
    request: HttpRequest,
    template: str,
    *,
    status: int = 200,
    at: PageContext | None = None,
    place: str = "",
    environment: Environment | None = None,
    **context: Any,
) -> HttpResponse:
    """Render a page.

    at: for a tenant's page, rendered with the tenant's menu.  place: the page's name in ``navigation.PLACES``.
    environment: the one that the page shows, if any; the browser keeps it for pages that name none.
    """
    framed: dict[str, Any] = {"at": at, "place": place, "environment": environment}
    if at is not None:
        framed["navigation"] = navigation(at.reach, environment)
    response = HttpResponse(render_to_string(f"web/{template}.html", {**context, **framed}, request), status=status)
    if at is not None and environment is not None and chosen_environment(request, at.tenant) != environment:
        set_choice(response, ENVIRONMENT, f"{at.tenant}:{environment.value}")
    return response


class Refusal(HttpResponse):
    """An error page with its own message: the middleware does not replace it."""


def refusal(request: HttpRequest, message: str, *, status: int) -> HttpResponse:
    """An error page: one sentence and a link back."""
    title = HTTPStatus(status).phrase
    said = {"message": message, "title": title, "status": status}
    body = render_to_string("web/refused.html", said, request)
    return Refusal(body, status=status, headers={"Content-Security-Policy": POLICY})


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's ``CSRF_FAILURE_VIEW``: the form did not come from our pages, or was rendered for another user."""
    message = "This form has expired or did not come from this site. Go back, reload the page and try again."
    return refusal(request, message, status=403)


def status_of(error: DomainError) -> int:
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def to_step_up(request: HttpRequest) -> HttpResponse:
    """Redirect to the step-up page, which then returns to the page with the button.  The posted data is discarded."""
    if request.method == "POST":
        messages.warning(
            request, "Nothing has been done yet: confirm your identity, then fill in and send the form again."
        )
    return _redirect("account_reauthenticate", next=_way_back(request))


def _open(need: AccessLevel, view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    if "X-API-Key" in request.headers or request.headers.get("Authorization", "").lower().startswith("bearer "):
        raise AmbiguousPageCredentials
    if need == AccessLevel.NOBODY:
        return view(request, *args, **kwargs)
    if not request.user.is_authenticated:
        return _redirect("account_login", next=_way_back(request))
    if need == AccessLevel.PERSON:
        return view(request, *args, **kwargs)
    is_enrolled = second_factors.has_second_factor(request.user.pk)
    if need == AccessLevel.FRESH:
        return view(request, *args, **kwargs) if _is_fresh(request, is_enrolled) else to_step_up(request)
    if not is_enrolled:
        return _redirect("mfa_index")
    if not second_factors.was_asked_for_one(request):
        return to_step_up(request)
    return view(request, *args, **kwargs)


def _sentence(error: DomainError) -> str:
    """The error's message; the same for a missing object and for one that belongs to another tenant."""
    return "This page does not exist, or you may not see it." if isinstance(error, NotFound) else error.message


def _is_fresh(request: HttpRequest, is_enrolled: bool) -> bool:
    if not is_enrolled:
        return stepup.find_password(request) is not None and enrolment.is_code_accepted(request, person_of(request))
    return stepup.find_step_up(request) is not None or stepup.has_just_added_factor(request)


def _way_back(request: HttpRequest) -> str:
    """This page, or if it accepts no GET, the nearest one above it that does."""
    path, mark, query = request.get_full_path().partition("?")
    while path and "GET" not in _methods_at(path):
        path = path.rpartition("/")[0]
    return f"{path}{mark}{query}" if path else reverse("web_home")


def _methods_at(path: str) -> list[str]:
    try:
        return getattr(resolve(path).func, "methods", [])
    except Resolver404:
        return []


def _redirect(name: str, **query: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse(name)}?{urlencode(query)}" if query else reverse(name))
