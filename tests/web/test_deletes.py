"""Who may delete what: every route that deletes, with every kind of credential, and nothing goes but by the right one.

Routes are taken from the URL conf: one that is new is not in ``DEEDS`` or ``KEYS_OWN``, and the first tests say so.
The table is printed with `pytest tests/web/test_deletes.py -s`.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from apps.accounts import stepup
from apps.accounts.stepup import StepUp
from apps.api import connectors
from apps.api.mem0.unbuilt import UnbuiltView
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.projects.scope import Scope
from apps.retention.memory_selection import MemorySelection
from apps.retention.requests import ask
from apps.retention.states import PrivacyKind
from apps.retention.subject_requests import open_request
from apps.tenants import members
from apps.tenants.models import Role
from apps.tenants.selectors import get_tenant
from apps.web import memories, pages
from apps.web.pages import AccessLevel
from tests.api.people import sign_in
from tests.makers import make_api_key, make_scope
from tests.web.people import Person, make_person, note, say

pytestmark = pytest.mark.django_db(databases="__all__")

TEXTS = ("The spare key lies under the blue flower pot.", "The attic light switch is behind the door.")
WORDS = re.compile(r"delete|forget|erase|purge|remove|confirm|bulk|shred", re.IGNORECASE)


# -- what routes there are -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    path: str
    name: str | None
    view: Any

    @property
    def need(self) -> AccessLevel | None:
        return getattr(self.view, "need", None)

    @property
    def methods(self) -> set[str]:
        """Of the API's."""
        return set(getattr(getattr(self.view, "cls", None), "permissions", ()))


def routes() -> list[Route]:
    return list(_flattened(get_resolver().url_patterns, ""))


