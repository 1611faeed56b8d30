"""What is known about one HTTP request, kept beside it for the log line and the answers."""

from dataclasses import dataclass

from django.http import HttpRequest

_KEY = "memsync.facts"  # a client cannot set it: what clients send begins with HTTP_


@dataclass(slots=True, kw_only=True)
class RequestContext:
    """Ids and labels only.  tenant and environment are filled in when the credential has been read."""

    request_id: str
    trace_id: str
    tenant: str | None = None
    environment: str | None = None


def keep(request: HttpRequest, facts: RequestContext) -> None:
    request.META[_KEY] = facts


def request_context(request: HttpRequest) -> RequestContext:
    """The facts of a request that went through RequestIdMiddleware; blank ones for a request made by hand."""
    facts = request.META.get(_KEY)
    return facts if isinstance(facts, RequestContext) else RequestContext(request_id="", trace_id="")
