"""The page where a person decides what a client gets (RFC 6749, 4.1.1), and where they see and end what they gave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from oauthlib.common import add_params_to_uri
from oauthlib.oauth2 import FatalClientError, InvalidRequestError, OAuth2Error

from apps.accounts import stepup
from apps.accounts.services import person_of
from apps.apikeys import oauth
from apps.core.errors import DomainError, Forbidden, NotFound
from apps.memories.spaces import get_or_create_person
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import get_project, list_projects, scope_in
from apps.tenants.members import Reach, reach_of
from apps.web.environments import FIRST
from apps.web.forms import check_label
from apps.web.oauth.clients import LOOPBACK, learn_client
from apps.web.oauth.server import AuthorizationServer, audience_of, parameters
from apps.web.pages import POLICY, AccessLevel, needs, refusal, show
from text import patterns

WORDS: Final[Mapping[str, str]] = {
    "memory:read": "Search and read memories, facts, people and things",
    "memory:add": "Add memories and facts",
    "memory:update": "Change tags, importance and other labels of memories",
    "memory:forget_request": "Ask for a memory to be deleted; a person confirms it here",
    "history:read": "Read stored turns of conversations",
    "history:write": "Store turns of conversations",
}
NEEDED: Final = "memory:read"  # by every client: the endpoint asks for it
UNKNOWN: Final = (
    "This client is unknown here, or wants your answer at an address that is not its own. Nothing was sent."
)
_CHALLENGE: Final = patterns.compile(r"[A-Za-z0-9_-]{43}", patterns.ASCII)  # SHA-256 in base64url
MOST_END_USER: Final = 256


class NothingToGive(Forbidden):
    """Your role lets you give no client access to memories; an owner can change your role."""

    code = "ROLE_TOO_LOW"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A valid request of a client.  origin: where the person's browser is sent back to, as a policy names it."""

    client_id: str
    name: str
    redirect_uri: str
    state: str | None
    challenge: str
    audience: str
    scopes: Sequence[str]

    @property
    def origin(self) -> str:
        parts = urlsplit(self.redirect_uri)
        if parts.scheme not in ("http", "https") or parts.hostname == "::1":  # a policy cannot name that one
            return f"{parts.scheme}:"
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_here(self) -> bool:
        """Whether it is a program on the person's own computer."""
        return not self.redirect_uri.startswith("https:") or urlsplit(self.redirect_uri).hostname in LOOPBACK

    @property
    def host(self) -> str:
        parts = urlsplit(self.redirect_uri)
        return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}://"

    def answer(self, **said: str) -> HttpResponse:
        """Send the browser back to the client with this answer."""
        state = {"state": self.state} if self.state else {}
        return _go(add_params_to_uri(self.redirect_uri, list((said | state | {"iss": settings.OAUTH_ISSUER}).items())))


