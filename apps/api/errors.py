"""Translates every error into a status and a body.

    {"error": {"code", "message", "details"?, "retry_after"?, ...}, "detail": the message again, "request_id"}

The published clients look for the message under ``detail`` first.
"""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from psycopg.errors import ForeignKeyViolation
from rest_framework import exceptions
from rest_framework.exceptions import ErrorDetail
from rest_framework.response import Response

from apps.adapters.errors import AdapterError
from apps.api.request_context import request_context
from apps.core.errors import (
    Busy,
    Conflict,
    DomainError,
    Forbidden,
    Gone,
    Invalid,
    LimitReached,
    Malformed,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unsupported,
)

logger = logging.getLogger(__name__)


class MethodNotAllowed(DomainError):
    """This path does not support this method."""

    code = "METHOD_NOT_ALLOWED"

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        super().__init__()
        self.allowed = allowed


class UnsupportedMediaType(Unsupported):
    """Send the body as application/json; a file, as multipart/form-data."""


class LengthRequired(DomainError):
    """Send a Content-Length; chunked bodies are not supported."""

    code = "LENGTH_REQUIRED"


class NotImplementedHere(DomainError):
    """This server does not support this."""

    code = "NOT_IMPLEMENTED"


class ReferenceDeleted(Conflict):
    """An object that this request refers to was deleted while it ran. Nothing was stored; check and try again."""

    code = "REFERENCE_DELETED"


class InternalError(DomainError):
    """Internal error; the log has the details under the request ID."""

    code = "INTERNAL_ERROR"


STATUSES: Final[Mapping[type[DomainError], int]] = {
    Malformed: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    MethodNotAllowed: 405,
    Conflict: 409,
    Gone: 410,
    LengthRequired: 411,
    TooLarge: 413,
    Unsupported: 415,
    UnsupportedMediaType: 415,
    Invalid: 422,
    LimitReached: 429,
    InternalError: 500,
    NotImplementedHere: 501,
    Unavailable: 503,
    Busy: 503,
}

# For error responses made outside the API: by Django, by a middleware, or for static files.
BY_STATUS: Final[Mapping[int, type[DomainError]]] = {
    status: kind for kind, status in STATUSES.items() if not issubclass(kind, LimitReached)
}
FOR_PEOPLE: Final = ("/admin/", "/app/")
OF_THE_BODY: Final = ("Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Content-Language")


def status_of(error: DomainError) -> int:
    """The status of the nearest class in the error's MRO."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def envelope(error: DomainError, *, request_id: str) -> dict[str, Any]:
    """The response body.  ``extra`` is merged beside code and message; retry_after is also at the top level, where one
    client looks for it."""
    inner: dict[str, Any] = {"code": error.code, "message": error.message, **error.extra}
    if error.details:
        inner["details"] = error.details
    body: dict[str, Any] = {"error": inner, "detail": error.message, "request_id": request_id}
    if isinstance(error, LimitReached):
        inner["retry_after"] = body["retry_after"] = _seconds(error)
    return body


def headers_of(error: DomainError) -> dict[str, str]:
    if isinstance(error, LimitReached):
        return {"Retry-After": str(_seconds(error))}
    if isinstance(error, MethodNotAllowed):
        return {"Allow": ", ".join(error.allowed)}
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": "Bearer"}
    return {}


def handle(exc: Exception, context: Mapping[str, Any]) -> Response:
    """Exception handler of every API view, for unexpected exceptions too."""
    error = translate(exc)
    if isinstance(error, InternalError | Unavailable):
        logger.error(
            "request failed", exc_info=exc, extra={"request_id": request_context(context["request"]).request_id}
        )
    body, status = context["view"].refusal(error, request_id=request_context(context["request"]).request_id)
    return Response(body, status=status, headers=headers_of(error))


def translate(exc: Exception) -> DomainError:
    """The domain error that ``exc`` corresponds to.  Never carries the text of a foreign exception."""
    match exc:
        case DomainError():
            return exc
        case exceptions.ValidationError():
            return invalid(exc)
        case Http404() | exceptions.NotFound():
            return NotFound()
        case PermissionDenied() | exceptions.PermissionDenied():
            return Forbidden()
        case exceptions.UnsupportedMediaType():
            return UnsupportedMediaType()
        case RequestDataTooBig():
            return TooLarge()
        case BadRequest() | SuspiciousOperation() | UnreadablePostError() | exceptions.ParseError():
            return Malformed()
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return Unauthenticated()
        case IntegrityError() if isinstance(exc.__cause__, ForeignKeyViolation):
            return ReferenceDeleted()
        case OperationalError() | InterfaceError() | AdapterError(permanent=False):
            return Unavailable()
        case _:
            return InternalError()


def invalid(exc: exceptions.ValidationError, *, place: str = "body") -> Invalid:
    """A serializer's errors in wire format; the message is the first error, prefixed with its field."""
    findings = list(_findings(exc.detail, ()))
    path, first = findings[0]
    field = ".".join(str(step) for step in path)
    return Invalid(
        f"{field}: {first}" if field else str(first),
        details=[{"loc": [place, *path], "msg": str(found), "type": found.code} for path, found in findings],
    )


def _findings(detail: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], ErrorDetail]]:
    if isinstance(detail, ErrorDetail):
        yield path, detail
    elif isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _findings(inner, path if name == "non_field_errors" else (*path, name))
    else:
        indexed = any(not isinstance(inner, ErrorDetail) for inner in detail)
        for index, inner in enumerate(detail):
            if inner:  # a list of items has an empty entry for each valid one
                yield from _findings(inner, (*path, index) if indexed else path)


def in_envelope(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Replace an error response by the JSON envelope, unless it already is JSON or is a page for users.

    Django, its middleware and static files respond with HTML, whose message a client that expects JSON cannot read.
    """
    if response.status_code < 400 or request.path_info.startswith(FOR_PEOPLE):
        return response
    if response.headers.get("Content-Type", "").startswith("application/json"):
        return response
    kind = BY_STATUS.get(response.status_code, InternalError if response.status_code >= 500 else Malformed)
    body = orjson.dumps(envelope(kind(), request_id=request_context(request).request_id))
    response.close()
    kept = {name: value for name, value in response.headers.items() if name not in OF_THE_BODY}
    own = {"Content-Type": "application/json", "Content-Length": str(len(body)), "X-Content-Type-Options": "nosniff"}
    return HttpResponse(body, status=response.status_code, headers=kept | own)


def _seconds(error: LimitReached) -> int:
    """Whole seconds, as the header requires; never 0, which a client would read as no wait at all."""
    return max(1, math.ceil(error.retry_after))
