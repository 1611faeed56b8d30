"""Looking through memories, deleting one or many, and bringing them back."""

from dataclasses import replace
from typing import Any, Final

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts import stepup
from apps.core.errors import Conflict
from apps.memories.browsing import Standing, browse, find_space, labels_of, list_owners, look_at, owner_of
from apps.memories.retiring import restore
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project, list_projects
from apps.retention.forgetting import Choice, forget, preview
from apps.tenants.members import reach_of
from apps.web.pages import At, Need, in_tenant, needs, show
from apps.web.seeking import Seeking

PAGE: Final = 25
SAMPLE: Final = 5
REASON: Final = "deleted in the browser"
BULK: Final = "memories.delete"


class Held(Conflict):
    """A legal hold is on this memory: it is not deleted until the hold is lifted."""

    code = "LEGAL_HOLD"


class NothingMatches(Conflict):
    """Nothing matches these filters any more, or a legal hold is on all of it."""

    code = "NOTHING_MATCHES"


@needs(Need.FACTOR)
def home(request: HttpRequest) -> HttpResponse:
    """The tenants that the person works for; straight on where it is one."""
    reaches = [reach for reach in reach_of(request.user.pk or 0, closed=True) if reach.may_read]
    closed = [reach for reach in reaches if reach.tenant.closed_at is not None and reach.may_delete]
    reaches = [reach for reach in reaches if reach.tenant.closed_at is None]
    if len(reaches) == 1 and not closed:
        return HttpResponseRedirect(reverse("web_tenant", args=[reaches[0].tenant.name]))
    return show(request, "home", reaches=reaches, closed=closed)


@in_tenant(Need.READER, methods="GET POST")
def owners(request: HttpRequest, at: At) -> HttpResponse:
    """Whose memories there are.  POST looks for one end user: their id belongs in no address."""
    environment = _environment(request)
    scope = replace(at.scope, environment=environment)
    named = request.POST.get("end_user", "").strip()
    if named:
        space = find_end_user(scope, named)
        if space is not None:
            return HttpResponseRedirect(reverse("web_memories", args=[at.tenant, space.id]))
        messages.warning(request, "There is nobody of this name in this environment.")
    number = _page_number(request)
    found, total = list_owners(scope, environment, limit=PAGE, offset=(number - 1) * PAGE, now=at.now)
    return show(
        request,
        "owners",
        at=at,
        place="memories",
        owners=found,
        total=total,
        environment=environment.value,
        environments=[one.value for one in Environment],
        pages=_pages(total, number),
        query=f"environment={environment.value}",
    )


@in_tenant(Need.READER)
def memories(request: HttpRequest, at: At, space_id: int) -> HttpResponse:
    seeking = Seeking.read(request.GET)
    scope = find(at, space_id, seeking)
    found = browse(scope, seeking.sought, limit=PAGE, offset=(seeking.page - 1) * PAGE, now=at.now)
    types, sources = labels_of(scope)
    return show(
        request,
        "memories",
        at=at,
        place="memories",
        owner=owner_of(scope, now=at.now),
        space=scope.space,
        found=found,
        seeking=seeking,
        query=seeking.query,
        types=types,
        sources=sources,
        projects=list_projects(at.scope),
        standings=[one.value for one in Standing if one != Standing.DELETED or at.reach.may_delete],
        pages=_pages(found.total, seeking.page),
    )


@in_tenant(Need.READER)
def memory(request: HttpRequest, at: At, space_id: int, memory_id: int) -> HttpResponse:
    scope = find(at, space_id)
    shown = _look_at(at, scope, memory_id)
    return show(request, "memory", at=at, owner=owner_of(scope, now=at.now), space=scope.space, shown=shown)


