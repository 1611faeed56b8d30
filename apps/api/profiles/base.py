"""The base of the views of profiles: names in the path, errors and headers as seed 000 has them (docs/profiles.md)."""

import string
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework.response import Response

from apps.api.errors import NotImplementedHere, status_of
from apps.api.schema import BRANCH_NAME, ApiSchema, ProfileRefusalOutput
from apps.api.views import ApiView, BeyondToken
from apps.apikeys.selectors import Authenticated
from apps.core.errors import DomainError, Malformed, NotFound, Unavailable
from apps.core.scoping import tenant_transaction
from apps.memories.branches import MAIN
from apps.memories.spaces import (
    BranchNotFound,
    SpaceOwner,
    find_namespace,
    find_owned,
    find_person,
    name_in_namespace,
    space_now,
)
from apps.projects.scope import Scope

NAME: Final = frozenset(string.ascii_lowercase + string.digits + "_-")
MAX_NAME: Final = 64  # characters
MAX_TXID: Final = 18  # digits
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
BRANCH, BRANCH_HEADER = "branch", "Memoturn-Branch"
DURABLE: Final = "durable"


class NameMalformed(Malformed):
    """A namespace or profile has 1 to 64 characters: a-z, 0-9, _ and single hyphens; the first is a letter or digit."""


class HeaderMalformed(Malformed):
    """A Memoturn header has a value that it cannot have."""


class ProfileNotFound(NotFound):
    """No such profile."""


OWN_CODES: Final = {BranchNotFound: "branch_not_found", NotImplementedHere: "unconfigured"}


class NotYetThere(Unavailable):
    """This server has not reached the transaction that Memoturn-Min-Txid names."""


class ProfileSchema(ApiSchema):
    refused = ProfileRefusalOutput
    refusal = "ProfileRefused"
    statuses = STATUS_HERE

    def get_override_parameters(self) -> list[Any]:
        headers = super().get_override_parameters()
        if not self.view.in_branches:  # type: ignore[attr-defined]  # only ProfileViews have this schema
            return [one for one in headers if one.name != BRANCH_HEADER]
        branch = OpenApiParameter(
            name=BRANCH,
            type={"type": "string", "pattern": BRANCH_NAME},
            location=OpenApiParameter.QUERY,
            description="A branch of the profile; `main` by default.  The header `Memoturn-Branch` is the same.",
        )
        return [*headers, branch]


