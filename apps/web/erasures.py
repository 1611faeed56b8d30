"""Permanent erasure of a memory, an end user, a project or a tenant, and its receipts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts import stepup
from apps.console.memory_list import look_at
from apps.console.space_list import names_of, owner_of
from apps.erasure.planning import ErasureBlocked, plan
from apps.erasure.receipt_log import get_receipt
from apps.erasure.selectors import get_erasure, list_erasures
from apps.erasure.targets import ErasureTargetNotFound, Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.projects.scope import NAMED_KINDS
from apps.projects.selectors import get_project, list_projects
from apps.retention.states import PrivacyKind, PrivacyState
from apps.retention.subject_requests import PrivacyRequestDone, delete_person, get_request, note_erased
from apps.tenants.members import reach_of
from apps.web.memories import find
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

ACTION: Final = "erase"
COUNTED: Final = 1_000  # rows counted per kind before an erasure; the page shows more as "more than"
EVERYWHERE: Final = "This covers every environment: production, staging and development."
ONLY_BRANCH: Final = "The profile that it was copied from and its other branches stay."
WHOLE: Final = 1  # covers all rows of the target at that time: new rows do not invalidate the assertion


@in_tenant(AccessLevel.DECIDER, closed=True)
def erasures(request: HttpRequest, at: PageContext) -> HttpResponse:
    return show(
        request, "erasures", at=at, place="erasures", found=list_erasures(at.scope), projects=_projects(at), limit=100
    )


@in_tenant(AccessLevel.DECIDER, closed=True)
def erasure(request: HttpRequest, at: PageContext, erasure_id: str) -> HttpResponse:
    found = get_erasure(at.scope, erasure_id)
    return show(request, "erasure", at=at, place="erasures", one=found, counts=_counts(found.counts))


@in_tenant(AccessLevel.DECIDER, closed=True)
def receipt(request: HttpRequest, at: PageContext, receipt_id: str) -> HttpResponse:
    """The receipt as a file, which the user keeps and can verify anywhere."""
    found = get_receipt(at.scope, receipt_id)
    name = {"Content-Disposition": f'attachment; filename="{found.name}"'}
    return HttpResponse(found.to_json(), content_type="application/json", headers=name)


@in_tenant(AccessLevel.ASSERTION, methods="GET POST")
def erase_memory(request: HttpRequest, at: PageContext, space_id: int, memory_id: int) -> HttpResponse:
    scope = find(at, space_id)
    shown = look_at(scope, memory_id, now=at.now)
    return _erase(
        request,
        at,
        Target.memories([memory_id]),
        named=f"memory:{memory_id}",
        typed=str(memory_id),
        what=f"memory {memory_id}",
        type_this="its number",
        quoted=shown.memory.text,
        back=reverse("web_memory", args=[at.tenant, space_id, memory_id]),
    )


@in_tenant(AccessLevel.ASSERTION, methods="GET POST")
def erase_person(request: HttpRequest, at: PageContext, space_id: int) -> HttpResponse:
    """Erase an end user or agent in every environment; for a branch or a space without one, erase that space."""
    scope = find(at, space_id)
    name, branch = owner_of(scope).label, scope.space.branch
    is_person = scope.space.kind in NAMED_KINDS and not branch
    return _erase(
        request,
        at,
        Target.end_user(scope.space.owner_id) if is_person else Target.space(scope.space.uid),
        named=f"end_user:{scope.space.owner_id}" if is_person else f"space:{scope.space.uid}",
        typed=name,
        what=f"all data of {name}",
        type_this="their id" if is_person else "its name",
        note=EVERYWHERE if is_person else ONLY_BRANCH if branch else "",
        back=reverse("web_memories", args=[at.tenant, space_id]),
    )


@in_tenant(AccessLevel.ASSERTION, methods="GET POST")
def erase_for_request(request: HttpRequest, at: PageContext, request_id: int) -> HttpResponse:
    """Carry out an end user's deletion request."""
    one = get_request(at.scope, request_id, now=at.now)
    if one.kind != PrivacyKind.DELETE or one.state == PrivacyState.COMPLETED:
        raise PrivacyRequestDone
    name = names_of(at.scope, [one.end_user_id]).get(one.end_user_id)
    back = reverse("web_privacy_requests", args=[at.tenant])

    def carry_out(authorised: Authorisation) -> str:
        delete_person(at.scope, request_id, authorised=authorised, now=at.now)
        return back

    return _erase(
        request,
        at,
        Target.end_user(one.end_user_id),
        named=f"privacy:{request_id}",
        typed=name or str(one.end_user_id),
        what=f"all data of {name or f'end user {one.end_user_id}'}",
        type_this="their id",
        note=f"{EVERYWHERE} It completes their deletion request.",
        back=back,
        carry_out=carry_out,
    )


