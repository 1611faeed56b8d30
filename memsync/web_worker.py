"""gunicorn's worker, with refusals that quote nothing, and without patience for those who stop sending.

What is no HTTP never reaches Django: gunicorn answers it itself, and its own answer and log line repeat the header or
request line it could not read, which may be somebody's text or key.
"""

import json
import logging
import socket
import struct
import uuid
from typing import TYPE_CHECKING, Any, Final

from gunicorn import util  # type: ignore[import-untyped]  # it ships no types
from gunicorn.http import errors  # type: ignore[import-untyped]

from memsync.headers import HEADERS

if TYPE_CHECKING:

    class ThreadWorker:
        def handle(self, conn: Any) -> Any: ...
else:
    from gunicorn.workers.gthread import ThreadWorker

logger = logging.getLogger(__name__)

# Of silence within a request.  A thread waits for its client, so that a few silent ones would stop a worker.
STALL_SECONDS: Final = 20

STATUSES: Final[dict[type[Exception], tuple[int, str, str]]] = {
    errors.LimitRequestLine: (414, "URI Too Long", "The address is too long."),
    errors.LimitRequestHeaders: (431, "Request Header Fields Too Large", "The headers are too large."),
    errors.ExpectationFailed: (417, "Expectation Failed", "This expectation cannot be met."),
    errors.UnsupportedTransferCoding: (501, "Not Implemented", "This transfer coding is not supported."),
}
MALFORMED: Final = (400, "Bad Request", "The request cannot be understood.")
FAILED: Final = (500, "Internal Server Error", "Something failed here, and the log knows it by the request id.")


class QuietWorker(ThreadWorker):
    def handle(self, conn: Any) -> Any:
        # By the kernel: gunicorn sets Python's own time limit of the socket back to none.
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", STALL_SECONDS, 0))
        return super().handle(conn)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        status, reason, message = answer_to(exc)
        request_id = uuid.uuid4().hex
        logger.warning(
            "a request did not reach the application",
            exc_info=exc if status == FAILED[0] else None,
            extra={"status": status, "error": type(exc).__name__, "request_id": request_id},
        )
        try:
            util.write_nonblock(client, refusal(status, reason, message, request_id=request_id))
        except OSError:
            logger.debug("nobody waited for the refusal")


def answer_to(exc: BaseException) -> tuple[int, str, str]:
    """Status, its name, and a sentence."""
    if isinstance(exc, errors.InvalidResponseHeader | errors.InvalidResponseHeaderName):
        return FAILED  # the application's fault, not the caller's
    for kind, answer in STATUSES.items():
        if isinstance(exc, kind):
            return answer
    return MALFORMED if isinstance(exc, errors.ParseException) else FAILED


def refusal(status: int, reason: str, message: str, *, request_id: str) -> bytes:
    """The bytes of an answer in the API's envelope; the connection is closed after it."""
    code = "INTERNAL_ERROR" if status == FAILED[0] else "BAD_REQUEST"
    envelope = {"error": {"code": code, "message": message}, "detail": message, "request_id": request_id}
    body = json.dumps(envelope).encode()
    headers = {
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "X-Request-ID": request_id,
        **HEADERS,
    }
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
