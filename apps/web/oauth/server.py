"""The authorization server: oauthlib's code flow, allauth's clients, and grants of our own (``apps.apikeys.oauth``).

Of allauth's provider only the clients and how they authenticate are used.  Its codes are kept in the cache, which each
process has for itself, and its tokens know no tenant and no reuse.
"""

from typing import Any, Final

from allauth.idp.oidc.internal.oauthlib.request_validator import OAuthLibRequestValidator
from allauth.idp.oidc.internal.oauthlib.utils import extract_params
from allauth.idp.oidc.models import Client
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from oauthlib.common import Request, generate_token
from oauthlib.oauth2 import AuthorizationEndpoint, BearerToken, RevocationEndpoint, TokenEndpoint
from oauthlib.oauth2.rfc6749.errors import OAuth2Error
from oauthlib.oauth2.rfc6749.grant_types import AuthorizationCodeGrant, RefreshTokenGrant
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256

from apps.apikeys import oauth
from apps.web.oauth.clients import find_client, is_registered

_TOKEN_LENGTH: Final = 43  # letters and digits: 256 bits


class InvalidTarget(OAuth2Error):  # type: ignore[misc]  # oauthlib ships no types
    error = "invalid_target"
    description = "This server has no such resource."


class S256CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]  # the same
    _code_challenge_methods = {oauth.S256: code_challenge_method_s256}  # noqa: RUF012  (the base class's name)


class AuthorizationServer(AuthorizationEndpoint, TokenEndpoint, RevocationEndpoint):  # type: ignore[misc]  # the same
    """Code flow with S256, refresh and revocation; nothing else."""

    def __init__(self) -> None:
        validator = Validator()
        code, refresh = S256CodeGrant(validator), RefreshTokenGrant(validator)
        bearer = BearerToken(
            validator,
            token_generator=lambda _: oauth.ACCESS + generate_token(_TOKEN_LENGTH),
            refresh_token_generator=lambda _: oauth.REFRESH + generate_token(_TOKEN_LENGTH),
            expires_in=int(oauth.ACCESS_LIFETIME.total_seconds()),
        )
        AuthorizationEndpoint.__init__(
            self, default_response_type="code", response_types={"code": code}, default_token_type=bearer
        )
        TokenEndpoint.__init__(
            self,
            default_grant_type="authorization_code",
            grant_types={"authorization_code": code, "refresh_token": refresh},
            default_token_type=bearer,
        )
        RevocationEndpoint.__init__(self, validator)


class Validator(OAuthLibRequestValidator):  # type: ignore[misc]  # allauth ships no types
    """Called inside the transaction of a token request, which holds the code or grant that it finds."""

    def _lookup_client(self, request: Request, client_id: str) -> Client | None:
        return find_client(client_id) if isinstance(client_id, str) else None

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return is_registered(redirect_uri, request.client)

    def validate_response_type(self, client_id: str, response_type: str, *args: Any, **kwargs: Any) -> bool:
        return response_type == "code"

    def validate_grant_type(self, client_id: str, grant_type: str, *args: Any, **kwargs: Any) -> bool:
        return grant_type in oauth.GRANT_TYPES

    def get_default_scopes(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> list[str]:
        return list(oauth.FIRST_RIGHTS)

    def validate_scopes(self, client_id: str, scopes: list[str], *args: Any, **kwargs: Any) -> bool:
        return set(scopes) <= set(oauth.RIGHTS)

    def is_pkce_required(self, client_id: str, request: Request) -> bool:
        return True

    # -- codes --------------------------------------------------------------------------------------------------------

    def save_authorization_code(
        self, client_id: str, code: dict[str, Any], request: Request, *args: Any, **kwargs: Any
    ) -> None:
        request.keep_code(code["code"])

    def validate_code(
        self, client_id: str, code: str, client: Client, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        request.found_code = oauth.find_code(code, client.pk, now=timezone.now())
        if request.found_code is None:
            return False
        request.user = request.found_code.user
        _check_resource(request, request.found_code.audience)
        return True

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Client, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        return bool(redirect_uri == request.found_code.redirect_uri)

    def get_code_challenge(self, code: str, request: Request) -> str | None:
        challenge: str = request.found_code.code_challenge
        return challenge

    def get_code_challenge_method(self, code: str, request: Request) -> str | None:
        return oauth.S256

    def invalidate_authorization_code(self, client_id: str, code: str, *args: Any, **kwargs: Any) -> None:
        """Done when its grant was opened."""

    # -- tokens -------------------------------------------------------------------------------------------------------

    def save_bearer_token(self, token: dict[str, Any], request: Request, *args: Any, **kwargs: Any) -> None:
        pair = {"access": token["access_token"], "refresh": token["refresh_token"]}
        now = timezone.now()
        if request.grant_type == "refresh_token":
            grant = request.found_grant
            oauth.renew(grant, **pair, now=now)
        else:
            grant = oauth.open_grant(request.found_code, **pair, now=now)
        token["scope"] = " ".join(oauth.scopes_of(grant, now=now))

    def validate_refresh_token(
        self, refresh_token: str, client: Client, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        request.found_grant = oauth.find_grant(refresh_token, client.pk, now=timezone.now())
        if request.found_grant is None:
            return False
        request.user = request.found_grant.user
        _check_resource(request, request.found_grant.audience)
        return True

    def get_original_scopes(self, refresh_token: str, request: Request, *args: Any, **kwargs: Any) -> list[str]:
        return oauth.scopes_of(request.found_grant, now=timezone.now())

    def rotate_refresh_token(self, request: Request) -> bool:
        return True

    def revoke_token(self, token: str, token_type_hint: str, request: Request, *args: Any, **kwargs: Any) -> None:
        if isinstance(request.client, Client):
            oauth.end_by_token(token, request.client.pk, now=timezone.now())


def audience_of(resources: list[str]) -> str:
    """The resource that a client asks for; without one, /v1/mcp.  Raises InvalidTarget."""
    served = [settings.OAUTH_ISSUER + path for path in oauth.RESOURCES]
    if len(resources) > 1 or not set(resources) <= set(served):
        raise InvalidTarget
    return resources[0] if resources else served[0]


def parameters(request: HttpRequest) -> tuple[str, str, str, dict[str, str]]:
    """What oauthlib takes of a request: address, method, body and headers."""
    found: tuple[str, str, str, dict[str, str]] = extract_params(request)
    return found


def _check_resource(request: Request, audience: str) -> None:
    """Raises InvalidTarget if a token request names another resource than its code or grant is for."""
    if getattr(request, "resource", None) not in (None, "", audience):
        raise InvalidTarget(request=request)
