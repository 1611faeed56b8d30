"""From a request's headers to the scope of its API key."""

import re
from typing import Final

from django.conf import settings
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.api.facts import facts_of
from apps.api.throttling import refuse_guessing
from apps.apikeys.selectors import Authenticated, authenticate
from apps.core.errors import Forbidden, Malformed, Unauthenticated
from apps.projects.scope import Scope

KEY_IN_QUERY: Final = re.compile(
    r"(?:^|&)(?:x[-_])?(?:api[-_]?key|access[-_]?token|authorization)=|ms_(?:live|test|dev)_", re.IGNORECASE
)


class KeyMissing(Unauthenticated):
    """API key missing"""

    code = "API_KEY_MISSING"


class AmbiguousCredentials(Malformed):
    """Send an API key or a browser session, not both."""

    code = "ambiguous_credentials"


class KeyInQuery(Malformed):
    """Send the API key in the X-API-Key header, and rotate this one: URLs are written to logs."""

    code = "CREDENTIAL_IN_URL"


class ApiKeyAuthentication(BaseAuthentication):
    """``X-API-Key: ms_…``, or the same key as a bearer token.

    A bearer token is evaluated first, and a bad one is not rescued by a good key beside it.  ``request.user`` becomes
    the key's Scope, which reaches nobody's space yet, and ``request.auth`` what else the key says.
    """

    def authenticate(self, request: Request) -> tuple[Scope, Authenticated]:
        if KEY_IN_QUERY.search(request.META.get("QUERY_STRING", "")):
            raise KeyInQuery
        raw = _bearer(request) or request.headers.get("X-API-Key", "").strip()
        if not raw:
            raise KeyMissing
        if _is_signed_in(request):
            raise AmbiguousCredentials
        try:
            key = authenticate(raw, now=timezone.now())
        except (Unauthenticated, Forbidden):
            refuse_guessing(request)
            raise
        facts = facts_of(request)
        facts.tenant, facts.environment = str(key.tenant.id), key.environment.value
        return key.scope, key


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_signed_in(request: Request) -> bool:
    """A cookie of nobody does no harm; a person's session beside a key leaves open for whom the request speaks."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    person = getattr(request._request, "user", None)
    return bool(person and person.is_authenticated)
