"""Break-glass access: an operator requests to read one space, another approves, the tenant allows, watches and ends it.

The operators' pages are here and not in the admin, because the admin cannot decrypt.  These pages have second factors
and step-ups, and memories are opened by the same services as on the tenant's pages.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts import stepup
from apps.breakglass.reading import MOST_AT_ONCE, list_records, open_records
from apps.breakglass.selectors import GrantStatus, Seen, find_active, get_grant, list_grants
from apps.breakglass.services import MOST_REASON, WAITING, ReasonRefused, allow, approve, ask, end, policy_of
from apps.console.space_list import find_space, owners_of
from apps.core.errors import Invalid
from apps.projects.scope import Scope
from apps.tenants.services import POLICIES, set_policy
from apps.web.confirmation import Confirmation, Paragraph
from apps.web.memories import following
from apps.web.memory_filters import id_of
from apps.web.pages import AccessLevel, BreakGlassContext, PageContext, as_operator, in_tenant, show

APPROVE, ALLOW = "break_glass.approve", "break_glass.allow"


class NumbersRefused(Invalid):
    """Memories are named by their numbers, at most 25 at once."""


# -- of operators ----------------------------------------------------------------------------------------------------


@as_operator(AccessLevel.FRESH_OPERATOR, methods="GET POST")
def ask_to_read(request: HttpRequest, at: BreakGlassContext, space_id: int) -> HttpResponse:
    there = find_space(at.scope, space_id)
    said = {name: request.POST.get(name, "").strip() for name in ("reason", "ticket")}
    refused = ""
    if request.method == "POST":
        try:
            grant = ask(at.scope, space_id, reason=said["reason"], ticket=said["ticket"], now=at.now)
        except ReasonRefused as error:
            refused = error.message
        else:
            messages.success(request, "Request sent. The tenant can see it, and a second operator has to approve it.")
            return HttpResponseRedirect(_page(at, grant.pk))
    return show(
        request,
        "break_glass_ask",
        status=422 if refused else 200,
        glass=at,
        space=there.space,
        policy=policy_of(at.scope),
        said=said,
        refused=refused,
        most_reason=MOST_REASON,
    )


@as_operator(AccessLevel.READING_OPERATOR, methods="GET POST")
def grant(request: HttpRequest, at: BreakGlassContext, grant_id: int) -> HttpResponse:
    """The status of a grant and, for the operator who requested it, the memories that can be opened.  POST opens the
    named memories: text appears only in the response to a POST, so that no link, reload or back button opens a
    memory."""
    if request.method == "POST":
        shown = open_records(at.scope, grant_id, _numbers(request.POST), now=at.now)
        seen = get_grant(at.scope, grant_id, now=at.now)
        response = show(request, "break_glass_read", glass=at, seen=seen, shown=shown)
        response["Refresh"] = (
            f"{_seconds_left(at, seen)}; url={_page(at, grant_id)}"  # the text disappears when the grant ends
        )
        return response
    seen = get_grant(at.scope, grant_id, now=at.now)
    is_mine = seen.grant.asked_by == at.person.pk
    before = id_of(request.GET.get("before"))
    found = None
    if is_mine and seen.is_open:
        found = list_records(at.scope, grant_id, limit=MOST_AT_ONCE, before=before, now=at.now)
    return show(
        request,
        "break_glass",
        glass=at,
        seen=seen,
        is_mine=is_mine,
        found=found,
        before=before,
        next_query=following("", found.next_before if found else None),
        most=MOST_AT_ONCE,
        opened=set(seen.grant.opened_ids),
    )


@as_operator(AccessLevel.FRESH_OPERATOR, methods="GET POST")
def approve_grant(request: HttpRequest, at: BreakGlassContext, grant_id: int) -> HttpResponse:
    """GET shows who requests what; POST is the second operator's approval of exactly that."""
    seen = get_grant(at.scope, grant_id, now=at.now)
    asked = _asked(APPROVE, at.scope, seen)
    if request.method == "POST":
        stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
        done = approve(at.scope, grant_id, now=at.now)
        said = "The grant is open for 30 minutes." if done.opened_at else "An owner of the tenant has to allow it."
        messages.success(request, f"Approved. {said}")
        return HttpResponseRedirect(_page(at, grant_id))
    is_mine = seen.grant.asked_by == at.person.pk
    waits = seen.standing == GrantStatus.WAITS_FOR_OPERATOR and not is_mine
    nonce = stepup.issue_assertion(request, **asked) if waits else ""
    return show(request, "break_glass_approve", glass=at, seen=seen, is_mine=is_mine, assertion=nonce)


@as_operator(AccessLevel.OPERATOR, methods="POST")
def end_as_operator(request: HttpRequest, at: BreakGlassContext, grant_id: int) -> HttpResponse:
    end(at.scope, grant_id, now=at.now)
    messages.success(request, "Ended. This grant no longer gives access.")
    return HttpResponseRedirect(_page(at, grant_id))


# -- of the tenant ---------------------------------------------------------------------------------------------------