@in_tenant(Need.STEP_UP, methods="GET POST")
def delete_memory(request: HttpRequest, at: At, space_id: int, memory_id: int) -> HttpResponse:
    scope = find(at, space_id)
    shown = look_at(scope, memory_id, now=at.now)
    if shown.deleted_at is not None:
        raise MemoryNotFound
    if request.method != "POST":
        owner = owner_of(scope, now=at.now)
        return show(request, "delete_memory", at=at, owner=owner, space=scope.space, shown=shown)
    gone = forget(scope, Choice(memory_ids=(memory_id,)), reason=REASON, method="user_request", now=at.now)
    if not gone:
        raise Held
    messages.success(request, "Deleted. It is out of every answer, and can be brought back for seven days.")
    return HttpResponseRedirect(_list(at, space_id))


@in_tenant(Need.ASSERTION, methods="GET POST")
def delete_many(request: HttpRequest, at: At, space_id: int) -> HttpResponse:
    """GET shows what would go and asks for the last word; POST is that word, and good for exactly what was shown."""
    seeking = replace(Seeking.read(request.GET), page=1)
    scope = find(at, space_id, seeking)
    ids = preview(scope, seeking.choice, now=at.now) if seeking.standing != Standing.DELETED else []
    if not ids:
        raise NothingMatches
    asked: dict[str, Any] = {"action": BULK, "target": _bulk_target(scope, seeking), "count": len(ids)}
    if request.method == "POST":
        stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
        gone = forget(scope, seeking.choice, reason=REASON, method="user_request", now=at.now)
        messages.success(request, f"{len(gone):,} deleted. They can be brought back for seven days.")
        return HttpResponseRedirect(_list(at, space_id, "status=deleted"))
    nonce = stepup.issue_assertion(request, **asked)
    return show(
        request,
        "delete_many",
        at=at,
        owner=owner_of(scope, now=at.now),
        space=scope.space,
        seeking=seeking,
        query=seeking.query,
        count=len(ids),
        sample=[look_at(scope, memory_id, now=at.now) for memory_id in ids[-SAMPLE:][::-1]],
        assertion=nonce,
    )


@in_tenant(Need.DECIDER, methods="POST")
def restore_memory(request: HttpRequest, at: At, space_id: int, memory_id: int) -> HttpResponse:
    scope = find(at, space_id)
    try:
        restore(scope, memory_id, now=at.now)
    except Conflict as error:
        messages.error(request, error.message)
        return HttpResponseRedirect(_list(at, space_id, "status=deleted"))
    messages.success(request, "It is back, as it was.")
    return HttpResponseRedirect(reverse("web_memory", args=[at.tenant, space_id, memory_id]))


def _look_at(at: At, scope: Scope, memory_id: int) -> Any:
    """What is deleted is there for those alone who may bring it back."""
    shown = look_at(scope, memory_id, now=at.now)
    if shown.deleted_at is not None and not at.reach.may_delete:
        raise MemoryNotFound
    return shown


def find(at: At, space_id: int, seeking: Seeking | None = None) -> Scope:
    """At work in this space of the tenant, and in the project that was asked for.  Raises NotFound of either."""
    scope = at.scope
    if seeking is not None:
        if seeking.standing == Standing.DELETED and not at.reach.may_delete:
            raise MemoryNotFound
        if seeking.project:
            scope = replace(scope, project_id=get_project(scope, seeking.project).pk)
    return find_space(scope, space_id)


def _list(at: At, space_id: int, query: str = "") -> str:
    address = reverse("web_memories", args=[at.tenant, space_id])
    return f"{address}?{query}" if query else address


def _bulk_target(scope: Scope, seeking: Seeking) -> str:
    return f"{scope.tenant.uid}/{scope.space.uid}?{seeking.query}"


def _environment(request: HttpRequest) -> Environment:
    said = request.POST.get("environment") or request.GET.get("environment") or Environment.PRODUCTION.value
    return Environment(said) if said in {one.value for one in Environment} else Environment.PRODUCTION


def _page_number(request: HttpRequest) -> int:
    said = request.GET.get("page", "1")
    return min(int(said), 1_000_000) if said.isascii() and said.isdecimal() and int(said) else 1


def _pages(total: int, number: int) -> Any:
    """What the links to other pages are made from."""
    return Paginator(range(total), PAGE).get_page(number)
