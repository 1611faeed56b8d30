"""The base of the views of profiles: names in the path, errors and headers as seed 000 has them (docs/profiles.md)."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.errors import NotImplementedHere, status_of, translate
from apps.api.schema import ApiSchema, ProfileRefusalOutput
from apps.api.views import ApiView
from apps.core.errors import DomainError, Malformed, NotFound, Unavailable
from apps.core.scoping import tenant_transaction
from apps.memories.spaces import find_end_user, name_in_namespace, space_now
from apps.projects.scope import Scope

NAME: Final = re.compile(r"[a-z0-9](?:-?[a-z0-9_])*-?", re.ASCII)  # no two hyphens in a row
MAX_NAME: Final = 64
TXID: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
CODES: Final[Mapping[int, str]] = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "invalid_request",
    409: "conflict",
    411: "invalid_request",
    413: "payload_too_large",
    415: "invalid_request",
    422: "invalid_request",
    429: "overloaded",
    500: "internal",
    501: "unconfigured",
    503: "unavailable",
}
STATUS_HERE: Final[Mapping[int, int]] = {422: 400, 501: 503}
CONSISTENCY: Final = ("primary", "cached")
MAIN: Final = "main"


class NameMalformed(Malformed):
    """A namespace or profile has 1 to 64 characters: a-z, 0-9, _ and single hyphens; the first is a letter or digit."""


class HeaderMalformed(Malformed):
    """A Memoturn header has a value that it cannot have."""


class ProfileNotFound(NotFound):
    """No such profile."""


class BranchNotFound(NotFound):
    """No such branch: a profile has the branch main alone."""


class NotYetThere(Unavailable):
    """This server has not reached the transaction that Memoturn-Min-Txid names."""


class ProfileSchema(ApiSchema):
    refused = ProfileRefusalOutput
    refusal = "ProfileRefused"
    statuses = STATUS_HERE


class ProfileView(ApiView):
    """A profile of a namespace is the end user of that name there: other routes reach the same memories."""

    headers_read: ClassVar = ("X-Project-ID",)
    silent_answer: ClassVar = None
    schema = ProfileSchema()

    _txid: int | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        for name in ("ns", "profile"):
            if name in kwargs and not is_name(kwargs[name]):
                raise NameMalformed
        if request.headers.get("Memoturn-Branch", MAIN) != MAIN:
            raise BranchNotFound
        if request.headers.get("Memoturn-Consistency", CONSISTENCY[0]) not in CONSISTENCY:
            raise HeaderMalformed("Memoturn-Consistency is primary or cached.")
        if request.headers.get("Memoturn-Durability", "durable") != "durable":
            raise HeaderMalformed("Memoturn-Durability is durable, as every write is.")

    def handle_exception(self, exc: Exception) -> Response:
        """``{"error": message, "code"}``, and the statuses that clients of profiles know."""
        response = super().handle_exception(exc)
        error = translate(exc)
        status = status_of(error)
        response.data = {
            "error": error.message,
            "code": _code(error, status),
            "request_id": response.data["request_id"],
            **({"details": error.details} if error.details else {}),
        }
        response.status_code = STATUS_HERE.get(status, status)
        return response

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        if self._txid is not None:
            final["Memoturn-Txid"] = str(self._txid)
        return final

    # --- for handlers -------------------------------------------------------------------------------------------------

    def found(self, ns: str, profile: str, *, writes: bool = False) -> Scope:
        """A scope with the profile's space, or without one if nothing was ever written to it.

        Raises ProfileNotFound and NotYetThere by the header Memoturn-Min-Txid.
        """
        scope = self.scope(writes=writes)
        space = find_end_user(scope, name_in_namespace(scope, ns, profile))
        least = self._least_txid()
        if space is None:
            if least:
                raise ProfileNotFound
            self.reached(0)
            return scope
        scope = scope.in_spaces(space)
        self.reached_now(scope)
        if self._txid is not None and self._txid < least:
            raise NotYetThere
        return scope

    def known(self, ns: str, profile: str) -> Scope:
        """As ``found``.  Raises ProfileNotFound without a space."""
        scope = self.found(ns, profile)
        if not scope.spaces:
            raise ProfileNotFound
        return scope

    def reached(self, txid: int) -> None:
        """Send this number of the profile's latest change with the response."""
        self._txid = txid

    def reached_now(self, scope: Scope) -> None:
        """As ``reached``, with the number as it is now; nothing without a space."""
        if scope.spaces:
            with tenant_transaction(scope):
                self.reached(space_now(scope, scope.space.id).txid)

    def _least_txid(self) -> int:
        sent = self.request.headers.get("Memoturn-Min-Txid", "0")
        if not TXID.fullmatch(sent):
            raise HeaderMalformed("Memoturn-Min-Txid is a whole number.")
        return int(sent)


def is_name(text: str) -> bool:
    return len(text) <= MAX_NAME and bool(NAME.fullmatch(text))


def _code(error: DomainError, status: int) -> str:
    if isinstance(error, BranchNotFound):
        return "branch_not_found"
    return "unconfigured" if isinstance(error, NotImplementedHere) else CODES.get(status, "internal")
