"""The spaces of a tenant and their owners."""

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.console.space_list import list_space_summaries
from apps.memories.spaces import find_end_user
from apps.web.environments import FIRST, environment_of, inside
from apps.web.memories import following
from apps.web.memory_filters import id_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

PAGE: Final = 25


@in_tenant(AccessLevel.READER, methods="GET POST")
def spaces(request: HttpRequest, at: PageContext) -> HttpResponse:
    """POST searches for one end user, because their id must not be in a URL."""
    environment = environment_of(request, at)
    named = request.POST.get("end_user", "").strip()
    if named:
        space = find_end_user(inside(at, environment), named)
        if space is not None:
            return HttpResponseRedirect(reverse("web_memories", args=[at.tenant, space.id]))
        messages.warning(request, f"No end user in {environment.value} has this ID.")
    before = id_of(request.GET.get("before"))
    found = list_space_summaries(at.scope, environment, limit=PAGE, before=before, now=at.now)
    return show(
        request,
        "spaces",
        at=at,
        place="spaces",
        environment=environment,
        environments=FIRST,
        found=found,
        asked=named,
        before=before,
        next_query=following(f"environment={environment.value}", found.next_before),
    )
