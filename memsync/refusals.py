"""Responses of the web server to requests that reach no application: in the API's envelope, quoting nothing."""

import json
from collections.abc import Iterable
from typing import Final

from gunicorn.http import errors  # type: ignore[import-untyped]  # it ships no types

from memsync.connections import HeadTooLong
from memsync.headers import HEADERS

RETRY_SECONDS: Final = 5


class RequestSlow(Exception):
    """The request did not arrive within its time limit."""


class TooManyLong(Exception):
    """The maximum number of large requests is in progress."""


STATUSES: Final[dict[type[Exception], tuple[int, str, str]]] = {
    errors.LimitRequestLine: (414, "URI Too Long", "The address is too long."),
    errors.LimitRequestHeaders: (431, "Request Header Fields Too Large", "The headers are too large."),
    HeadTooLong: (431, "Request Header Fields Too Large", "The headers are too large."),
    errors.ExpectationFailed: (417, "Expectation Failed", "This expectation cannot be met."),
    errors.UnsupportedTransferCoding: (501, "Not Implemented", "This transfer coding is not supported."),
    RequestSlow: (408, "Request Timeout", "The request took too long to arrive."),
    TooManyLong: (503, "Service Unavailable", "Too many long requests are under way; try again later."),
}
# Headers that say who asks, and for whom.  Given twice, WSGI would join them into the name of a third.
SINGLE: Final = frozenset({"AUTHORIZATION", "X-API-KEY", "X-END-USER-ID", "X-ENVIRONMENT", "X-PROJECT-ID"})
CODES: Final = {408: "REQUEST_TIMEOUT", 500: "INTERNAL_ERROR", 503: "BUSY"}
MALFORMED: Final = (400, "Bad Request", "The request cannot be understood.")
FAILED: Final = (500, "Internal Server Error", "Something failed here, and the log knows it by the request id.")


def refuse_repeated(headers: Iterable[tuple[str, str]]) -> None:
    """Raises InvalidHeader if one of SINGLE is given twice.  headers: (name in capitals, value)."""
    names = [name for name, _ in headers if name in SINGLE]
    if len(names) > len(set(names)):
        raise errors.InvalidHeader(names[0])


def answer_to(exc: BaseException) -> tuple[int, str, str]:
    """(status, reason phrase, message) for an exception."""
    if isinstance(exc, errors.InvalidResponseHeader | errors.InvalidResponseHeaderName):
        return FAILED  # an error of the application, not of the client
    for kind, answer in STATUSES.items():
        if isinstance(exc, kind):
            return answer
    return MALFORMED if isinstance(exc, errors.ParseException) else FAILED


def refusal(status: int, reason: str, message: str, *, request_id: str) -> bytes:
    """The bytes of a response in the API's envelope, which closes the connection."""
    wait = {"retry_after": RETRY_SECONDS} if status == 503 else {}
    error = {"code": CODES.get(status, "BAD_REQUEST"), "message": message, **wait}
    envelope = {"error": error, "detail": message, "request_id": request_id, **wait}
    body = json.dumps(envelope).encode()
    headers = {
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "X-Request-ID": request_id,
        **HEADERS,
    }
    if wait:
        headers["Retry-After"] = str(RETRY_SECONDS)
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
