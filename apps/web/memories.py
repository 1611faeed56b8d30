"""Pages to browse memories, delete one or many, and restore them."""

from dataclasses import replace
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts import stepup
from apps.console.memory_detail import get_memory_detail
from apps.console.memory_list import (
    MemoryRow,
    browse,
    hide,
    labels_of,
    look_at,
    look_at_all,
    reveal_hidden,
)
from apps.console.space_list import find_space, owner_of
from apps.console.svg_charts import timeline
from apps.core.errors import Conflict
from apps.edges.selectors import edges_of
from apps.entities.selectors import entities_in
from apps.memories.revisions import get_history
from apps.memories.selectors import MemoryNotFound
from apps.memories.soft_delete import restore
from apps.memories.status import MemoryStatus
from apps.projects.scope import Scope
from apps.projects.selectors import get_project, list_projects
from apps.retention.memory_selection import MemorySelection, preview, soft_delete_selection
from apps.web.actors import actor_names
from apps.web.memory_filters import FilterRefused, MemoryFilters, day_of, end_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show
from apps.web.retention_words import why_kept

PAGE: Final = 25
SAMPLE: Final = 5
RELATIONS: Final = 25
REVISIONS: Final = 50
LONGEST_WORD: Final = 256  # characters of a tag or a session name
REASON: Final = "deleted in the browser"
BULK: Final = "memories.delete"


class Held(Conflict):
    """A legal hold protects this memory: it cannot be deleted until the hold is lifted."""

    code = "LEGAL_HOLD"


class NothingMatches(Conflict):
    """No memory matches these filters any more, or a legal hold protects all of them."""

    code = "NOTHING_MATCHES"


@in_tenant(AccessLevel.READER, methods="GET POST")
def memories(request: HttpRequest, at: PageContext, space_id: int) -> HttpResponse:
    """The memories of a space, filtered.  POST carries the filters that must not be in a URL: tag and session."""
    seeking = MemoryFilters.read(request.POST if request.method == "POST" else request.GET)
    scope = find(at, space_id, seeking)
    if request.method == "POST":
        return HttpResponseRedirect(_list(at, space_id, _hidden(request, scope, seeking).query))
    tag, session = _revealed(scope, seeking)
    found = browse(
        scope, seeking.memory_filter(tag=tag, session=session), limit=PAGE, before=seeking.before, now=at.now
    )
    types, sources = labels_of(scope)
    return show(
        request,
        "memories",
        at=at,
        place="spaces",
        part="memories",
        environment=scope.environment,
        owner=owner_of(scope),
        space=scope.space,
        found=found,
        seeking=seeking,
        tag=tag,
        session=session,
        query=seeking.query,
        types=sorted({*types, seeking.type} - {""}),
        sources=sorted({*sources, seeking.source} - {""}),
        projects=list_projects(at.scope),
        standings=[one.value for one in MemoryStatus if one != MemoryStatus.DELETED or at.reach.may_delete],
        today=at.now.date(),
        next_query=following(seeking.query, found.next_before),
    )


@in_tenant(AccessLevel.READER)
def memory(request: HttpRequest, at: PageContext, space_id: int, memory_id: int) -> HttpResponse:
    """One memory with all details; as_of: a day, to show which version held at its end."""
    day = day_of(request.GET.get("as_of"))
    scope = find(at, space_id)
    shown = _look_at(at, scope, memory_id)
    examined = get_memory_detail(scope, memory_id, as_of=end_of(day) if day else None, now=at.now)
    edges = edges_of(scope, [memory_id], limit=RELATIONS, now=at.now)
    others = [edge.to_id if edge.from_id == memory_id else edge.from_id for edge in edges]
    others += [*examined.sources, *examined.summaries]
    looked_at = look_at_all(scope, list(dict.fromkeys(others)), now=at.now)
    texts = {one.memory.id: one.memory for one in looked_at}
    return show(
        request,
        "memory",
        at=at,
        place="spaces",
        environment=scope.environment,
        owner=owner_of(scope),
        space=scope.space,
        shown=shown,
        examined=examined,
        why_until=why_kept(shown.memory, examined.ends_by, examined.ages_from),
        timeline=timeline(examined.versions, of=memory_id, as_of=examined.as_of, now=at.now),
        relations=[
            {"edge": edge, "is_outgoing": edge.from_id == memory_id, "other": texts[other]}
            for edge, other in zip(edges, others, strict=False)
            if other in texts
        ],
        sources=[texts[one] for one in examined.sources if one in texts],
        summaries=[texts[one] for one in examined.summaries if one in texts],
        entities=entities_in(scope, memory_id, now=at.now),
        history=_history(at, scope, memory_id, shown),
        day=day,
        today=at.now.date(),
    )


@in_tenant(AccessLevel.STEP_UP, methods="GET POST")
def delete_memory(request: HttpRequest, at: PageContext, space_id: int, memory_id: int) -> HttpResponse:
    scope = find(at, space_id)
    shown = look_at(scope, memory_id, now=at.now)
    if shown.deleted_at is not None:
        messages.warning(request, "This memory was deleted already.")
        return HttpResponseRedirect(_list(at, space_id, "status=deleted"))
    if request.method != "POST":
        owner = owner_of(scope)
        return show(request, "delete_memory", at=at, place="spaces", owner=owner, space=scope.space, shown=shown)
    gone = soft_delete_selection(
        scope, MemorySelection(memory_ids=(memory_id,)), reason=REASON, method="user_request", now=at.now
    )
    if not gone:
        raise Held
    messages.success(request, "Deleted. The memory is removed from search and can be restored for seven days.")
    return HttpResponseRedirect(_list(at, space_id))