class ProfileView(ApiView):
    """A profile of a namespace is the end user of that name there: other routes reach the same memories.

    A handler begins with ``owner``, ``found`` or ``known``, which check the names and the headers.
    in_branches: whether its operations are of the branch that the request names; otherwise they are of the profile.
    """

    in_branches: ClassVar = True
    headers_read: ClassVar = ("X-Project-ID", BRANCH_HEADER)
    silent_answer: ClassVar = None
    schema = ProfileSchema()

    _found: Scope | None = None
    _txid: int | None = None

    def confine(self, token: Authenticated) -> None:
        """Raises BeyondToken unless the token is of the request's namespace or profile, known or not."""
        scope, ns, profile = self.caller, self.kwargs["ns"], self.kwargs.get("profile", "")
        if not is_name(ns) or not (is_name(profile) or not profile):
            raise BeyondToken
        if token.profile_id is not None:
            named = find_person(scope, name_in_namespace(scope, ns, profile)) if profile else None
            is_mine = named == token.profile_id
        else:
            is_mine = ns != scope.tenant.name and find_namespace(scope, ns) == token.namespace_id
        if not is_mine:
            raise BeyondToken

    def headers_of(self, response: Response) -> Mapping[str, str]:
        """Memoturn-Txid: 0 of a profile that is unknown, and to a caller who may not ask, and of an error of ours."""
        if self._txid is None and self.is_let_in and response.status_code != 500:
            self._txid = txid_of(self._found or self._refused())
        return {"Memoturn-Txid": str(self._txid or 0)}

    def _refused(self) -> Scope:
        """The profile of a request that was refused before its handler looked the profile up."""
        scope, names = self.caller, self.kwargs
        try:
            space = find_owned(self.scope(), self.owner(names["ns"], names.get("profile", "")))
        except DomainError:
            return scope
        return scope.in_spaces(space) if space else scope

    def refusal(self, error: DomainError, *, request_id: str) -> tuple[dict[str, Any], int]:
        """``{"error": message, "code"}``, and a status that clients of profiles know."""
        status = status_of(error)
        code = OWN_CODES.get(type(error)) or CODES.get(status, "internal")
        body: dict[str, Any] = {
            "error": error.message,
            "code": code,
            "reason": error.code,
            "detail": error.message,
            "request_id": request_id,
            **error.extra,
        }
        if error.details:
            body["details"] = error.details
        return body, STATUS_HERE.get(status, status)

    # --- for handlers -------------------------------------------------------------------------------------------------

    def owner(self, ns: str, profile: str = "") -> SpaceOwner:
        """The end user that the profile is, known or not, and the branch.

        Raises NameMalformed, BranchNotFound, HeaderMalformed.
        """
        if not is_name(ns) or not (is_name(profile) or not profile):
            raise NameMalformed
        sent = self.request.headers
        if sent.get("Memoturn-Consistency", CONSISTENCY[0]) not in CONSISTENCY:
            raise HeaderMalformed("Memoturn-Consistency is primary or cached.")
        if sent.get("Memoturn-Durability", DURABLE) != DURABLE:
            raise HeaderMalformed("Memoturn-Durability is durable, as every write is.")
        return SpaceOwner.end_user(name_in_namespace(self.caller, ns, profile), branch=self._branch())

    def found(self, ns: str, profile: str, *, writes: bool = False) -> Scope:
        """A scope with the space of the profile or of its branch; without one if nothing was ever written to a profile.

        Raises BranchNotFound, and ProfileNotFound and NotYetThere by the header Memoturn-Min-Txid.
        """
        owner, scope = self.owner(ns, profile), self.scope(writes=writes)
        least = self._least_txid()
        space = find_owned(scope, owner)
        if owner.branch and (space is None or space.has_ended(self.now())):
            raise BranchNotFound
        self._found = scope = scope.in_spaces(space) if space else scope
        if least and space is None:
            raise ProfileNotFound
        if least and txid_of(scope) < least:
            raise NotYetThere
        return scope

    def known(self, ns: str, profile: str, *, writes: bool = False) -> Scope:
        """As ``found``.  Raises ProfileNotFound without a space."""
        scope = self.found(ns, profile, writes=writes)
        if not scope.spaces:
            raise ProfileNotFound
        return scope

    def reached(self, txid: int) -> None:
        """Send this number of the profile's latest change with the response; without it, it is looked up."""
        self._txid = txid

    def query(self) -> dict[str, Any]:
        """Without the branch, which any operation in branches takes."""
        sent = super().query()
        if self.in_branches:
            sent.pop(BRANCH, None)
        return sent

    def _branch(self) -> str:
        """Of the header or of the query string; empty for main."""
        named = {self.request.headers.get(BRANCH_HEADER, MAIN)}
        if self.in_branches and BRANCH in self.request.query_params:
            asked = self.request.query_params[BRANCH]
            named = {asked, self.request.headers.get(BRANCH_HEADER, asked)}
        if len(named) > 1:
            raise HeaderMalformed("Memoturn-Branch and the parameter branch name two branches.")
        (name,) = named
        if name == MAIN:
            return ""
        if not self.in_branches:
            raise HeaderMalformed("Memoturn-Branch: this is of the profile, and not of one of its branches.")
        if not is_name(name):
            raise BranchNotFound
        return name

    def _least_txid(self) -> int:
        sent = self.request.headers.get("Memoturn-Min-Txid", "0")
        if not (sent.isascii() and sent.isdigit()) or len(sent) > MAX_TXID:
            raise HeaderMalformed("Memoturn-Min-Txid is a whole number.")
        return int(sent)


def txid_of(scope: Scope) -> int:
    """Number of the latest change of the scope's one space; 0 without one."""
    if not scope.spaces:
        return 0
    with tenant_transaction(scope):
        return space_now(scope, scope.space.id).txid


def is_name(text: str) -> bool:
    return 0 < len(text) <= MAX_NAME and NAME.issuperset(text) and text[0] not in "_-" and "--" not in text
