"""Facts about one HTTP request, stored in it for the log line and the responses."""

from dataclasses import dataclass

from django.http import HttpRequest

_KEY = "memsync.facts"  # clients cannot set it: their keys begin with HTTP_


@dataclass(slots=True, kw_only=True)
class RequestContext:
    """Ids and labels only.  tenant and environment are set once the credential is authenticated."""

    request_id: str
    trace_id: str
    tenant: str | None = None
    environment: str | None = None


def keep(request: HttpRequest, facts: RequestContext) -> None:
    request.META[_KEY] = facts


def request_context(request: HttpRequest) -> RequestContext:
    """The context set by RequestIdMiddleware; a blank one for a request that did not pass it."""
    facts = request.META.get(_KEY)
    return facts if isinstance(facts, RequestContext) else RequestContext(request_id="", trace_id="")
