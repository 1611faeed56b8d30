"""The base of every API view: who asks, whose data, which fields."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, Final

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.bearer import SignedIn
from apps.api import metering, throttling
from apps.api.authentication import ApiKeyAuthentication, BearerAuthentication, PersonAuthentication
from apps.api.errors import LengthRequired, MethodNotAllowed, invalid
from apps.api.fields import Input, Parameters, is_label
from apps.api.parsers import JSONOnly, StrictJSONParser
from apps.api.permissions import HasPermission, InsufficientScope
from apps.api.renderers import OrjsonRenderer
from apps.api.schema import ApiSchema
from apps.core.errors import Conflict, Forbidden, Malformed
from apps.memories.spaces import find_end_user
from apps.projects.scope import SYSTEM, Environment, Scope, TenantRef
from apps.projects.selectors import default_project, get_project, is_archived

MAX_END_USER_ID: Final = 256
PROJECT_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class EndUserMissing(Malformed):
    """Name the end user in the X-End-User-ID header."""

    code = "MISSING_END_USER_ID"


class EndUserMalformed(Malformed):
    """An end user's id has 1 to 256 characters, and no control characters among them."""

    code = "INVALID_END_USER_ID"


class TenantMismatch(Forbidden):
    """X-Tenant-ID names another tenant than the key's."""

    code = "TENANT_MISMATCH"


class ProjectArchived(Conflict):
    """This project is archived: it can be read and no longer added to."""

    code = "PROJECT_ARCHIVED"


class ProjectMalformed(Malformed):
    """A project id has 1 to 64 characters: letters, digits, - and _."""

    code = "INVALID_PROJECT_ID"