@in_tenant(AccessLevel.DECIDER)
def glass(request: HttpRequest, at: PageContext) -> HttpResponse:
    """The operators' requests and reads, and the tenant's policy for them."""
    found = list_grants(at.scope, now=at.now)
    owners = owners_of(at.scope, [one.space for one in found])
    return show(
        request,
        "break_glass_tenant",
        at=at,
        place="glass",
        found=[{"seen": one, "owner": owners[one.space.id]} for one in found],
        policy=policy_of(at.scope),
        policies=[{"value": value, "label": label} for value, label in POLICIES["break_glass"].choices],
    )


@in_tenant(AccessLevel.OWNER, methods="GET POST")
def allow_grant(request: HttpRequest, at: PageContext, grant_id: int) -> HttpResponse:
    """GET shows who requests what and why; POST is the tenant's single-use approval of exactly that."""
    seen = get_grant(at.scope, grant_id, now=at.now)
    asked = _asked(ALLOW, at.scope, seen)
    if request.method == "POST":
        stepup.use_assertion(request, request.POST.get("assertion", ""), **asked)
        done = allow(at.scope, grant_id, now=at.now)
        said = "The grant is open for 30 minutes." if done.opened_at else "A second operator has to approve it."
        messages.success(request, f"Allowed. {said}")
        return HttpResponseRedirect(reverse("web_glass", args=[at.tenant]))
    waits = seen.standing in WAITING and seen.grant.allowed_by is None
    nonce = stepup.issue_assertion(request, **asked) if waits else ""
    owner = owners_of(at.scope, [seen.space])[seen.space.id]
    return show(request, "break_glass_allow", at=at, place="glass", seen=seen, owner=owner, assertion=nonce)


@in_tenant(AccessLevel.DECIDER, methods="POST")
def end_as_tenant(request: HttpRequest, at: PageContext, grant_id: int) -> HttpResponse:
    end(at.scope, grant_id, now=at.now)
    messages.success(request, "Ended. This grant no longer gives access.")
    return HttpResponseRedirect(reverse("web_glass", args=[at.tenant]))


@in_tenant(AccessLevel.OWNER, methods="GET POST")
def glass_policy(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Change what operators may do.  The change also applies to open grants, from the next memory read."""
    said = request.POST.get("break_glass") or request.GET.get("break_glass") or ""
    if request.method == "POST":
        set_policy(at.reach.tenant, actor=at.scope.principal.label, now=at.now, break_glass=said)
        messages.success(request, "Policy changed. It applies from now on, also to open grants.")
        return HttpResponseRedirect(reverse("web_glass", args=[at.tenant]))
    return show(request, "confirm", at=at, place="glass", confirmation=_policy_change(at, said))


def _policy_change(at: PageContext, policy: str) -> Confirmation:
    title, back_url = "Operator access", reverse("web_glass", args=[at.tenant])
    label = dict(POLICIES["break_glass"].choices).get(policy)
    if not label:
        return Confirmation(title=title, heading=title, back_url=back_url, back_label="Choose a policy", width="medium")
    is_looser = policy == "notify"
    effect = Paragraph("The change applies at once, also to a grant that is open.")
    if is_looser:
        effect = Paragraph(
            f"From then on two operators are enough: {at.tenant} does not have to allow it. Each access is shown here"
            " and in the audit trail, and can be ended here.",
            "note warning",
        )
    return Confirmation(
        title=title,
        heading=f"{label}?",
        body=(effect,),
        fields={"break_glass": policy},
        button="Change policy",
        is_danger=is_looser,
        back_url=back_url,
        width="medium",
    )


def waits_or_reads(at: PageContext) -> dict[str, int]:
    """For the overview page: how many grants wait for approval and how many are open; 0 if the role may not delete."""
    found = find_active(at.scope, now=at.now) if at.reach.may_delete else []
    reads = found.count(GrantStatus.OPEN)
    return {"reads": reads, "waits": len(found) - reads}


def _page(at: BreakGlassContext, grant_id: int) -> str:
    return reverse("web_break_glass", args=[at.tenant, grant_id])


def _asked(action: str, scope: Scope, seen: Seen) -> dict[str, Any]:
    one = seen.grant
    return {"action": action, "target": f"{scope.tenant.uid}/grant:{one.pk}/space:{one.space_id}", "count": 1}


def _numbers(posted: Any) -> list[int]:
    said = [one.strip().removeprefix("#") for one in posted.getlist("memory") if one.strip()]
    if not 0 < len(said) <= MOST_AT_ONCE or not all(one.isascii() and one.isdecimal() for one in said):
        raise NumbersRefused
    numbers = [int(one) for one in said]
    if not all(0 < one < 2**63 for one in numbers):
        raise NumbersRefused
    return numbers


def _seconds_left(at: BreakGlassContext, seen: Seen) -> int:
    ends_at = seen.grant.ends_at
    return max(1, int((ends_at - at.now).total_seconds()) + 1) if ends_at and seen.is_open else 0
