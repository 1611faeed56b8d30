"""What clients of OAuth read first: metadata of the resource (RFC 9728) and of the server of tokens (RFC 8414)."""

from typing import ClassVar

from django.conf import settings
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.operations import operation
from apps.api.permissions import OPEN
from apps.api.views import OpenView
from apps.apikeys import oauth
from apps.core.errors import NotFound

AUTHENTICATION = ("none", "client_secret_basic", "client_secret_post")


class ResourceMetadataView(OpenView):
    """path: of the resource."""

    permissions: ClassVar = {"GET": OPEN}
    schema = None  # type: ignore[assignment]  # described by their RFCs
    path: ClassVar[str] = oauth.RESOURCES[0]

    @operation("oauth-resource", auth=[])
    def get(self, request: Request) -> Response:
        """Where a client asks a person for access to `/v1/mcp`.  404 while the server has no OAuth."""
        return Response(
            {
                "resource": _issuer() + self.path,
                "authorization_servers": [_issuer()],
                "scopes_supported": list(oauth.RIGHTS),
                "bearer_methods_supported": ["header"],
                "resource_name": "memsync",
            }
        )


class AliasMetadataView(ResourceMetadataView):
    path = oauth.RESOURCES[1]


class ServerMetadataView(OpenView):
    permissions: ClassVar = {"GET": OPEN}
    schema = None  # type: ignore[assignment]  # described by their RFCs

    @operation("oauth-server", auth=[])
    def get(self, request: Request) -> Response:
        """How a client gets tokens.  404 while the server has no OAuth."""
        issuer = _issuer()
        found = {
            "issuer": issuer,
            "authorization_endpoint": issuer + reverse("web_oauth_authorize"),
            "token_endpoint": issuer + reverse("oauth_token"),
            "revocation_endpoint": issuer + reverse("oauth_revoke"),
            "scopes_supported": list(oauth.RIGHTS),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(oauth.GRANT_TYPES),
            "token_endpoint_auth_methods_supported": list(AUTHENTICATION),
            "revocation_endpoint_auth_methods_supported": list(AUTHENTICATION),
            "code_challenge_methods_supported": [oauth.S256],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": settings.OAUTH_CLIENT_DOCUMENTS,
            "protected_resources": [issuer + path for path in oauth.RESOURCES],
        }
        if settings.OAUTH_REGISTRATION:
            found["registration_endpoint"] = issuer + reverse("oauth_register")
        return Response(found)


def _issuer() -> str:
    """Raises NotFound while OAuth is off."""
    issuer: str = settings.OAUTH_ISSUER
    if not issuer:
        raise NotFound
    return issuer
