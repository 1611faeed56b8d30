"""Authentication of API requests: the scope of an API key, or of a signed-in user.

A bearer token is checked before an ``X-API-Key``, and an invalid one fails the request even if the key beside it is
valid.  Beside a valid one any other key is refused, because the request does not say which of the two it uses.  The
scheme ``Token`` comes last.
"""

import re
from dataclasses import replace
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.accounts import api_sessions
from apps.accounts.api_sessions import SignedIn
from apps.api.request_context import request_context
from apps.api.throttling import refuse_guessing
from apps.apikeys import login_throttle, oauth
from apps.apikeys.selectors import Authenticated, EnvironmentBeyondKey, authenticate
from apps.core.errors import Forbidden, Malformed, Unauthenticated
from apps.projects.scope import Principal, Scope
from apps.projects.selectors import scope_in
from apps.tenants.members import choose_reach

KEY_IN_QUERY: Final = re.compile(
    r"(?:^|&)(?:x[-_])?(?:api[-_]?key|(?:access|refresh)[-_]?token|authorization)=|ms_(?:live|test|dev)_|ms(?:[ar]|or?)_[a-z0-9_-]{43}",
    re.IGNORECASE,
)


class KeyMissing(Unauthenticated):
    """API key missing"""

    code = "API_KEY_MISSING"


class SignInNeeded(Unauthenticated):
    """Sign in (POST /auth/login), and send the access token as a bearer token."""

    code = "ACCESS_TOKEN_MISSING"


class AmbiguousCredentials(Malformed):
    """Send exactly one of an API key, an access token or a browser session."""

    code = "ambiguous_credentials"


class KeyInQuery(Malformed):
    """Send the API key or token in a header, and replace it: URLs are written to logs."""

    code = "CREDENTIAL_IN_URL"


class ApiKeyAuthentication(BaseAuthentication):
    """``X-API-Key: ms_…``, or the same key as a bearer token, or as ``Token``, the scheme of mem0's clients.

    ``request.user`` is the key's Scope, without a space, in its home environment or the one that X-Environment names;
    ``request.auth`` holds the key's other attributes.
    """

    def authenticate(self, request: Request) -> tuple[Scope, Authenticated]:
        _refuse_in_query(request)
        raw = _credential(request, "bearer") or _key(request) or _credential(request, "token")
        if not raw:
            raise KeyMissing
        if _is_signed_in(request):
            raise AmbiguousCredentials
        try:
            key = authenticate(raw, now=timezone.now())
        except (Unauthenticated, Forbidden):
            refuse_guessing(request)
            raise
        _refuse_another_key(request, raw)
        if named := _environment(request):
            key = key.named(named)
        facts = request_context(request)
        facts.tenant, facts.environment = str(key.tenant.id), key.environment.value
        return key.scope, key


class BearerAuthentication(BaseAuthentication):
    """``Authorization: Bearer msa_…``, of a signed-in user.

    ``request.user`` is the user's Scope with the permissions of their role, in the tenant of ``X-Tenant-ID`` or else
    their first tenant; ``request.auth`` is their session.
    """

    def authenticate(self, request: Request) -> tuple[Any, SignedIn] | None:
        _refuse_in_query(request)
        token = _credential(request, "bearer")
        if not token.startswith(api_sessions.ACCESS):
            return None
        if _is_signed_in(request):
            raise AmbiguousCredentials
        try:
            signed_in = api_sessions.authenticate(token, now=timezone.now())
        except Unauthenticated:
            login_throttle.note_refused_token(now=timezone.now())
            refuse_guessing(request)
            raise
        _refuse_another_key(request, token)
        return self.found(request, signed_in)

    def found(self, request: Request, signed_in: SignedIn) -> tuple[Any, SignedIn]:
        """The values of ``request.user`` and ``request.auth``."""
        reach = choose_reach(signed_in.person_id, request.headers.get("X-Tenant-ID"))
        principal = Principal(kind="account", id=signed_in.person_id)
        scope = replace(scope_in(reach.tenant, principal=principal), permissions=reach.permissions)
        if _environment(request) not in ("", scope.environment):
            raise EnvironmentBeyondKey
        facts = request_context(request)
        facts.tenant, facts.environment = str(scope.tenant_id), scope.environment.value
        return scope, replace(signed_in, factor_asked_for=reach.needs_second_factor)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class OAuthAuthentication(BaseAuthentication):
    """``Authorization: Bearer mso_…``, of a client that a person connected; on the views that list it, and only for the
    resource at the request's own path.  ``request.user`` and ``request.auth`` as of a key."""

    def authenticate(self, request: Request) -> tuple[Scope, Authenticated] | None:
        _refuse_in_query(request)
        token = _credential(request, "bearer")
        if not settings.OAUTH_ISSUER or not token.startswith(oauth.ACCESS):
            return None
        if _is_signed_in(request):
            raise AmbiguousCredentials
        try:
            found = oauth.authenticate(token, audience=settings.OAUTH_ISSUER + request.path, now=timezone.now())
        except Unauthenticated:
            refuse_guessing(request)
            raise
        _refuse_another_key(request, token)
        if _environment(request) not in ("", found.environment):
            raise EnvironmentBeyondKey
        facts = request_context(request)
        facts.tenant, facts.environment = str(found.tenant.id), found.environment.value
        return found.scope, found


class PersonAuthentication(BearerAuthentication):
    """Like ``BearerAuthentication``, for routes about the user and no tenant: ``request.user`` is their session.  A
    valid API key is authenticated too, and then refused by the permission."""

    def authenticate(self, request: Request) -> tuple[Any, Any]:
        found = super().authenticate(request)
        if found is not None:
            return found
        try:
            return ApiKeyAuthentication().authenticate(request)
        except KeyMissing:
            raise SignInNeeded from None

    def found(self, request: Request, signed_in: SignedIn) -> tuple[SignedIn, SignedIn]:
        return signed_in, signed_in


def _refuse_in_query(request: Request) -> None:
    if KEY_IN_QUERY.search(request.META.get("QUERY_STRING", "")):
        raise KeyInQuery


def _credential(request: Request, scheme: str) -> str:
    """Of the Authorization header, if it has this scheme; else empty."""
    sent, _, credential = request.headers.get("Authorization", "").partition(" ")
    return credential.strip() if sent.lower() == scheme else ""


def _key(request: Request) -> str:
    return request.headers.get("X-API-Key", "").strip()


def _environment(request: Request) -> str:
    return request.headers.get("X-Environment", "").strip()


def _refuse_another_key(request: Request, judged: str) -> None:
    """Raises AmbiguousCredentials for a second, different key; an empty header counts as none."""
    if _key(request) not in ("", judged):
        raise AmbiguousCredentials


def _is_signed_in(request: Request) -> bool:
    """Whether the request also has a signed-in browser session: then its caller is ambiguous.  An anonymous session is
    not."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    person = getattr(request._request, "user", None)
    return bool(person and person.is_authenticated)
