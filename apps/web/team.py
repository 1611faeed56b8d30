"""The members of the organization, their roles, and what each role may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from apps.accounts.second_factors import with_second_factor
from apps.core.errors import Malformed
from apps.tenants.grants import GRANTED, GRANTS
from apps.tenants.members import MAY_DELETE, MAY_READ, change_member, get_member, list_members, take_role
from apps.web.confirmation import Confirmation, Paragraph
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

if TYPE_CHECKING:  # views import no models
    from apps.tenants.models import Membership

READ, WRITE = "team:read", "team:write"
OWNER: Final = "owner"
ROLES: Final[Mapping[str, str]] = {
    "owner": "full access, including the plan and other owners",
    "admin": "full access except the plan and owners",
    "developer": "reads memories; manages keys and webhooks",
    "analyst": "reads memories; creates exports",
    "billing": "sees usage and the plan, but no memories",
}


class ChangeRefused(Malformed):
    """A change gives a role, suspends, or ends a suspension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What some roles may do.  name: of the grant; empty for what is only possible in the browser."""

    name: str
    words: str
    roles: frozenset[str]


IN_THE_BROWSER: Final = (
    Ability(name="", words="read and search memories, and see the review queue", roles=MAY_READ),
    Ability(name="", words="decide reviews; delete, restore and erase memories", roles=MAY_DELETE),
)


@in_tenant(AccessLevel.GRANTED, grant=READ)
def team(request: HttpRequest, at: PageContext) -> HttpResponse:
    there = list_members(at.reach.tenant)
    proven = with_second_factor([one.user_id for one in there])
    return show(
        request,
        "team",
        at=at,
        place="team",
        members=[{"one": one, "is_proven": one.user_id in proven, "is_me": _is_me(at, one)} for one in there],
        may_write=WRITE in at.scope.permissions,
        others=_other_tenants(at),
        roles=ROLES,
        abilities=_abilities(),
    )


@in_tenant(AccessLevel.STEP_UP, grant=WRITE, methods="GET POST")
def member(request: HttpRequest, at: PageContext, user_id: int) -> HttpResponse:
    """POST changes the role, suspends the member, or ends a suspension."""
    if request.method == "POST":
        return _change(request, at, user_id)
    there = get_member(at.reach.tenant, user_id)
    return show(
        request,
        "member",
        at=at,
        place="team",
        one=there,
        is_me=_is_me(at, there),
        is_beyond=there.role == OWNER and at.reach.role != OWNER,
        roles={name: words for name, words in ROLES.items() if name != OWNER or at.reach.role == OWNER},
        others=_other_tenants(at),
    )


@in_tenant(AccessLevel.STEP_UP, grant=WRITE, methods="GET POST")
def remove_member(request: HttpRequest, at: PageContext, user_id: int) -> HttpResponse:
    there = get_member(at.reach.tenant, user_id)
    if request.method != "POST":
        return show(request, "confirm", at=at, place="team", confirmation=_removal(at, there))
    take_role(at.reach.tenant, user_id, by=at.reach.role, actor=at.scope.principal.label, now=at.now)
    messages.success(request, f"{there.user.email} was removed from {at.reach.tenant.organization}.")
    return _back(at, user_id)


def _removal(at: PageContext, there: "Membership") -> Confirmation:
    lost = (
        f"access to {at.reach.tenant.organization} and all its tenants from the next request on. API keys they created"
        " keep working."
    )
    loss = f"They lose {lost}"
    if _is_me(at, there):
        loss = format_html("<strong>This is your own account.</strong> You lose {}", lost)
    account = format_html(
        "The account stays, with its passkeys. To add them again, the server's operator runs <code>{}</code>.",
        "memsync people add",
    )
    return Confirmation(
        title="Remove from the team",
        heading=f"Remove {there.user.email}?",
        body=(Paragraph(loss), Paragraph(account, "meta")),
        button="Remove member",
        is_danger=True,
        back_url=reverse("web_member", args=[at.tenant, there.user_id]),
    )


def _change(request: HttpRequest, at: PageContext, user_id: int) -> HttpResponse:
    role, status = request.POST.get("role"), request.POST.get("status")
    if (role is None) == (status is None) or status not in (None, "suspended", "active"):
        raise ChangeRefused
    there = change_member(
        at.reach.tenant,
        user_id,
        by=at.reach.role,
        role=role,
        is_suspended=None if status is None else status == "suspended",
        actor=at.scope.principal.label,
        now=at.now,
    )
    said = (
        "is suspended" if status == "suspended" else "is active again" if status else f"now has the role {there.role}"
    )
    messages.success(request, f"{there.user.email} {said}. This applies from the next request on.")
    return _back(at, user_id)


def _back(at: PageContext, user_id: int) -> HttpResponse:
    """Back to the team, or home if users changed themselves: they may have lost access to the team."""
    if user_id == at.person.pk:
        return HttpResponseRedirect(reverse("web_home"))
    return HttpResponseRedirect(reverse("web_team", args=[at.tenant]))


def _abilities() -> Sequence[Ability]:
    named = [
        Ability(name=name, words=words, roles=frozenset(role for role, has in GRANTS.items() if name in has))
        for name, words in GRANTED.items()
    ]
    return [*IN_THE_BROWSER, *named]


def _is_me(at: PageContext, there: "Membership") -> bool:
    return there.user_id == at.person.pk


def _other_tenants(at: PageContext) -> list[str]:
    """Other tenants of the organization, to which the role here also applies."""
    mine = at.reach.tenant
    return [
        one.tenant.name
        for one in at.reaches
        if one.tenant.organization_id == mine.organization_id and one.tenant.pk != mine.pk
    ]
