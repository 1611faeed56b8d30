"""The base classes of every API view: caller, end user, project, and input."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api_sessions import SignedIn
from apps.api import metering, throttling
from apps.api.authentication import ApiKeyAuthentication, BearerAuthentication, PersonAuthentication
from apps.api.errors import LengthRequired, MethodNotAllowed, envelope, invalid, status_of
from apps.api.fields import is_label
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import taken_by
from apps.api.parsers import JSONOnly, StrictJSONParser
from apps.api.permissions import HasPermission, InsufficientScope
from apps.api.renderers import OrjsonRenderer
from apps.api.request_context import request_context
from apps.api.schema import ApiSchema
from apps.api.unknown import repeated_names
from apps.apikeys.permissions import CROSS_PROJECT_READ
from apps.apikeys.selectors import Authenticated
from apps.core.errors import Conflict, DomainError, Forbidden, Malformed
from apps.core.retries import retried
from apps.memories.spaces import find_end_user
from apps.projects.scope import SYSTEM, Environment, Scope, TenantRef
from apps.projects.selectors import ProjectNotFound, default_project, find_project, is_archived

if TYPE_CHECKING:  # views import no models
    from apps.projects.models import Project

MAX_END_USER_ID: Final = 256
PROJECT_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class EndUserMissing(Malformed):
    """Name the end user in the X-End-User-ID header."""

    code = "MISSING_END_USER_ID"


class EndUserMalformed(Malformed):
    """An end-user ID has 1 to 256 characters and no control characters."""

    code = "INVALID_END_USER_ID"


class TenantMismatch(Forbidden):
    """X-Tenant-ID names another tenant than the key's."""

    code = "TENANT_MISMATCH"


class ProjectArchived(Conflict):
    """This project is archived: its memories can be read, and no new ones can be added."""

    code = "PROJECT_ARCHIVED"


class ProjectMalformed(Malformed):
    """A project id has 1 to 64 characters: letters, digits, - and _."""

    code = "INVALID_PROJECT_ID"


class ProjectBeyondKey(Forbidden):
    """The key is pinned to another project: omit the project, change the key or add org:cross_project_read."""

    code = "PROJECT_BEYOND_KEY"


class BeyondToken(Forbidden):
    """This token is of one namespace or profile, and reaches nothing else: use a key of the tenant."""

    code = "BEYOND_TOKEN"


class NoFields(Input):
    """Of an operation that takes no body: none, or an empty object."""


class NoParameters(Parameters):
    """Of an operation that takes no query string."""


