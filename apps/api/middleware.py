"""The outermost middleware: an id on every response, a log line per request, and the error envelope."""

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.api import errors
from apps.api.request_context import RequestContext, keep, request_context
from apps.audit.origin import coming_from
from apps.core.proxies import caller_address

logger = logging.getLogger("apps.api.access")

ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class RequestIdMiddleware:
    """Must come first, so that errors of other middleware also get an id, a log line and the envelope, and so that rate
    limits, the audit trail and sessions see the caller's address instead of a proxy's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        request_id = _kept(request.headers.get("X-Request-ID")) or uuid.uuid4().hex
        facts = RequestContext(request_id=request_id, trace_id=_kept(request.headers.get("X-Trace-ID")) or request_id)
        keep(request, facts)
        peer, forwarded = request.META.get("REMOTE_ADDR", ""), request.headers.get("X-Forwarded-For", "")
        request.META["REMOTE_ADDR"] = address = caller_address(peer, forwarded, settings.TRUSTED_PROXIES)
        with coming_from(address, request_id=request_id):
            response = errors.in_envelope(request, self.get_response(request))
        response["X-Request-ID"] = facts.request_id
        response["X-Trace-ID"] = facts.trace_id
        _log(request, response, milliseconds=(time.perf_counter() - started) * 1000)
        return response


def _kept(value: str | None) -> str | None:
    """The caller's id if it is safe: it is echoed into headers, bodies and logs."""
    return value if value and ID.fullmatch(value) else None


def _log(request: HttpRequest, response: HttpResponseBase, *, milliseconds: float) -> None:
    facts = request_context(request)
    match = request.resolver_match
    extra = {
        # The route pattern, never the path: a path may contain an id, a query string, or a secret put there by mistake.
        "route": match.route if match else "",
        "method": request.method if request.method in METHODS else "other",
        "status": response.status_code,
        "ms": round(milliseconds, 1),
        "request_id": facts.request_id,
    }
    if facts.tenant is not None:
        extra |= {"tenant": facts.tenant, "environment": facts.environment}
    logger.info("request", extra=extra)


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