def _flattened(patterns: Any, prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        here = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if here != "admin/":  # its own: closed pages and services, in test_admin.py
                yield from _flattened(pattern.url_patterns, here)
        elif isinstance(pattern, URLPattern):
            yield Route(here, pattern.name, pattern.callback)


def of_people() -> list[Route]:
    return [route for route in routes() if route.path.startswith("app/")]


def of_programs() -> list[Route]:
    """Routes of the API that delete, or whose path says so; without those of connectors, which are not served here."""
    elsewhere = {str(pattern.pattern) for pattern in connectors.routes()}
    own = [route for route in routes() if not route.path.startswith("app/") and route.path not in elsewhere]
    built = [route for route in own if not issubclass(getattr(route.view, "cls", object), UnbuiltView)]
    return [route for route in built if "DELETE" in route.methods or WORDS.search(route.path)]


# What reveals something, or changes what holds, and deletes no memory by itself: each has tests of its own.
REVEALING = {
    *("web_prepare_file", "web_link_file", "web_change_retention", "web_make_key", "web_rotate_key", "web_member"),
    *("web_remove_member", "web_remove_project", "web_new_webhook", "web_rotate_webhook", "web_link_export"),
    *("web_change_rule", "web_key_offer", "web_decline_key_offer"),
}
# What goes there is no memory, and needs no more than the role, as through the API.
OTHER_THINGS = {"web_remove_member", "web_remove_project", "web_delete_webhook"}
# What lets an operator read, and deletes nothing: tests/web/test_break_glass.py.
LETTING_IN = {"web_glass_allow", "web_glass_policy"}

# What a key may do for all that, and why it is no delete of a memory.
KEYS_OWN = {
    "memory/bulk-add": "adds",
    "memory/forget-requests": "asks a person",
    "memory/forget-requests/<int:request_id>": "reads what was asked",
    "memory/forget-requests/<int:request_id>/cancel": "takes back what it asked",
    "memory/<int:memory_id>/relations/<int:edge_id>": "a relation that a caller drew; both memories stay",
    "org/webhooks/<int:endpoint_id>": "an address that is told; the scope webhooks:write",
    "api/v1/memories": "retired where key_deletes=retire, else refused",
    "api/v1/memories/<str:platform_id>": "the same",
    "v1/memories/": "the same",
    "v1/memories/<str:mem0_id>/": "the same",
    "v1/batch/": "the same",
    "v2/entities/<str:entity_type>/<path:name>/": "the same",
    "v1/memory/<str:ns>/<str:profile>/memories/<str:public_id>": "the same",
    "v1/memory/<str:ns>/<str:profile>/branches/<str:branch>": "a temporary copy that a key made",
    "v1/memory/<str:ns>/<str:profile>/erasures/<str:erasure_id>": "takes back what it asked",
    "v1/memory/<str:ns>/<str:profile>/policy": "a policy that limits nothing",
    "v1/namespaces/<str:ns>/policy": "the same",
    "v1/memory/<str:ns>/<str:profile>/tokens/<str:token_id>": "a token",
    "v1/namespaces/<str:ns>/tokens/<str:token_id>": "the same",
    "v1/objects/<int:object_id>": "the same, of the memories that only it stated",
    "v1/memory/<str:ns>/<str:profile>/sessions/<path:session_id>": "ends a session; the scope history:write",
    "v1/connectors/<int:connector_id>": "a source that is read; the memories stay",
    "v1/candidates/bulk": "decides about what was never remembered",
    "v1/history/delete": "the caller's own transcript; the scope history:write",
    "v1/state/delete": "the caller's own state; the scope state:write",
}


# What no key may do, and a person by their role, through the API: no memory goes by any of these.
OF_PEOPLE = {
    "org/projects/<str:project_id>": "a project in which nothing is left",
    "org/api-keys/bulk-revoke": "keys",
    "org/api-keys/<int:key_id>": "a key",
    "org/team/members/<int:user_id>": "a person's role",
}


def test_every_page_says_what_it_needs() -> None:
    assert len(of_people()) > 20
    assert [route.path for route in of_people() if not isinstance(route.need, AccessLevel)] == []


def test_pages_that_delete_need_a_step_up_and_those_of_many_leave_for_it() -> None:
    named = {
        route.name: route.need
        for route in of_people()
        if WORDS.search(str(route.name)) and "app/t/" in route.path and route.name not in OTHER_THINGS
    }

    assert named
    assert {name for name, need in named.items() if need not in pages.STEPPED_UP} == set()
    assert {name for name, need in named.items() if need == AccessLevel.STEP_UP} == {"web_delete_memory"}


def test_pages_that_change_factors_need_a_fresh_confirmation() -> None:
    changing = [route for route in of_people() if re.search(r"passkeys|authenticator|recovery", route.path)]

    assert len(changing) > 3
    assert {route.path for route in changing if route.need != AccessLevel.FRESH} == set()


def test_no_deed_was_forgotten() -> None:
    stepped_up = {route.name for route in of_people() if route.need in pages.STEPPED_UP}

    assert stepped_up == set(DEEDS) | REVEALING | LETTING_IN


def test_what_keys_may_do_is_listed_and_nothing_else() -> None:
    closed = {route.path for route in of_programs()} - set(KEYS_OWN) - set(OF_PEOPLE)

    assert set(KEYS_OWN) | set(OF_PEOPLE) <= {route.path for route in of_programs()}
    assert closed == {"memory/forget", "memory/user/purge"}


# -- the world -------------------------------------------------------------------------------------------------------


@dataclass
class World:
    """What there is to be deleted, created again for each attempt, and the pages' forms as the owner was shown them."""

    acme: OpenedTenant
    scope: Scope
    ids: list[int] = field(default_factory=list)
    request_id: int = 0
    privacy_id: int = 0
    form: dict[str, str] = field(default_factory=dict)

    def refill(self) -> None:
        """Create again what was deleted."""
        if self.ids and not self.gone:
            return
        self.scope = make_scope(self.acme, "alice", project_id=self.acme.project.pk, now=datetime.now(UTC))
        self.ids = say(self.scope, *TEXTS)
        asked, _ = ask(self.scope, MemorySelection(memory_ids=tuple(self.ids)), now=datetime.now(UTC))
        self.request_id, self.form = asked.id, {}
        self.privacy_id = open_request(self.scope, PrivacyKind.DELETE, now=datetime.now(UTC))[0].id

    @property
    def gone(self) -> bool:
        with tenant_transaction(self.scope):
            rows = Memory.objects.within(self.scope).filter(pk__in=self.ids)
            return rows.filter(retention_status="active").count() != len(self.ids)


DEEDS: dict[str, Callable[[World], list[Any]]] = {
    "web_delete_memory": lambda world: ["acme", world.scope.space.id, world.ids[0]],
    "web_delete_many": lambda world: ["acme", world.scope.space.id],
    "web_confirm_request": lambda world: ["acme", world.request_id],
    "web_erase_memory": lambda world: ["acme", world.scope.space.id, world.ids[0]],
    "web_erase_person": lambda world: ["acme", world.scope.space.id],
    "web_erase_for_request": lambda world: ["acme", world.privacy_id],
    "web_erase_project": lambda world: ["acme", world.acme.project.public_id],
    "web_erase_tenant": lambda world: ["acme"],  # the last one: nothing comes after it
}
# What is to be typed, where it is not enough to have been shown the page.
TYPED: dict[str, Callable[[World], Any]] = {
    "web_erase_memory": lambda world: world.ids[0],
    "web_erase_person": lambda _: "alice",
    "web_erase_for_request": lambda _: "alice",
    "web_erase_project": lambda world: world.acme.project.public_id,
    "web_erase_tenant": lambda _: "acme",
}


@pytest.fixture
def world(acme: OpenedTenant) -> World:
    return World(acme, make_scope(acme, "alice", now=datetime.now(UTC)))


Who = Callable[["Cast"], Client]


@dataclass(frozen=True)
class Cast:
    acme: OpenedTenant
    globex: OpenedTenant
    tenants_owner: Person

    @property
    def owner(self) -> Person:
        """At a browser of their own each time."""
        return replace(self.tenants_owner, client=Client(raise_request_exception=False))

    def member(self, role: str) -> Client:
        return make_person(self.acme.tenant, role, email=f"{role}-{time.time_ns()}@acme.example").show_factor(ago=1)

    def stale(self, *, opened_ago: float, seen_ago: float) -> Client:
        client = self.owner.show_factor(ago=1)
        session = client.session
        session["opened_at"], session["seen_at"] = time.time() - opened_ago, time.time() - seen_ago
        session.save()
        return client

    def after_recovery_code(self) -> Client:
        owner = self.owner
        client = owner.sign_in()
        one = {"method": "mfa", "type": "recovery_codes", "id": 1, "at": time.time() - 1}
        note(client, owner.user, [one, one | {"reauthenticated": True}])
        return client

    def operator(self) -> Client:
        user = get_user_model().objects.create_superuser(f"operator-{time.time_ns()}@example.org", "x" * 12)
        seen = Person(user, "", Client(raise_request_exception=False), "JBSWY3DPEHPK3PXP")
        TOTP.activate(user, seen.seed)
        return seen.show_factor(ago=1)


def with_key(cast: Cast, client: Client) -> Client:
    key = make_api_key(cast.acme.scope, scopes=sorted(PERMISSIONS)).text
    client.defaults |= {"HTTP_X_API_KEY": key, "HTTP_X_END_USER_ID": "alice"}
    return client


def nobody(_: Cast) -> Client:
    return Client(raise_request_exception=False)


def unforged(cast: Cast) -> Client:
    """The owner's good session, in a browser that another site made send the form."""
    client = cast.owner.show_factor(ago=1)
    client.handler.enforce_csrf_checks = True
    return client


def with_token(cast: Cast) -> Client:
    """An owner who has just signed in through the API, with a second factor."""
    owner = make_person(cast.acme.tenant, email=f"token-{time.time_ns()}@acme.example")
    client = nobody(cast)
    client.defaults |= {"HTTP_AUTHORIZATION": f"Bearer {sign_in(owner)['tokens']['access_token']}"}
    return client


PRINCIPALS: dict[str, Who] = {
    "no credential": nobody,
    "key, every scope": lambda cast: with_key(cast, nobody(cast)),
    "owner's access token": with_token,
    "key and session": lambda cast: with_key(cast, cast.owner.show_factor(ago=1)),
    "session 12 h old": lambda cast: cast.stale(opened_ago=43_201, seen_ago=5),
    "session idle 31 min": lambda cast: cast.stale(opened_ago=3_600, seen_ago=1_860),
    "no MFA enrolled": lambda cast: make_person(
        cast.acme.tenant, Role.ADMIN, email=f"bare-{time.time_ns()}@acme.example", factor=False
    ).sign_in(),
    "MFA not shown": lambda cast: cast.owner.sign_in(),
    "no step-up": lambda cast: cast.owner.show_factor(),
    "recovery code": Cast.after_recovery_code,
    "step-up 301 s": lambda cast: cast.owner.show_factor(ago=301),
    "developer": lambda cast: cast.member(Role.DEVELOPER),
    "analyst": lambda cast: cast.member(Role.ANALYST),
    "billing": lambda cast: cast.member(Role.BILLING),
    "other tenant's owner": lambda cast: make_person(
        cast.globex.tenant, email=f"owner-{time.time_ns()}@globex.example"
    ).show_factor(ago=1),
    "operator": Cast.operator,
    "no CSRF token": unforged,
    "admin, step-up 1 s": lambda cast: cast.member(Role.ADMIN),
    "owner, step-up 299 s": lambda cast: cast.owner.show_factor(ago=299),
}
MAY = {"admin, step-up 1 s", "owner, step-up 299 s"}
SKIPPED = {("web_erase_tenant", "admin, step-up 1 s")}  # a tenant is erased once


@pytest.fixture
def cast(acme: OpenedTenant, globex: OpenedTenant, owner: Person) -> Cast:
    return Cast(acme, globex, owner)


def attempt(world: World, who: Client, name: str, *, owner: Person | None = None) -> tuple[int, bool]:
    """The status of the last word, and whether anything went.  The form is the one that this browser was shown; where
    it was shown none, the one that ``owner`` was shown and that was leaked."""
    address = reverse(name, args=DEEDS[name](world))
    form = _form(who.get(address))
    if owner is not None and "assertion" not in form:
        form = _form(owner.show_factor(ago=1).get(address)) or form
    if name in TYPED:
        form["typed"] = TYPED[name](world)
    response = who.post(address, form)
    return response.status_code, world.gone


def _form(response: Any) -> dict[str, str]:
    text = response.content.decode()
    found = re.findall(r'<input[^>]*type="hidden"[^>]*name="(\w+)"[^>]*value="([^"]*)"', text)
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


Row = tuple[str, str, int, bool]  # route, principal, status, whether anything went


def table(
    world: World, cast: Cast, *, principals: Iterable[str] = PRINCIPALS, deeds: Iterable[str] = DEEDS
) -> list[Row]:
    found = []
    for name in deeds:
        for principal in principals:
            if (name, principal) in SKIPPED:
                continue
            world.refill()
            found.append((name, principal, *attempt(world, PRINCIPALS[principal](cast), name, owner=cast.owner)))
    return found


def table_of_programs(world: World, cast: Cast) -> list[Row]:
    world.refill()
    found = []
    for route in of_programs():
        if route.path in KEYS_OWN or route.path in OF_PEOPLE:
            continue
        for principal, who in PRINCIPALS.items():
            body = {"memory_ids": world.ids}
            answer = who(cast).delete(f"/{route.path}", body, content_type="application/json")
            found.append((f"DELETE /{route.path}", principal, answer.status_code, world.gone))
    return found


# -- the table -------------------------------------------------------------------------------------------------------


def test_nothing_goes_but_by_who_may(world: World, cast: Cast) -> None:
    found = [*table_of_programs(world, cast), *table(world, cast)]

    for row in found:
        print("{:28} {:22} {}  {}".format(*row[:3], "GONE" if row[3] else "stays"))  # noqa: T201
    went = {(name, principal) for name, principal, _, is_gone in found if is_gone}
    assert went == {(name, principal) for name in DEEDS for principal in MAY} - SKIPPED
    assert {status for _, principal, status, _ in found if principal not in MAY} <= {302, 400, 401, 403, 404}


def test_key_is_told_before_anything_is_looked_up(world: World, cast: Cast) -> None:
    client = PRINCIPALS["key, every scope"](cast)
    for body in ({"memory_ids": [1]}, {"nonsense": True}):
        answer = client.delete("/memory/forget", body, content_type="application/json")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "STEP_UP_REQUIRED")


