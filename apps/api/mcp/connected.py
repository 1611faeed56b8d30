"""The endpoint for memories, which clients that a person connected through OAuth use as well."""

from collections.abc import Mapping
from typing import Final

from django.conf import settings
from django.utils.functional import cached_property
from rest_framework.response import Response

from apps.api.authentication import OAuthAuthentication
from apps.api.mcp.views import McpView
from apps.api.permissions import InsufficientScope
from apps.api.views import ApiView, BeyondToken
from apps.apikeys import oauth
from apps.apikeys.selectors import Authenticated
from apps.memories.spaces import find_person_name

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


class MemoryMcpView(McpView):
    """Tools for memories, for keys and for clients that a person connected."""

    catalogue = "apps.api.mcp.memories"
    authentication_classes = (OAuthAuthentication, *ApiView.authentication_classes)

    def confine(self, token: Authenticated) -> None:
        if token.account_id is None:
            raise BeyondToken

    def end_user(self, in_body: str | None) -> str:
        auth = self.request.auth
        if not isinstance(auth, Authenticated) or auth.end_user_id is None:
            return super().end_user(in_body)
        if self.request.headers.get("X-End-User-ID", "").strip() and super().end_user(in_body) != self._given_end_user:
            raise BeyondToken("This token is of one end user: omit X-End-User-ID.")
        return self._given_end_user

    @cached_property
    def _given_end_user(self) -> str:
        """The only one that the token reaches.  Raises BeyondToken once their row is erased."""
        auth = self.request.auth
        assert isinstance(auth, Authenticated)  # noqa: S101  (see ``end_user``)
        name = find_person_name(self.caller, auth.end_user_id or 0)
        if name is None:
            raise BeyondToken("The end user of this token was erased: connect again.")
        return name

    def headers_of(self, response: Response) -> Mapping[str, str]:
        """What a client needs to ask a person for access, or for more of it."""
        if not settings.OAUTH_ISSUER or response.status_code not in (401, 403):
            return {}
        metadata = f'resource_metadata="{settings.OAUTH_ISSUER}{WELL_KNOWN}{self.request.path}"'
        if response.status_code == 401:
            return {"WWW-Authenticate": f'Bearer {metadata}, scope="{" ".join(oauth.FIRST_RIGHTS)}"'}
        error = response.data["error"]
        if error["code"] != InsufficientScope.code:  # the only one of these whose caller is known
            return {}
        auth = self.request.auth
        if not isinstance(auth, Authenticated) or auth.account_id is None:
            return {}
        wanted = {*auth.permissions, error["message"].rpartition(" ")[2]}
        scope = " ".join(one for one in oauth.RIGHTS if one in wanted)
        return {"WWW-Authenticate": f'Bearer error="insufficient_scope", {metadata}, scope="{scope}"'}
