"""API keys of the tenant: list, create, rotate and revoke.  A key's text is shown once, in the response that creates
it; it is stored in no session and no URL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.accounts.services import addresses_of
from apps.apikeys.offers import accept, decline, get_offer, list_offers
from apps.apikeys.permissions import DEFAULT, PERMISSIONS, expand
from apps.apikeys.selectors import ApiKeyNotFound, get_key, list_keys, state_of
from apps.apikeys.services import Issued, issue, may_give, revoke_all, rotate
from apps.core.errors import DomainError
from apps.projects.scope import Environment
from apps.projects.selectors import get_project, list_projects
from apps.web.environments import FIRST
from apps.web.forms import check_label
from apps.web.memories import following
from apps.web.memory_filters import id_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

if TYPE_CHECKING:  # views import no models
    from apps.apikeys.models import ApiKey
    from apps.projects.models import Project

READ, WRITE, ANY_SCOPE = "api_keys:read", "api_keys:write", "api_keys:any_scope"
SOON: Final = timedelta(days=14)  # keys that expire within this time are marked
PAGE: Final = 50
AT_ONCE: Final = 100  # most keys that one request revokes
LIFETIMES: Final[Mapping[str, str]] = {
    "1": "a day",
    "7": "a week",
    "30": "30 days",
    "90": "90 days",
    "180": "180 days",
    "365": "a year (maximum)",
}
GRACES: Final[Mapping[str, str]] = {
    "0": "none: the key leaked",
    "3600": "an hour",
    "86400": "a day",
    "604800": "a week",
    "2592000": "30 days (maximum)",
}
# Preselected scopes of a new key.  No preset contains a scope that is never granted by default.
PRESETS: Final[Mapping[str, Sequence[str]]] = {
    "everyday": DEFAULT,
    "reading": [name for name in DEFAULT if name.endswith(":read")],
    "nothing": (),
}
NEVER_BY_DEFAULT: Final = "; never in a default set"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """A key as a page shows it.  scopes: what it grants, wildcards expanded.  ends_soon: it is active and expires
    soon."""

    key: "ApiKey"
    state: str
    ends_soon: bool
    scopes: Sequence[tuple[str, str]]

    @property
    def is_active(self) -> bool:
        return self.state == "active"


class KeyForm(forms.Form):
    """The form of a new key.  The user's role determines which scopes are offered."""

    name = forms.CharField(
        label="Name",
        max_length=128,
        validators=[check_label],
        widget=forms.TextInput({"autocomplete": "off", "placeholder": "support bot"}),
    )
    environment = forms.ChoiceField(
        label="Environment", choices=[(one.value, one.value) for one in FIRST], initial=Environment.PRODUCTION.value
    )
    other_environments = forms.MultipleChoiceField(
        required=False,
        choices=[(one.value, one.value) for one in FIRST],
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.ChoiceField(label="Expires in", choices=list(LIFETIMES.items()), initial="90")
    project = forms.ChoiceField(label="Project", required=False)
    scopes = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, at: PageContext, projects: "Sequence[Project]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered: Any = self.fields["scopes"]
        offered.choices = [(name, _words(name)) for name in PERMISSIONS if _may_give(at, name)]
        pinned: Any = self.fields["project"]
        named = [(one.public_id, one.name) for one in projects if not one.is_default and one.archived_at is None]
        pinned.choices = [("", "any: each request names one"), *named]

    @property
    def everyday(self) -> list[Any]:
        """Checkboxes of the scopes in the default set."""
        return [box for box in self["scopes"] if box.data["value"] in DEFAULT]

    @property
    def weighty(self) -> list[Any]:
        return [box for box in self["scopes"] if box.data["value"] not in DEFAULT]


@in_tenant(AccessLevel.GRANTED, grant=READ)
def keys(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Active keys, or with ``state=past`` expired and revoked ones."""
    found = [_shown(at, key) for key in list_keys(at.scope)]
    is_past, before = request.GET.get("state") == "past", id_of(request.GET.get("before"))
    wanted = [one for one in found if one.is_active != is_past]
    rest = [one for one in wanted if before is None or one.key.pk < before]
    query = "state=past" if is_past else ""
    return show(
        request,
        "keys",
        at=at,
        place="keys",
        found=rest[:PAGE],
        is_past=is_past,
        counts={"active": sum(one.is_active for one in found), "past": sum(not one.is_active for one in found)},
        may_write=WRITE in at.scope.permissions,
        offers=list_offers(at.scope, now=at.now) if at.reach.is_owner else [],
        before=before,
        query=query,
        next_query=following(query, rest[PAGE - 1].key.pk if len(rest) > PAGE else None),
    )


@in_tenant(AccessLevel.GRANTED, grant=READ)
def key(request: HttpRequest, at: PageContext, key_id: int) -> HttpResponse:
    """One key: its scopes, and whether it is accepted now."""
    shown = _shown(at, get_key(at.scope, key_id))
    return show(
        request,
        "key",
        at=at,
        place="keys",
        one=shown,
        given_by=addresses_of([shown.key.account_id]).get(shown.key.account_id) if shown.key.account_id else None,
        may_write=WRITE in at.scope.permissions,
        server=_server(request),
    )


@in_tenant(AccessLevel.STEP_UP, grant=WRITE, methods="GET POST")
def make_key(request: HttpRequest, at: PageContext) -> HttpResponse:
    """POST responds with the new key's text, once; with ``preset``, with the form and the scopes of that set."""
    projects = list_projects(at.scope)
    preset = request.POST.get("preset", "")
    if preset in PRESETS:
        data = request.POST.copy()
        data.setlist("scopes", PRESETS[preset])
        form = KeyForm(data, at=at, projects=projects)
        form.errors.clear()  # nothing was submitted yet
    else:
        form = KeyForm(request.POST or None, at=at, projects=projects, initial=_beginning(request))
    if preset not in PRESETS and request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            issued = issue(
                at.scope,
                name=said["name"],
                environment=Environment(said["environment"]),
                other_environments=[Environment(one) for one in said["other_environments"]],
                scopes=may_give(at.scope, said["scopes"]),
                project_id=get_project(at.scope, said["project"]).pk if said["project"] else None,
                expires_at=at.now + timedelta(days=int(said["days"])),
                now=at.now,
            )
        except DomainError as error:
            form.add_error(None, error.message)
        else:
            return _hand_over(request, at, issued)
    return show(
        request,
        "make_key",
        status=422 if request.method == "POST" and preset not in PRESETS else 200,
        at=at,
        place="keys",
        form=form,
        presets=PRESETS,
        preset=preset or ("" if request.method == "POST" else "everyday"),
        may_any=ANY_SCOPE in at.scope.permissions,
    )


@in_tenant(AccessLevel.STEP_UP, grant=WRITE, methods="GET POST")
def rotate_key(request: HttpRequest, at: PageContext, key_id: int) -> HttpResponse:
    """POST responds with the text of the replacement key, once."""
    old = get_key(at.scope, key_id)
    may_give(at.scope, old.scopes)
    grace = request.POST.get("grace", "")
    if request.method == "POST" and grace in GRACES:
        issued = rotate(at.scope, key_id, grace=timedelta(seconds=int(grace)), now=at.now)
        return _hand_over(request, at, issued, instead_of=get_key(at.scope, key_id))
    return show(
        request,
        "rotate_key",
        status=422 if request.method == "POST" else 200,
        at=at,
        place="keys",
        one=_shown(at, old),
        graces=GRACES,
        usual="86400",
    )


@in_tenant(AccessLevel.OWNER, methods="GET POST")
def key_offer(request: HttpRequest, at: PageContext, offer_id: int) -> HttpResponse:
    """A key that an operator offered.  POST creates it and responds with its text, once."""
    if request.method == "POST":
        issued = accept(at.scope, offer_id, now=at.now)
        messages.success(
            request,
            "Key created. The operator who offered it cannot see its text: give it to the program that needs it.",
        )
        return _hand_over(request, at, issued)
    offer = get_offer(at.scope, offer_id, now=at.now)
    given = expand(offer.scopes, is_pinned=offer.project_id is not None)
    return show(
        request,
        "key_offer",
        at=at,
        place="keys",
        offer=offer,
        by=addresses_of([offer.offered_by]).get(offer.offered_by, f"account {offer.offered_by}"),
        scopes=[(name, _words(name)) for name in PERMISSIONS if name in given],
        old=_shown(at, get_key(at.scope, offer.old_key_id)) if offer.old_key_id else None,
    )


@in_tenant(AccessLevel.OWNER, methods="POST")
def decline_offer(request: HttpRequest, at: PageContext, offer_id: int) -> HttpResponse:
    decline(at.scope, offer_id, now=at.now)
    messages.success(request, "Declined: no key was created.")
    return HttpResponseRedirect(reverse("web_keys", args=[at.tenant]))


@in_tenant(AccessLevel.GRANTED, grant=WRITE, methods="POST")
def revoke_keys(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Revoke the selected keys.  The first POST shows them; with ``sure``, POST revokes them."""
    ids = list(dict.fromkeys(id_of(one) or 0 for one in request.POST.getlist("id")[:AT_ONCE]))
    if not ids:
        messages.warning(request, "No key is selected.")
        return HttpResponseRedirect(reverse("web_keys", args=[at.tenant]))
    if "sure" in request.POST:
        outcomes = [outcome for _, outcome in revoke_all(at.scope, ids, now=at.now)]
        done, missed = outcomes.count("revoked"), len(outcomes) - outcomes.count("revoked")
        if done:
            what = "Revoked: it is" if done == 1 else f"{done} revoked: they are"
            messages.success(request, f"{what} refused from the next request on.")
        if missed:
            messages.warning(request, f"{missed} not revoked: no such key, or revoked already.")
        return HttpResponseRedirect(reverse("web_keys", args=[at.tenant]))
    wanted = {key.pk: key for key in list_keys(at.scope) if key.pk in ids and key.revoked_at is None}
    if not wanted:
        raise ApiKeyNotFound
    return show(request, "revoke_keys", at=at, place="keys", found=[_shown(at, one) for one in wanted.values()])


def _beginning(request: HttpRequest) -> dict[str, Any]:
    """Initial values.  The environment is taken from the page that linked here."""
    said = request.GET.get("environment")
    begun: dict[str, Any] = {"scopes": list(DEFAULT)}
    return begun | {"environment": said} if said in {one.value for one in FIRST} else begun


def _hand_over(
    request: HttpRequest, at: PageContext, issued: Issued, *, instead_of: "ApiKey | None" = None
) -> HttpResponse:
    old = _shown(at, instead_of) if instead_of else None
    return show(
        request,
        "new_key",
        status=201,
        at=at,
        place="keys",
        one=_shown(at, issued.key),
        text=issued.text,
        old=old,
        server=_server(request),
    )


def _shown(at: PageContext, key: "ApiKey") -> KeyRow:
    state = state_of(key, now=at.now)
    given = expand(key.scopes, is_pinned=key.project_id is not None)
    return KeyRow(
        key=key,
        state=state,
        ends_soon=state == "active" and _is_soon(key.expires_at, at.now),
        scopes=[(name, _words(name)) for name in PERMISSIONS if name in given],
    )


def _is_soon(end: datetime | None, now: datetime) -> bool:
    return end is not None and end - now < SOON


def _words(name: str) -> str:
    return PERMISSIONS[name].removesuffix(NEVER_BY_DEFAULT)


def _may_give(at: PageContext, name: str) -> bool:
    return ANY_SCOPE in at.scope.permissions or name in DEFAULT or name in at.scope.permissions


def _server(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")