class ConsentForm(forms.Form):
    """What a person gives.  place: tenant and project.  reaches: tenants in which the person's role can give some."""

    place = forms.ChoiceField(label="Tenant and project")
    environment = forms.ChoiceField(label="Environment", choices=[(one.value, one.value) for one in FIRST])
    end_user = forms.CharField(
        label="End user",
        max_length=MOST_END_USER,
        validators=[check_label],
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    scopes = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, reaches: Sequence[Reach], asked: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reaches = {reach.tenant.name: reach for reach in reaches}
        place: Any = self.fields["place"]
        place.choices = [one for reach in reaches for one in _projects_of(reach)]
        offered = {one for reach in reaches for one in oauth.rights_of(reach)}
        scopes: Any = self.fields["scopes"]
        scopes.choices = [(one, WORDS[one]) for one in asked if one in offered and one != NEEDED]

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        tenant, _, said["project"] = said.get("place", "").partition("/")
        said["reach"] = reach = self.reaches.get(tenant)
        if reach is None:
            return said
        said["scopes"] = [NEEDED, *said.get("scopes", [])]
        if beyond := [WORDS[one] for one in said["scopes"] if one not in oauth.rights_of(reach)]:
            self.add_error("scopes", f"Your role in {tenant} cannot give this: {'; '.join(beyond)}.")
        return said


@needs(AccessLevel.FACTOR, methods="GET POST")
def authorize(request: HttpRequest) -> HttpResponse:
    """GET shows what a client asks for; POST answers it.  Both take the client's request from the query string."""
    if not settings.OAUTH_ISSUER:
        raise NotFound
    now = timezone.now()
    asked = _asked(request, now=now)
    if isinstance(asked, HttpResponse):
        return asked
    if request.method == "POST" and "deny" in request.POST:
        return asked.answer(error="access_denied")
    stepup.require_step_up(request)
    reaches = [one for one in reach_of(person_of(request).pk) if NEEDED in oauth.rights_of(one)]
    if not reaches:
        raise NothingToGive
    initial = {"end_user": person_of(request).email, "scopes": [one for one in asked.scopes if one != NEEDED]}
    form = ConsentForm(request.POST or None, reaches=reaches, asked=asked.scopes, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            return _give(request, asked, form.cleaned_data, now=now)
        except DomainError as error:
            form.add_error(None, error.message)
    status = 422 if request.method == "POST" else 200
    page = show(
        request,
        "connect",
        status=status,
        asked=asked,
        form=form,
        needed=WORDS[NEEDED],
        days=oauth.LIFETIME.days,
    )
    # A browser checks where a form's answer redirects to against the policy of the page with the form.
    page.headers["Content-Security-Policy"] = POLICY.replace("form-action 'self'", f"form-action 'self' {asked.origin}")
    return page


@needs(AccessLevel.PERSON)
def connected_clients(request: HttpRequest) -> HttpResponse:
    """The clients that the person gave access."""
    found = oauth.list_clients(person_of(request), now=timezone.now())
    return show(request, "connected_clients", place="account", found=found, words=WORDS)


@needs(AccessLevel.PERSON, methods="POST")
def end_client(request: HttpRequest, grant_id: int) -> HttpResponse:
    oauth.end_grant(person_of(request).pk, grant_id, now=timezone.now())
    messages.success(request, "Access ended: the client is refused from the next request on.")
    return HttpResponseRedirect(reverse("web_connected_clients"))


def _asked(request: HttpRequest, *, now: datetime) -> Asked | HttpResponse:
    """The client's request, or the answer to one that is not valid: to the person if it names no address of a client,
    else to the client."""
    client_id = request.GET.get("client_id", "")
    learn_client(client_id, address=str(request.META.get("REMOTE_ADDR", "")), now=now)
    uri, _, _, headers = parameters(request)
    try:
        scopes, found = AuthorizationServer().validate_authorization_request(uri, "GET", "", headers)
        if not _CHALLENGE.fullmatch(found["code_challenge"]):
            raise InvalidRequestError("code_challenge: SHA-256 in base64url.", request=found["request"])
    except FatalClientError:
        return refusal(request, UNKNOWN, status=400)
    except OAuth2Error as error:
        return _refused(error.redirect_uri, error, error.state)
    try:
        audience = audience_of(request.GET.getlist("resource"))
    except OAuth2Error as error:
        return _refused(found["redirect_uri"], error, found["state"])
    return Asked(
        client_id=client_id,
        name=found["request"].client.name or client_id,
        redirect_uri=found["redirect_uri"],
        state=found["state"],
        challenge=found["code_challenge"],
        audience=audience,
        scopes=[one for one in oauth.RIGHTS if one in {NEEDED, *scopes}],
    )


def _give(request: HttpRequest, asked: Asked, said: Mapping[str, Any], *, now: datetime) -> HttpResponse:
    person, reach = person_of(request), said["reach"]
    scope = replace(_scope_of(reach, person.pk), environment=Environment(said["environment"]))
    consent = oauth.Consent(
        client_id=asked.client_id,
        name=asked.name,
        redirect_uri=asked.redirect_uri,
        code_challenge=asked.challenge,
        audience=asked.audience,
        project_id=get_project(scope, said["project"]).pk,
        environment=scope.environment,
        end_user_id=get_or_create_person(scope, said["end_user"], now=now),
        scopes=said["scopes"],
    )
    uri, _, _, headers = parameters(request)
    credentials = {
        "user": person,
        "keep_code": lambda code: oauth.give(scope, reach, code, consent, now=now),
    }
    location, _, _ = AuthorizationServer().create_authorization_response(
        uri, "GET", "", headers, scopes=list(consent.scopes), credentials=credentials
    )
    return _go(add_params_to_uri(location["Location"], [("iss", settings.OAUTH_ISSUER)]))


def _projects_of(reach: Reach) -> list[tuple[str, str]]:
    there = [one for one in list_projects(_scope_of(reach, 0)) if one.archived_at is None]
    name = reach.tenant.name
    return [(f"{name}/{one.public_id}", f"{name} · {one.name}") for one in there]


def _scope_of(reach: Reach, person_id: int) -> Scope:
    scope = scope_in(reach.tenant, principal=Principal(kind="account", id=person_id))
    return replace(scope, permissions=reach.permissions)


def _refused(redirect_uri: str, error: OAuth2Error, state: str | None) -> HttpResponse:
    said = [("error", error.error), ("error_description", error.description or ""), ("iss", settings.OAUTH_ISSUER)]
    return _go(add_params_to_uri(redirect_uri, [*said, *([("state", state)] if state else [])]))


def _go(address: str) -> HttpResponse:
    """A redirect to a client, also by the scheme of an app, which Django's own refuses."""
    return HttpResponse(status=302, headers={"Location": address})