def unmasked(response: Any) -> str:
    """Without the token of the sign-out form, which is masked differently on each page."""
    return re.sub(r'(csrfmiddlewaretoken" value=")\w+', r"\1", response.content.decode())


@pytest.mark.parametrize("name", DEEDS)
def test_absent_tenant_and_foreign_tenant_look_the_same(name: str, world: World, cast: Cast) -> None:
    world.refill()
    client = PRINCIPALS["other tenant's owner"](cast)
    arguments = DEEDS[name](world)

    foreign = client.get(reverse(name, args=arguments))
    absent = client.get(reverse(name, args=["nowhere", *arguments[1:]]))

    assert foreign.status_code == absent.status_code == 404
    assert unmasked(foreign) == unmasked(absent)


@pytest.mark.parametrize("name", [name for name in DEEDS if name != "web_erase_tenant"])
def test_another_tenants_things_are_not_found_below_ones_own(name: str, world: World, cast: Cast) -> None:
    world.refill()
    client = PRINCIPALS["other tenant's owner"](cast)
    address = reverse(name, args=["globex", *DEEDS[name](world)[1:]])

    assert client.get(address).status_code == client.post(address).status_code == 404
    assert not world.gone


# -- the table notices -----------------------------------------------------------------------------------------------


def _always(*_: Any, **__: Any) -> StepUp:
    return StepUp(method="totp", at=time.time(), age_seconds=0.0)


