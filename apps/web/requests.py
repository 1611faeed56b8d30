"""Requests that wait for a user's decision: to forget memories, and privacy requests of end users."""

from typing import Any, Final

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts import stepup
from apps.console.memory_list import look_at_all
from apps.console.space_list import names_of, owner_of, owners_of
from apps.core.errors import Conflict
from apps.projects.scope import Scope
from apps.retention.erasure_requests import confirm_erasure, undo_erasure
from apps.retention.memory_selection import preview
from apps.retention.requests import OpenedRequest, confirm, get_in_tenant, list_in_tenant, refuse
from apps.retention.states import PrivacyKind, PrivacyState, RequestState
from apps.retention.subject_requests import (
    HANDED_OVER,
    SubjectRequestInfo,
    files_of,
    link_to_file,
    list_requests,
    prepare_file,
)
from apps.transfers.exports.services import Export
from apps.web.memories import PAGE, SAMPLE
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

CONFIRM: Final = "forget_request.confirm"


@in_tenant(AccessLevel.DECIDER)
def requests(request: HttpRequest, at: PageContext) -> HttpResponse:
    asked = request.GET.get("state", RequestState.PENDING.value)
    state = RequestState(asked) if asked in {one.value for one in RequestState} else None
    number = _page_number(request)
    found, total = list_in_tenant(at.scope, state=state, limit=PAGE, offset=(number - 1) * PAGE, now=at.now)
    owners = owners_of(at.scope, [there.space for _, there in found])
    return show(
        request,
        "requests",
        at=at,
        place="requests",
        found=[{"request": one, "owner": owners[there.space.id], "chosen": _chosen(one)} for one, there in found],
        total=total,
        state=state.value if state else "all",
        states=[one.value for one in RequestState],
        pages=_pages(total, number),
        query=f"state={state.value if state else 'all'}",
    )


@in_tenant(AccessLevel.ASSERTION, methods="GET POST")
def confirm_request(request: HttpRequest, at: PageContext, request_id: int) -> HttpResponse:
    """GET shows what will be deleted; POST confirms the request, if that has not changed since."""
    one, there = get_in_tenant(at.scope, request_id, now=at.now)
    ids = preview(there, one.choice, now=at.now) if one.state == RequestState.PENDING else []
    asked: dict[str, Any] = {"action": CONFIRM, "target": _target(at.scope, one), "count": len(ids)}
    if request.method == "POST":
        step_up = stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
        messages.success(request, _confirmed(at, one, step_up))
        return HttpResponseRedirect(reverse("web_requests", args=[at.tenant]))
    is_open = one.state == RequestState.PENDING
    return show(
        request,
        "confirm_request",
        at=at,
        place="requests",
        one=one,
        chosen=_chosen(one),
        turns=one.target.get("turns", False),
        owner=owner_of(there),
        space=there.space,
        count=len(ids),
        sample=look_at_all(there, ids[-SAMPLE:][::-1], now=at.now),
        is_open=is_open,
        assertion=stepup.issue_assertion(request, **asked) if is_open else "",
    )


@in_tenant(AccessLevel.DECIDER, methods="POST")
def refuse_request(request: HttpRequest, at: PageContext, request_id: int) -> HttpResponse:
    try:
        refuse(at.scope, request_id, now=at.now)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "Rejected: nothing was deleted.")
    return HttpResponseRedirect(reverse("web_requests", args=[at.tenant]))


@in_tenant(AccessLevel.DECIDER, methods="POST")
def undo_request(request: HttpRequest, at: PageContext, request_id: int) -> HttpResponse:
    try:
        restored = undo_erasure(at.scope, request_id, now=at.now)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"Undone: {len(restored):,} restored, nothing is erased.")
    return HttpResponseRedirect(reverse("web_requests", args=[at.tenant]))


