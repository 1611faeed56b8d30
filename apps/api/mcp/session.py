"""What a tool, a resource or a prompt may use: the caller's request, and the REST routes, called in this process."""

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from django.core.handlers.wsgi import WSGIRequest
from django.urls import resolve
from rest_framework.request import Request

from apps.api.fields import is_label
from apps.api.mcp.protocol import Call
from apps.api.permissions import InsufficientScope
from apps.api.views import ApiView
from apps.apikeys.selectors import Authenticated
from apps.projects.scope import Scope

MOST_OF_A_NAME: Final = 64  # characters
SOURCE: Final = "mcp"  # of memories whose client is not named
STREAM: Final = "text/event-stream"
OF_THE_OUTER_REQUEST: Final = ("HTTP_TRANSFER_ENCODING", "REQUEST_URI")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteAnswer:
    """Status and body of a route's response."""

    status: int
    body: Any

    @property
    def failed(self) -> bool:
        return self.status >= 400


class RouteFailed(Exception):
    """A route refused the call.  message: for the model, which can correct it."""

    def __init__(self, answer: RouteAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer

    @property
    def message(self) -> str:
        error = self.answer.body["error"]
        if isinstance(error, str):  # of a profile
            return f"{error} ({self.answer.body['reason']})"
        return f"{error['message']} ({error['code']})"


class TooFewRights(InsufficientScope):
    """The client that a person connected lacks a right: unlike a key, it can ask the person for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSession:
    """One call of one client.  view: that received it."""

    request: Request
    call: Call
    view: ApiView

    @property
    def scope(self) -> Scope:
        scope = self.request.user
        assert isinstance(scope, Scope)  # noqa: S101  (the view lets nobody else in)
        return scope

    @property
    def connected(self) -> Authenticated | None:
        """Of a client that a person connected; None for any other caller."""
        auth = self.request.auth
        return auth if isinstance(auth, Authenticated) and auth.account_id is not None else None

    @property
    def end_user(self) -> str:
        """As the header names it; of a connected client, its own.  Raises EndUserMissing, EndUserMalformed."""
        return self.view.end_user(None)

    @property
    def source(self) -> str:
        """The label of the client that brings a memory."""
        name = self.call.client_name.strip()
        return name if 0 < len(name) <= MOST_OF_A_NAME and is_label(name) else SOURCE

    @property
    def can_ask(self) -> bool:
        """Whether a tool may ask the client something while it runs: of before 2026-07-28, it reads a stream."""
        return not self.call.is_modern and STREAM in self.request.headers.get("Accept", "")

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        """The body of a route's response: with its permissions, limits, quotas and checks, as if it had been called
        over HTTP with this request's headers.

        Raises RouteFailed, TooFewRights.
        """
        content = b"" if body is None else orjson.dumps(body)
        environ = {name: value for name, value in self.request.META.items() if name not in OF_THE_OUTER_REQUEST}
        environ |= {
            "REQUEST_METHOD": method,
            "PATH_INFO": path.encode().decode("latin-1"),  # as WSGI has it
            "RAW_URI": quote(path),
            "QUERY_STRING": urlencode(query or {}),
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(content)),
            "wsgi.input": BytesIO(content),
        }
        inner: Any = WSGIRequest(environ)
        # The caller is authenticated once; the route still checks what they may do.
        inner._force_auth_user, inner._force_auth_token = self.request.user, self.request.auth
        if connected := self.connected:
            inner.META["HTTP_X_END_USER_ID"] = self.end_user.encode().decode("latin-1")
            inner._force_auth_token = connected.unconfined()
        match = resolve(path)
        response = match.func(inner, *match.args, **match.kwargs)
        answer = RouteAnswer(status=response.status_code, body=response.data)
        if answer.failed:
            if self.connected and answer.status == 403 and answer.body["error"]["code"] == InsufficientScope.code:
                raise TooFewRights(answer.body["error"]["message"])
            raise RouteFailed(answer)
        return answer.body