@in_tenant(AccessLevel.ASSERTION, methods="GET POST")
def erase_project(request: HttpRequest, at: PageContext, project_id: str) -> HttpResponse:
    project = get_project(at.scope, project_id)
    return _erase(
        request,
        at,
        Target.of_project(project.public_id),
        named=f"project:{project.public_id}",
        typed=project.public_id,
        what=f"all memories of the project {project.name}",
        type_this="its id",
        note="The project itself stays and can be used again.",
        back=reverse("web_erasures", args=[at.tenant]),
    )


@in_tenant(AccessLevel.ASSERTION, methods="GET POST")
def erase_tenant(request: HttpRequest, at: PageContext) -> HttpResponse:
    return _erase(
        request,
        at,
        Target.tenant(),
        named="tenant",
        typed=at.tenant,
        what=f"the tenant {at.tenant}",
        type_this="its name",
        note="Its keys are destroyed first, so that backups of its data cannot be decrypted after the keyring backups "
        "expire. All its API keys stop working.",
        back=reverse("web_erasures", args=[at.tenant]),
    )


def _erase(
    request: HttpRequest,
    at: PageContext,
    target: Target,
    *,
    named: str,
    typed: str,
    back: str,
    carry_out: Callable[[Authorisation], str] | None = None,
    **said: Any,
) -> HttpResponse:
    """GET shows what will be erased and asks for confirmation; POST, with the typed name and the assertion, erases
    it.  carry_out: erases, and returns the address to go on to; by default that of the erasure."""
    asked: dict[str, Any] = {"action": ACTION, "target": f"{at.scope.tenant.uid}/{named}", "count": WHOLE}
    is_typed = request.POST.get("typed", "").strip() == typed
    if request.method == "POST" and is_typed:
        step_up = stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
        authorised = Authorisation(
            principal=at.scope.principal, method=f"session+{step_up.method}", step_up_age_s=int(step_up.age_seconds)
        )
        try:
            address = carry_out(authorised) if carry_out else _start(at, target, authorised)
        except ErasureBlocked as error:
            return _blocked(request, at, error, back=back, **said)
        messages.success(request, "Erased. Keep the receipt: it proves what was erased and when.")
        return HttpResponseRedirect(address)
    try:
        counts = plan(at.scope, target, most=COUNTED + 1)
    except ErasureTargetNotFound:  # it was erased before; only what asked for it is left
        if carry_out is None:
            raise
        counts, said["is_gone"] = {}, True
    except ErasureBlocked as error:
        return _blocked(request, at, error, back=back, **said)
    return show(
        request,
        "erase",
        status=422 if request.method == "POST" else 200,
        at=at,
        place="erasures",
        counts=_counts(counts),
        most=COUNTED,
        typed=typed,
        is_wrong=request.method == "POST",
        assertion=stepup.issue_assertion(request, **asked),
        back=back,
        **said,
    )


def _start(at: PageContext, target: Target, authorised: Authorisation) -> str:
    """Erase the target; return the address of the erasure."""
    done = start_erasure(at.scope, target, authorised=authorised, now=at.now)
    note_erased(at.scope, done, now=at.now)
    return reverse("web_erasure", args=[_name_now(at), done.id])


def _blocked(request: HttpRequest, at: PageContext, error: ErasureBlocked, **context: Any) -> HttpResponse:
    return show(request, "erase_blocked", status=409, at=at, place="erasures", blockers=error.details, **context)


def _projects(at: PageContext) -> list[Any]:
    return [] if at.reach.tenant.closed_at else list_projects(at.scope)


def _name_now(at: PageContext) -> str:
    """The tenant's current name: erasing a tenant replaces it."""
    there = [reach for reach in reach_of(at.person.pk, closed=True) if reach.tenant.pk == at.reach.tenant.pk]
    return there[0].tenant.name


def _counts(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Memories first, then by descending count."""
    return sorted(
        ((name, count) for name, count in counts.items() if count), key=lambda one: (one[0] != "memories", -one[1])
    )