Guard = Callable[[pytest.MonkeyPatch], None]
CSRF = "django.middleware.csrf.CsrfViewMiddleware.process_view"
# What is taken away, and who gets through without it.
GUARDS: dict[str, tuple[Guard, set[str]]] = {
    "the step-up": (
        lambda patch: patch.setattr(stepup, "find_step_up", _always),
        {"no step-up", "recovery code", "step-up 301 s"},
    ),
    "the age of a step-up": (
        lambda patch: patch.setattr(stepup, "_is_recent", lambda *_: True),
        {"step-up 301 s"},
    ),
    "the role": (lambda patch: patch.setattr(members, "MAY_DELETE", frozenset(Role)), {"analyst", "billing"}),
    "the tenant": (lambda patch: patch.setattr(pages, "reach_in", _everybodys), {"other tenant's owner", "operator"}),
    "the end of sessions": (
        lambda patch: patch.setattr("apps.accounts.sessions.is_over", lambda *_, **__: False),
        {"session 12 h old", "session idle 31 min"},
    ),
    "the token of forms": (lambda patch: patch.setattr(CSRF, lambda *_, **__: None), {"no CSRF token"}),
}


ONE_OF_EACH = ("web_delete_memory", "web_delete_many")


def _everybodys(_: object, name: str) -> members.Reach:
    tenant = get_tenant(name)
    return members.Reach(tenant=tenant, role=Role.OWNER, since=tenant.created_at)


@pytest.mark.parametrize("guard", GUARDS)
def test_table_notices_when_a_guard_is_gone(
    guard: str, world: World, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, through = GUARDS[guard]
    assert {row[1] for row in table(world, cast, principals=through, deeds=ONE_OF_EACH) if row[3]} == set()

    remove(monkeypatch)

    assert {row[1] for row in table(world, cast, principals=through, deeds=ONE_OF_EACH) if row[3]} == through


@pytest.mark.parametrize("name", ["web_delete_many", "web_confirm_request", "web_erase_memory", "web_erase_person"])
def test_without_leave_nothing_of_many_goes_and_the_test_notices_its_absence(
    name: str, world: World, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = cast.owner.show_factor(ago=1)
    world.refill()
    address = reverse(name, args=DEEDS[name](world))

    form = {"typed": TYPED[name](world)} if name in TYPED else {}
    assert client.post(address, form).status_code == 403
    assert not world.gone

    monkeypatch.setattr(memories.stepup, "use_assertion", _always)
    assert client.post(address, form).status_code == 302
    assert world.gone
