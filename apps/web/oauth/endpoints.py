"""What clients of OAuth call: registration, tokens and revocation.  No browser, no cookie."""

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from oauthlib.oauth2 import OAuth2Error

from apps.apikeys import login_throttle
from apps.core.errors import DomainError, LimitReached
from apps.core.retries import retried
from apps.web.oauth import clients
from apps.web.oauth.server import AuthorizationServer, parameters

View = Callable[[HttpRequest], HttpResponse]


def endpoint(view: View) -> View:
    """Decorator of these views: POST alone, errors as RFC 6749 has them, and 404 while OAuth is off."""
    tried = retried(view)

    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponse:
        if not settings.OAUTH_ISSUER:
            return _error("not_found", "This server has no OAuth.", status=404)
        if request.method != "POST":
            return _error("invalid_request", "Send POST.", status=405, headers={"Allow": "POST"})
        try:
            return tried(request)
        except LimitReached as error:
            wait = {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
            return _error("temporarily_unavailable", error.message, status=429, headers=wait)
        except OAuth2Error as error:
            return JsonResponse(dict(error.twotuples), status=error.status_code)

    return answer


@endpoint
def register(request: HttpRequest) -> HttpResponse:
    """A client registers itself (RFC 7591)."""
    if not settings.OAUTH_REGISTRATION:
        return _error("access_denied", "Clients are registered by the operator of this server.", status=403)
    now = timezone.now()
    login_throttle.count_registration(_address(request), now=now)
    try:
        client, secret = clients.register(orjson.loads(request.body), now=now)
    except orjson.JSONDecodeError:
        return _error("invalid_client_metadata", "Send a JSON object.")
    except clients.ClientRefused as refused:
        is_uri = str(refused).startswith("redirect_uris")
        return _error("invalid_redirect_uri" if is_uri else "invalid_client_metadata", str(refused))
    made: dict[str, Any] = {
        "client_id": client.pk,
        "client_id_issued_at": int(now.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.get_redirect_uris(),
        "grant_types": client.get_grant_types(),
        "response_types": client.get_response_types(),
        "token_endpoint_auth_method": "none",
    }
    if secret is not None:
        asked = orjson.loads(request.body).get("token_endpoint_auth_method") or "client_secret_basic"
        made |= {"token_endpoint_auth_method": asked, "client_secret": secret, "client_secret_expires_at": 0}
    return JsonResponse(made, status=201)


@endpoint
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a code or a refresh token for a pair of tokens."""
    attempt = login_throttle.count_token_request(_address(request), now=timezone.now())
    try:
        with transaction.atomic():
            headers, body, status = AuthorizationServer().create_token_response(*parameters(request))
    except DomainError as refused:
        return _error("invalid_grant", refused.message)
    if status == 200:
        login_throttle.forgive(attempt)
    return HttpResponse(body, status=status, headers=headers)


@endpoint
def revoke(request: HttpRequest) -> HttpResponse:
    """End what a token stands for (RFC 7009).  An unknown token is no error."""
    attempt = login_throttle.count_token_request(_address(request), now=timezone.now())
    headers, body, status = AuthorizationServer().create_revocation_response(*parameters(request))
    if status == 200:
        login_throttle.forgive(attempt)
    return HttpResponse(body, status=status, headers={"Content-Type": "application/json", **headers})


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _error(
    error: str, description: str, *, status: int = 400, headers: Mapping[str, str] | None = None
) -> JsonResponse:
    return JsonResponse({"error": error, "error_description": description}, status=status, headers=headers)
