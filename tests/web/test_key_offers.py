"""Keys that operators make ready: an owner makes them, and no one else sees one that reads content."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.apikeys.models import ApiKey, KeyOffer
from apps.apikeys.offers import OfferNotFound, OfferOver, accept, decline, get_offer, hand_out, list_offers
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS, READS_NO_CONTENT, expand
from apps.apikeys.selectors import KeyRevoked, authenticate, get_key, list_keys
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import get_project, scope_in
from apps.tenants.models import Membership, Role
from tests.makers import make_api_key, make_project
from tests.web.people import Person, kept_in_sessions, make_operator, make_person, text, to_page

# The operators' pages read by another connection: they see what is committed.
pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

PASSWORD = "correct horse battery staple"
KEY = r"ms_(?:live|test|dev)_\w{11}_\w{49}"
ISSUE = "admin:apikeys_apikey_issue"
READING = sorted(PERMISSIONS.keys() - READS_NO_CONTENT)


@pytest.fixture
def ana() -> Person:
    return make_operator("ana@operators.example", password=PASSWORD)


@pytest.fixture
def operator(ana: Person) -> Client:
    return ana.show_factor(ago=1)


@pytest.fixture
def owner(acme: OpenedTenant) -> Person:
    return make_person(acme.tenant)


@pytest.fixture
def boss(owner: Person) -> Client:
    """At the console, a moment after a step-up."""
    return owner.show_factor(ago=1)


def fields(acme: OpenedTenant, **change: object) -> dict[str, object]:
    return {
        "tenant": acme.tenant.pk,
        "name": "support bot",
        "environment": "staging",
        "project": "",
        "days": 30,
        "scopes": ["memory:read", "exports:read"],
        "password": PASSWORD,
    } | change


def link_in(answer: Any) -> str:
    """The path that the operator is told to send on."""
    (path,) = set(re.findall(r"https?://[^/]+(/app/t/acme/keys/offers/\d+)", answer.content.decode()))
    return str(path)


def offered(operator: Client, acme: OpenedTenant, **change: object) -> str:
    return link_in(operator.post(reverse(ISSUE), fields(acme, **change)))


def keys_in(answer: Any) -> set[str]:
    return set(re.findall(KEY, answer.content.decode()))


def rotate(operator: Client, key: ApiKey) -> Any:
    url = reverse("admin:apikeys_apikey_rotate", args=[key.pk])
    return operator.post(url, {"hours": 0, "password": PASSWORD})


def trail(acme: OpenedTenant, action: str) -> list[tuple[str, str, str]]:
    with tenant_transaction(acme.tenant):
        rows = AuditEvent.objects.filter(action=action).order_by("id")
        return [(row.actor, row.target.split(":")[0], row.reason) for row in rows]


# -- what an operator gets -------------------------------------------------------------------------------------------


def test_operator_is_shown_no_key_of_a_tenant_with_an_owner(
    operator: Client, ana: Person, owner: Person, acme: OpenedTenant
) -> None:
    """H3: whatever the scopes.  Kept is what was asked for, and no key."""
    before = [key.pk for key in list_keys(acme.scope)]

    for scopes in (["memory:read"], ["memory:add"], ["exports:read", "exports:write"], ["projects:read"], READING):
        answer = operator.post(reverse(ISSUE), fields(acme, scopes=scopes))
        assert keys_in(answer) == set(), scopes
        assert link_in(answer)
    old = make_api_key(acme.scope)
    rotated = rotate(operator, old.key)

    assert keys_in(rotated) == set()
    assert link_in(rotated)
    assert [key.pk for key in list_keys(acme.scope)] == [old.key.pk, *before]
    authenticate(old.text, now=datetime.now(UTC))  # it goes on working until an owner has rotated it
    assert set(trail(acme, "api_key.offer")) == {
        (f"account:{ana.user.pk}", "key_offer", f"{where}, {count} scopes")
        for where, count in (("staging", 1), ("staging", 2), ("staging", len(READING)), ("production", 11))
    }


def test_operator_makes_a_key_that_reads_no_content_where_nobody_owns_the_tenant(
    operator: Client, ana: Person, acme: OpenedTenant
) -> None:
    (shown,) = keys_in(operator.post(reverse(ISSUE), fields(acme, scopes=sorted(READS_NO_CONTENT))))

    assert authenticate(shown, now=datetime.now(UTC)).permissions == READS_NO_CONTENT
    assert [who for who, _, _ in trail(acme, "api_key.issue")][-1] == f"account:{ana.user.pk}"
    for name in READING:
        answer = operator.post(reverse(ISSUE), fields(acme, scopes=["projects:read", name]))
        assert keys_in(answer) == set(), name
        assert "has no owner" in answer.content.decode()
    assert not KeyOffer.everyone.exists()


def test_no_wildcard_counts_as_reading_no_content(ana: Person, acme: OpenedTenant) -> None:
    scope = scope_in(acme.tenant, principal=Principal(kind="account", id=ana.user.pk))
    for wildcard in ("*", "memory:*"):
        assert not expand([wildcard], is_pinned=False) <= READS_NO_CONTENT
        with pytest.raises(Exception, match="has no owner"):
            hand_out(scope, name="x", environment=Environment.STAGING, scopes=[wildcard], days=1, now=datetime.now(UTC))


def test_key_that_reads_content_is_not_rotated_by_an_operator_either(operator: Client, acme: OpenedTenant) -> None:
    reads, blind = make_api_key(acme.scope), make_api_key(acme.scope, scopes=["projects:read"])

    assert keys_in(rotate(operator, reads.key)) == set()
    authenticate(reads.text, now=datetime.now(UTC))
    (new,) = keys_in(rotate(operator, blind.key))
    assert authenticate(new, now=datetime.now(UTC)).permissions == {"projects:read"}
    with pytest.raises(KeyRevoked):
        authenticate(blind.text, now=datetime.now(UTC))
    assert "revoked already" in rotate(operator, blind.key).content.decode()


def test_owner_who_cannot_sign_in_is_no_owner(operator: Client, owner: Person, acme: OpenedTenant) -> None:
    for change in ({"suspended_at": datetime.now(UTC)}, {"role": Role.ADMIN}):
        before = Membership.objects.filter(user=owner.user).values(*change)[0]
        Membership.objects.filter(user=owner.user).update(**change)
        answer = operator.post(reverse(ISSUE), fields(acme))
        assert "has no owner" in answer.content.decode(), change
        Membership.objects.filter(user=owner.user).update(**before)
    owner.user.is_active = False
    owner.user.save()

    assert keys_in(operator.post(reverse(ISSUE), fields(acme))) == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"password": "wrong"}, "This is not your password."),
        ({"scopes": ["memory:erase"]}, "Select a valid choice."),
        ({"days": 366}, "Select a valid choice."),
    ],
)
def test_wrong_form_offers_nothing(
    operator: Client, owner: Person, acme: OpenedTenant, change: dict[str, object], message: str
) -> None:
    assert message in operator.post(reverse(ISSUE), fields(acme, **change)).content.decode()
    assert not KeyOffer.everyone.exists()


def test_operator_sees_what_became_of_an_offer_and_nothing_of_the_key(
    operator: Client, boss: Client, acme: OpenedTenant
) -> None:
    path = offered(operator, acme)
    (made,) = keys_in(boss.post(path))

    listed = text(operator.get(reverse("admin:apikeys_keyoffer_changelist")))
    shown = text(operator.get(reverse("admin:apikeys_keyoffer_change", args=[path.rsplit("/", 1)[1]])))

    assert "accepted" in listed
    assert "accepted" in shown
    assert made not in shown
    assert made.split("_")[3] not in shown


# -- what an owner does ----------------------------------------------------------------------------------------------


def test_owner_looks_at_it_and_makes_it_once(
    operator: Client, ana: Person, boss: Client, owner: Person, acme: OpenedTenant
) -> None:
    project = get_project(acme.scope, make_project(acme.scope, "Chatbot"))
    path = offered(operator, acme, project=project.pk)

    assert "support bot" in text(boss.get("/app/t/acme/keys"))
    page = text(boss.get(path))
    for said in ("ana@operators.example", "staging", "Chatbot", "30 days", "memory:read", "exports:read"):
        assert said in page, said
    assert keys_in(boss.get(path)) == set()
    answer = boss.post(path)

    (made,) = keys_in(answer)
    key = authenticate(made, now=datetime.now(UTC))
    assert (key.environment, key.project_id, key.permissions) == (
        Environment.STAGING, project.pk, {"memory:read", "exports:read"},
    )  # fmt: skip
    assert get_key(acme.scope, key.key_id).expires_at > datetime.now(UTC) + timedelta(days=29)  # type: ignore[operator]
    assert answer["Cache-Control"] == "no-store"
    assert not any(made in one for one in kept_in_sessions())
    for again in (boss.get(path), boss.post(path), boss.post(f"{path}/decline")):
        assert (again.status_code, keys_in(again)) == (409, set())
    who = f"account:{owner.user.pk}"
    assert trail(acme, "api_key.issue")[-1][0] == who
    assert trail(acme, "api_key.accept") == [(who, "key_offer", f"offered by account:{ana.user.pk}")]
    assert "support bot" not in text(boss.get("/app/t/acme/keys?state=past"))


def test_offered_key_has_the_environments_that_the_owner_saw(
    operator: Client, boss: Client, acme: OpenedTenant
) -> None:
    path = offered(operator, acme, other_environments=["development", "staging"])
    assert "staging, development" in text(boss.get(path))

    (made,) = keys_in(boss.post(path))

    key = get_key(acme.scope, authenticate(made, now=datetime.now(UTC)).key_id)
    assert key.environments == ["staging", "development"]
    path = link_in(rotate(operator, key))
    (new,) = keys_in(boss.post(path))
    assert authenticate(new, now=datetime.now(UTC)).also_reads == (Environment.DEVELOPMENT,)
    assert trail(acme, "api_key.offer")[0][2] == "staging,development, 2 scopes"


def test_owner_rotates_what_was_offered(operator: Client, boss: Client, acme: OpenedTenant) -> None:
    old = make_api_key(acme.scope, name="nightly")
    path = link_in(rotate(operator, old.key))
    assert f"{old.key.prefix}…" in text(boss.get(path))

    (made,) = keys_in(boss.post(path))

    assert get_key(acme.scope, authenticate(made, now=datetime.now(UTC)).key_id).name == "nightly"
    with pytest.raises(KeyRevoked):
        authenticate(old.text, now=datetime.now(UTC))


def test_owner_declines(operator: Client, boss: Client, acme: OpenedTenant) -> None:
    path = offered(operator, acme)
    before = len(list_keys(acme.scope))

    assert to_page(boss.post(f"{path}/decline")) == "/app/t/acme/keys"

    assert boss.post(path).status_code == 409
    assert len(list_keys(acme.scope)) == before
    assert len(trail(acme, "api_key.decline")) == 1


def test_offer_ends_after_three_days(owner: Person, ana: Person, acme: OpenedTenant) -> None:
    now = datetime.now(UTC)
    scope = scope_in(acme.tenant, principal=Principal(kind="account", id=ana.user.pk))
    made = hand_out(scope, name="x", environment=Environment.STAGING, scopes=["memory:read"], days=1, now=now)
    late = now + timedelta(hours=72, seconds=1)

    assert [one.pk for one in list_offers(acme.scope, now=now)] == [made.pk]  # type: ignore[union-attr]
    assert list_offers(acme.scope, now=late) == []
    for attempt in (get_offer, accept, decline):
        with pytest.raises(OfferOver):
            attempt(acme.scope, made.pk, now=late)  # type: ignore[operator, union-attr]


# -- who else tries --------------------------------------------------------------------------------------------------


def test_link_opens_to_owners_of_this_tenant_alone(
    operator: Client, owner: Person, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    path = offered(operator, acme)
    strangers = [
        *((make_person(acme.tenant, role).show_factor(ago=1), 403) for role in Role.values if role != Role.OWNER),
        (make_person(globex.tenant).show_factor(ago=1), 404),
        (operator, 404),
        (owner.show_factor(), 302),  # without a step-up
        (owner.show_factor(ago=301), 302),
        (Client(), 302),
    ]

    for client, status in strangers:
        for answer in (client.get(path), client.post(path), client.post(f"{path}/decline")):
            assert (answer.status_code, keys_in(answer)) == (status, set())
    assert owner.show_factor(ago=1).post(path).status_code == 201


def test_offer_of_another_tenant_and_an_absent_one_look_alike(
    operator: Client, owner: Person, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    offer_id = int(offered(operator, acme).rsplit("/", 1)[1])
    theirs: Scope = globex.scope

    for attempt in (get_offer, accept, decline):
        for one in (offer_id, 2**53 - 1):
            with pytest.raises(OfferNotFound):
                attempt(theirs, one, now=datetime.now(UTC))  # type: ignore[operator]
    assert list_offers(theirs, now=datetime.now(UTC)) == []
    assert owner.show_factor(ago=1).get(f"/app/t/acme/keys/offers/{offer_id}").status_code == 200