class ApiView(APIView):
    """A view lists its methods and the permission of each; any other method is refused.

    Handlers translate: body to values, one call to a service, result to body.
    """

    permissions: ClassVar[Mapping[str, str]] = {}
    # Permissions of users, where they differ from those of keys.
    people: ClassVar[Mapping[str, str]] = {}
    # Methods for which a user must have confirmed their identity minutes ago: they reveal or destroy.
    fresh: ClassVar[frozenset[str]] = frozenset()
    # Those of them that delete data or remove permissions: a password alone is never sufficient.
    destroys: ClassVar[frozenset[str]] = frozenset()
    # Headers that identify the data, besides the credential.
    headers_read: ClassVar[Collection[str]] = ("X-End-User-ID", "X-Project-ID")
    # Methods that change nothing in a project, besides those whose permission ends in ":read".
    reads: ClassVar[frozenset[str]] = frozenset({"GET"})
    # The meter of the tenant's quota that a method counts for (adds or retrievals), and its response over a silent
    # quota.
    meters: ClassVar[Mapping[str, str]] = {}
    # None: refuse, as over a strict quota.
    silent_answer: ClassVar[Mapping[str, Any] | None] = {"status": "ok"}
    silent_status: ClassVar[int] = 200
    # Statuses of its refusals besides those of every view, for the schema.
    refuses: ClassVar[frozenset[int]] = frozenset()
    # Limit for JSON bodies, if lower than MAX_BODY_BYTES.
    max_body_bytes: ClassVar[int | None] = None

    is_let_in = False

    authentication_classes: Sequence[type[BaseAuthentication]] = (BearerAuthentication, ApiKeyAuthentication)
    permission_classes: Sequence[type[HasPermission]] = (HasPermission,)
    throttle_classes: Sequence[type[throttling.RateLimit]] = (throttling.RateLimit,)
    parser_classes: Sequence[type[BaseParser]] = (StrictJSONParser,)
    renderer_classes = (OrjsonRenderer,)
    content_negotiation_class = JSONOnly
    schema = ApiSchema()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """What a handler calls is done again where its transaction was given up; not what let the caller in."""
        super().__init_subclass__(**kwargs)
        for name in vars(cls).keys() & set(cls.http_method_names):
            setattr(cls, name, retried(vars(cls)[name]))

    @property
    def allowed_methods(self) -> list[str]:
        return sorted(self.permissions)

    def permission_for(self, method: str | None) -> str:
        """Raises MethodNotAllowed for a method that is not in the table; HEAD is GET without the body."""
        try:
            return self.permissions["GET" if method == "HEAD" else method or ""]
        except KeyError:
            raise MethodNotAllowed(self.allowed_methods) from None

    def check_permissions(self, request: Request) -> None:
        if isinstance(request.auth, Authenticated) and request.auth.is_token:
            self.confine(request.auth)
        super().check_permissions(request)

    def confine(self, token: Authenticated) -> None:
        """Let in the token of a namespace or profile, or raise BeyondToken: only routes of profiles let any in."""
        raise BeyondToken

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.permission_for(request.method)
        # WSGI presents such a body as empty, so that its content would be lost silently.
        if request.headers.get("Transfer-Encoding") and not request.headers.get("Content-Length"):
            raise LengthRequired
        retried(super().initial)(request, *args, **kwargs)
        self.is_let_in = True
        tenant = request.headers.get("X-Tenant-ID")
        if tenant is not None and isinstance(request.user, Scope) and tenant != request.user.tenant.name:
            raise TenantMismatch
        self.refuse_what_is_not_taken()
        if (meter := self.meters.get(request.method or "")) and isinstance(request.user, Scope):
            metering.take(request, request.user, meter, may_be_silent=self.silent_answer is not None, now=self.now())

    def refuse_what_is_not_taken(self) -> None:
        """Fields and parameters of an operation that takes none: nothing that is sent is ignored without a word."""
        method = "get" if self.request.method == "HEAD" else str(self.request.method).lower()
        taken = taken_by(getattr(self, method, None))
        if not taken.query and self.request.META.get("QUERY_STRING"):
            self.read_parameters(NoParameters)
        if not taken.body and self.request.META.get("CONTENT_LENGTH") not in (None, "", "0"):
            self.read(NoFields)

    def refusal(self, error: DomainError, *, request_id: str) -> tuple[dict[str, Any], int]:
        """The body and the status of an error."""
        return envelope(error, request_id=request_id), status_of(error)

    def headers_of(self, response: Response) -> Mapping[str, str]:
        """Further headers of a response, also of an error."""
        return {}

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, metering.SilentlyOver):
            return Response(dict(self.silent_answer or {}), status=self.silent_status)
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        metering.settle(request, final)
        final.headers.setdefault("Cache-Control", "no-store")  # decrypted for one caller: no cache may store it
        for name, value in {**throttling.headers_of(request), **self.headers_of(final)}.items():
            final[name] = value
        return final

    # --- for handlers -------------------------------------------------------------------------------------------------

    def read(self, kind: type[Input]) -> Any:
        """The body's fields, checked.  Raises what becomes a 422 that names each field at fault."""
        return kind.check(self.request.data)

    def read_parameters(self, kind: type[Parameters]) -> Any:
        """As ``read``, for the query string, in which no name stands twice."""
        twice = [name for name, values in self.request.query_params.lists() if len(values) > 1]
        try:
            if twice:
                raise ValidationError(repeated_names(twice))
            return kind.check(self.query())
        except ValidationError as refused:
            raise invalid(refused, place="query") from None

    def query(self) -> dict[str, Any]:
        """The parameters of the operation, as the query string has them."""
        return dict(self.request.query_params.dict())

    def now(self) -> datetime:
        return timezone.now()

    def scope(self, *, writes: bool = False) -> Scope:
        """The key's tenant and environment, and one project: of the header, else of the key, else the default one.
        No space yet.

        writes: it is to change what the project has.  Raises ProjectNotFound, ProjectBeyondKey, ProjectArchived.
        """
        scope = self._walled
        if named := self.request.headers.get("X-Project-ID", "").strip():
            project = self.project_named(named)
            if writes and project.archived_at:
                raise ProjectArchived
            return replace(scope, project_id=project.pk)
        if self._asks_across_projects(scope):
            return replace(scope, project_id=None)
        if scope.project_id is None:
            return replace(scope, project_id=_default_project(scope.tenant))
        if writes and is_archived(scope, scope.project_id):
            raise ProjectArchived
        return scope

    def project_named(self, public_id: str) -> "Project":
        """The project that the request names, wherever it does.  A pin of the key is a wall.

        Raises ProjectMalformed, ProjectNotFound and, whether or not there is such a project, ProjectBeyondKey.
        """
        scope = self.caller
        project = find_project(scope, _project_id(public_id))
        is_pinned = scope.project_id is not None
        if is_pinned and (project is None or project.pk != scope.project_id) and not self._may_read_across(scope):
            raise ProjectBeyondKey
        if project is None:
            raise ProjectNotFound
        return project

    @property
    def caller(self) -> Scope:
        """Who asks, a program or a person, in which tenant; of a key that is pinned, in its project."""
        scope = self.request.user
        assert isinstance(scope, Scope)  # noqa: S101  (every route that is not open has a key or a person)
        return scope

    @property
    def _walled(self) -> Scope:
        scope = self.caller
        return scope if self._may_read_across(scope) else replace(scope, wall=scope.project_id)

    def _asks_across_projects(self, scope: Scope) -> bool:
        if not self._is_reading or self.request.headers.get("X-Allow-Cross-Project", "").strip().lower() != "true":
            return False
        if CROSS_PROJECT_READ not in scope.permissions:
            raise InsufficientScope(f"Insufficient scope. Missing: {CROSS_PROJECT_READ}")
        return True

    def _may_read_across(self, scope: Scope) -> bool:
        return self._is_reading and CROSS_PROJECT_READ in scope.permissions

    @property
    def _is_reading(self) -> bool:
        method = "GET" if self.request.method == "HEAD" else self.request.method
        return method in self.reads or self.permission_for(method).endswith(":read")

    def reader(self, end_user_id: str | None = None, *, writes: bool = False, spans: bool = False) -> Scope:
        """A scope that reaches one end user's memories.  Of a stranger it reaches nothing, and makes nothing.

        writes: it is to change what it reaches.  spans: as ``reaching`` takes it.
        """
        scope = self.scope(writes=writes)
        return self.reaching(scope, self.end_user(end_user_id), spans=spans)

    def reaching(self, scope: Scope, external_id: str, *, spans: bool = False) -> Scope:
        """The scope with what there is of this end user.

        spans: in all environments of the key, unless the request names one; for services that read ``Scope.parts``.
        """
        if spans and isinstance(self.request.auth, Authenticated) and self.request.auth.also_reads:
            scope = replace(scope, also_reads=self.request.auth.also_reads)
            request_context(self.request).environment = ",".join(scope.environments)
        spaces = [find_end_user(replace(scope, environment=one), external_id) for one in scope.environments]
        return scope.in_spaces(*(space for space in spaces if space))

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
    """For routes about the tenant, not about memories.  Projects and end users in headers are ignored: clients send
    the project header with every request."""

    headers_read: ClassVar = ()

    @property
    def person_id(self) -> int:
        """On a route that is for people alone."""
        assert self.caller.principal.kind == "account"  # noqa: S101  (no key carries its permission)
        return self.caller.principal.id


class PersonView(ApiView):
    """For the signed-in user, about themselves; its table says PERSON.  ``request.user`` is their ``SignedIn``."""

    headers_read: ClassVar = ()
    authentication_classes = (PersonAuthentication,)

    @property
    def person(self) -> SignedIn:
        found = self.request.user
        assert isinstance(found, SignedIn)  # noqa: S101  (the table says PERSON)
        return found


class OpenView(ApiView):
    """For anybody, without a credential; its table says OPEN."""

    authentication_classes = ()
    max_body_bytes = 64 * 1024  # an anonymous client could send a longer body slowly to occupy a thread


def _header_text(value: str) -> str:
    """Decode a header as UTF-8: WSGI decodes headers as Latin-1, and ids must be the same in headers and bodies."""
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
    """The tenant's default project id, cached, because it never changes."""
    return default_project(Scope(tenant=tenant, environment=Environment.PRODUCTION, principal=SYSTEM)).pk