class ApiView(APIView):
    """A view lists its methods and the permission of each; any other method is refused.

    Handlers translate: body to values, one call to a service, result to body.
    """

    permissions: ClassVar[Mapping[str, str]] = {}
    # Where people need something else than keys do.
    people: ClassVar[Mapping[str, str]] = {}
    # Methods that a person may use only within minutes of showing who they are: what reveals, and what destroys.
    fresh: ClassVar[frozenset[str]] = frozenset()
    # What a method counts for the tenant's quota, adds or retrievals, and what a silent quota answers in its place.
    meters: ClassVar[Mapping[str, str]] = {}
    # None: refuse as a strict one does.
    silent_answer: ClassVar[Mapping[str, Any] | None] = {"status": "ok"}
    silent_status: ClassVar[int] = 200

    authentication_classes: Sequence[type[BaseAuthentication]] = (BearerAuthentication, ApiKeyAuthentication)
    permission_classes: Sequence[type[HasPermission]] = (HasPermission,)
    throttle_classes = (throttling.RateLimit,)
    parser_classes: Sequence[type[BaseParser]] = (StrictJSONParser,)
    renderer_classes = (OrjsonRenderer,)
    content_negotiation_class = JSONOnly
    schema = ApiSchema()

    @property
    def allowed_methods(self) -> list[str]:
        return sorted(self.permissions)

    def permission_for(self, method: str | None) -> str:
        """Raises MethodNotAllowed for a method that is not in the table; HEAD is GET without the body."""
        try:
            return self.permissions["GET" if method == "HEAD" else method or ""]
        except KeyError:
            raise MethodNotAllowed(self.allowed_methods) from None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.permission_for(request.method)
        # WSGI shows such a body as an empty one, and what was sent would be lost without a word.
        if request.headers.get("Transfer-Encoding") and not request.headers.get("Content-Length"):
            raise LengthRequired
        super().initial(request, *args, **kwargs)
        tenant = request.headers.get("X-Tenant-ID")
        if tenant is not None and isinstance(request.user, Scope) and tenant != request.user.tenant.name:
            raise TenantMismatch
        if (meter := self.meters.get(request.method or "")) and isinstance(request.user, Scope):
            metering.take(request, request.user, meter, may_be_silent=self.silent_answer is not None, now=self.now())

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, metering.SilentlyOver):
            return Response(dict(self.silent_answer or {}), status=self.silent_status)
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        metering.settle(request, final)
        final.headers.setdefault("Cache-Control", "no-store")  # what is opened for one caller is nobody else's to keep
        for name, value in throttling.headers_of(request).items():
            final[name] = value
        return final

    # --- what handlers ask ------------------------------------------------------------------------------------------

    def read(self, kind: type[Input]) -> Any:
        """The body's fields, checked.  Raises what becomes a 422 that names each field at fault."""
        body = kind(data=self.request.data)
        body.is_valid(raise_exception=True)
        return body.validated_data

    def read_parameters(self, kind: type[Parameters]) -> Any:
        """As ``read``, for the query string."""
        asked = kind(data=self.request.query_params.dict())
        try:
            asked.is_valid(raise_exception=True)
        except ValidationError as refused:
            raise invalid(refused, place="query") from None
        return asked.validated_data

    def now(self) -> datetime:
        return timezone.now()

    def scope(self, *, writes: bool = False) -> Scope:
        """The key's tenant and environment, and one project: of the header, else of the key, else the default one.
        Nobody's space yet."""
        scope = self.request.user
        assert isinstance(scope, Scope)  # noqa: S101  (every route that is not open has a key)
        if named := self.request.headers.get("X-Project-ID", "").strip():
            project = get_project(scope, _project_id(named))
            if writes and project.archived_at:
                raise ProjectArchived
            return replace(scope, project_id=project.pk)
        if not writes and self._asks_across_projects(scope):
            return replace(scope, project_id=None)
        if scope.project_id is None:
            return replace(scope, project_id=_default_project(scope.tenant))
        if writes and is_archived(scope, scope.project_id):
            raise ProjectArchived
        return scope

    def _asks_across_projects(self, scope: Scope) -> bool:
        if self.request.headers.get("X-Allow-Cross-Project", "").strip().lower() != "true":
            return False
        if "org:cross_project_read" not in scope.permissions:
            raise InsufficientScope("Insufficient scope. Missing: org:cross_project_read")
        return True

    def reader(self, end_user_id: str | None = None, *, writes: bool = False) -> Scope:
        """A scope that reaches one end user's memories.  Of a stranger it reaches nothing, and makes nothing.

        writes: it is to change what it reaches.
        """
        scope = self.scope(writes=writes)
        space = find_end_user(scope, self.end_user(end_user_id))
        return scope.in_spaces(space) if space else scope

    def end_user_or_none(self, in_body: str | None) -> str | None:
        """As ``end_user``, where nobody need be named."""
        try:
            return self.end_user(in_body)
        except EndUserMissing:
            return None

    def end_user(self, in_body: str | None) -> str:
        """Whose memories: the body's word before the header's."""
        named = in_body if in_body is not None else _header_text(self.request.headers.get("X-End-User-ID", ""))
        if not named.strip():
            raise EndUserMissing
        if len(named) > MAX_END_USER_ID or not is_label(named):
            raise EndUserMalformed
        return named


class ControlView(ApiView):
    """For what is about the tenant and about nobody's memories.  Named projects and end users are passed over: clients
    send the header of a project with everything."""

    @property
    def caller(self) -> Scope:
        """Who asks, a program or a person, in which tenant."""
        scope = self.request.user
        assert isinstance(scope, Scope)  # noqa: S101  (every route that is not open has a key or a person)
        return scope

    @property
    def person_id(self) -> int:
        """On a route that is for people alone."""
        assert self.caller.principal.kind == "account"  # noqa: S101  (no key carries its permission)
        return self.caller.principal.id


class PersonView(ApiView):
    """For whoever signed in, about themselves; its table says PERSON.  ``request.user`` is their ``SignedIn``."""

    authentication_classes = (PersonAuthentication,)

    @property
    def person(self) -> SignedIn:
        found = self.request.user
        assert isinstance(found, SignedIn)  # noqa: S101  (the table says PERSON)
        return found


class OpenView(ApiView):
    """For anybody, without a credential; its table says OPEN."""

    authentication_classes = ()


def _header_text(value: str) -> str:
    """WSGI hands headers over as Latin-1; an id sent as UTF-8 is the same id as in a body."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        raise EndUserMalformed from None


def _project_id(value: str) -> str:
    if not PROJECT_ID.fullmatch(value):
        raise ProjectMalformed
    return value


@lru_cache(maxsize=10_000)
def _default_project(tenant: TenantRef) -> int:
    """A tenant's default project never changes, so it is looked up once in a process."""
    return default_project(Scope(tenant=tenant, environment=Environment.PRODUCTION, principal=SYSTEM)).pk