@in_tenant(AccessLevel.ASSERTION, methods="GET POST")
def delete_many(request: HttpRequest, at: PageContext, space_id: int) -> HttpResponse:
    """GET shows what will be deleted and asks for confirmation; POST deletes, and only what was shown."""
    seeking = replace(MemoryFilters.read(request.GET), before=None)
    scope = find(at, space_id, seeking)
    ids = preview(scope, seeking.choice, now=at.now) if seeking.can_be_deleted else []
    if not ids:
        raise NothingMatches
    asked: dict[str, Any] = {"action": BULK, "target": _bulk_target(scope, seeking), "count": len(ids)}
    if request.method == "POST":
        stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
        gone = soft_delete_selection(scope, seeking.choice, reason=REASON, method="user_request", now=at.now)
        messages.success(request, f"{len(gone):,} deleted. They can be restored for seven days.")
        return HttpResponseRedirect(_list(at, space_id, "status=deleted"))
    nonce = stepup.issue_assertion(request, **asked)
    return show(
        request,
        "delete_many",
        at=at,
        place="spaces",
        owner=owner_of(scope),
        space=scope.space,
        seeking=seeking,
        query=seeking.query,
        count=len(ids),
        sample=look_at_all(scope, ids[-SAMPLE:][::-1], now=at.now),
        assertion=nonce,
    )


@in_tenant(AccessLevel.DECIDER, methods="POST")
def restore_memory(request: HttpRequest, at: PageContext, space_id: int, memory_id: int) -> HttpResponse:
    scope = find(at, space_id)
    try:
        restore(scope, memory_id, now=at.now)
    except Conflict as error:
        messages.error(request, error.message)
        return HttpResponseRedirect(_list(at, space_id, "status=deleted"))
    is_replaced = look_at(scope, memory_id, now=at.now).memory.validity == "superseded"
    messages.success(request, "Restored as replaced: a newer value holds." if is_replaced else "Restored.")
    return HttpResponseRedirect(reverse("web_memory", args=[at.tenant, space_id, memory_id]))


def _look_at(at: PageContext, scope: Scope, memory_id: int) -> Any:
    """Like ``look_at``; a deleted memory is found only by users who may restore it."""
    shown = look_at(scope, memory_id, now=at.now)
    if shown.deleted_at is not None and not at.reach.may_delete:
        raise MemoryNotFound
    return shown


def find(at: PageContext, space_id: int, seeking: MemoryFilters | None = None) -> Scope:
    """The scope narrowed to this space and, if one is requested, this project.  Raises the NotFound of either."""
    scope = at.scope
    if seeking is not None:
        if seeking.standing == MemoryStatus.DELETED and not at.reach.may_delete:
            raise MemoryNotFound
        if seeking.project:
            scope = replace(scope, project_id=get_project(scope, seeking.project).pk)
    return find_space(scope, space_id)


def _list(at: PageContext, space_id: int, query: str = "") -> str:
    address = reverse("web_memories", args=[at.tenant, space_id])
    return f"{address}?{query}" if query else address


def _bulk_target(scope: Scope, seeking: MemoryFilters) -> str:
    return f"{scope.tenant.uid}/{scope.space.uid}?{seeking.query}"


def following(query: str, before: int | None) -> str:
    """Query string of the next page; empty if there is none."""
    return f"{query}&before={before}" if query and before else f"before={before}" if before else ""


def _hidden(request: HttpRequest, scope: Scope, seeking: MemoryFilters) -> MemoryFilters:
    said = {name: request.POST.get(name, "").strip()[:LONGEST_WORD] for name in ("tag", "session")}
    return replace(seeking, hidden=hide(scope, said) if any(said.values()) else "", before=None)


def _revealed(scope: Scope, seeking: MemoryFilters) -> tuple[str, str]:
    said = revealed(scope, seeking.hidden)
    return said.get("tag", ""), said.get("session", "")


def revealed(scope: Scope, hidden: str) -> dict[str, str]:
    """The fields that ``hide`` encrypted.  Raises FilterRefused."""
    try:
        return reveal_hidden(scope, hidden) if hidden else {}
    except ValueError:
        raise FilterRefused from None


def _history(at: PageContext, scope: Scope, memory_id: int, shown: MemoryRow) -> dict[str, Any] | None:
    """The history of a memory; None for a deleted one, which can be restored but not read."""
    if shown.deleted_at is not None:
        return None
    found, names = get_history(scope, memory_id, limit=REVISIONS, offset=0, now=at.now), actor_names(at)
    return {
        "revisions": [
            {
                "event": one.event,
                "created_at": one.created_at,
                "diff": one.diff,
                "who": names.get(one.actor, one.actor) if one.actor else "the system",
            }
            for one in found.revisions
        ],
        "more": found.total - len(found.revisions),
    }