@in_tenant(AccessLevel.DECIDER)
def privacy_requests(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Privacy requests, and the status of the files that answer them."""
    return show(request, "privacy_requests", at=at, place="requests", found=_asked(at))


@in_tenant(AccessLevel.STEP_UP, methods="POST")
def prepare_privacy_file(request: HttpRequest, at: PageContext, request_id: int) -> HttpResponse:
    prepare_file(at.scope, request_id, now=at.now)
    messages.success(request, "The file is being created. This page shows when it is ready.")
    return HttpResponseRedirect(reverse("web_privacy_requests", args=[at.tenant]))


@in_tenant(AccessLevel.STEP_UP, methods="POST")
def link_privacy_file(request: HttpRequest, at: PageContext, request_id: int) -> HttpResponse:
    """Show the download link, once."""
    link = link_to_file(at.scope, request_id, now=at.now)
    address = request.build_absolute_uri(f"/exports/{link.public_id}/file/{link.token}")
    return show(request, "privacy_requests", at=at, place="requests", found=_asked(at), link=link, address=address)


def _confirmed(at: PageContext, one: OpenedRequest, step_up: stepup.StepUp) -> str:
    """Confirm the request; return what to tell the user."""
    if not one.erases:
        gone = confirm(at.scope, one.id, now=at.now)
        return f"Confirmed: {len(gone):,} deleted. They can be restored for seven days."
    method, age = f"session+{step_up.method}", int(step_up.age_seconds)
    gone = confirm_erasure(at.scope, one.id, method=method, step_up_age_s=age, now=at.now)
    there, _ = get_in_tenant(at.scope, one.id, now=at.now)
    if there.erase_at is None:
        return "Confirmed. A legal hold blocks the erasure: it goes on when the hold is lifted."
    return (
        f"Confirmed: {len(gone):,} deleted. They can be restored until they are erased, on {there.erase_at:%Y-%m-%d}."
    )


def _asked(at: PageContext) -> list[dict[str, Any]]:
    asked = list_requests(at.scope, now=at.now)
    files = files_of(at.scope, asked)
    names = names_of(at.scope, [one.end_user_id for one in asked])
    return [_with_file(one, names.get(one.end_user_id), files.get(one.id)) for one in asked]


def _with_file(one: SubjectRequestInfo, name: str | None, export: Export | None) -> dict[str, Any]:
    is_there = export is not None and export.result is not None
    return {
        "request": one,
        "name": name,
        "may_erase": one.kind == PrivacyKind.DELETE and one.state != PrivacyState.COMPLETED,
        "export": export,
        "is_there": is_there,
        "may_prepare": one.kind in HANDED_OVER
        and one.state != PrivacyState.COMPLETED
        and not is_there
        and (export is None or not export.job.is_open),
    }


def _target(scope: Scope, one: OpenedRequest) -> str:
    return f"{scope.tenant.uid}/forget_request:{one.id}"


def _chosen(one: OpenedRequest) -> str:
    """A short description of the selection: labels and times, no content of memories."""
    if one.erases and not one.choice.memory_ids:
        return "turns of a session"
    if one.choice.memory_ids:
        count = len(one.choice.memory_ids)
        return "one memory" if count == 1 else f"{count:,} memories by ID"
    said = []
    for name, value in one.choice.filters.items():
        if name == "tags":
            said.append(f"{len(value)} tag{'' if len(value) == 1 else 's'}")
        else:
            text = value if isinstance(value, str) else f"{value:%Y-%m-%d %H:%M} UTC"
            said.append(f"{name.replace('_', ' ')} {text}")
    return "memories with " + ", ".join(said)


def _page_number(request: HttpRequest) -> int:
    said = request.GET.get("page", "1")
    return min(int(said), 1_000_000) if said.isascii() and said.isdecimal() and int(said) else 1


def _pages(total: int, number: int) -> Any:
    """Paginator page for the links to other pages."""
    return Paginator(range(total), PAGE).get_page(number)
