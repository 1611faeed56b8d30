"""Policies of a namespace and of a profile: the strictest applies, and no key loosens one."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.policies.models import Level
from apps.policies.retention import set_policy
from apps.projects.scope import Environment
from apps.projects.system import system_scope
from apps.retention.retention_sweep import sweep
from apps.tenants.models import Role
from tests import once
from tests.api.people import make_fresh_caller
from tests.makers import make_api_key, make_scope
from tests.planes.conftest import Connect
from tests.planes.profile_client import ProfileClient
from tests.planes.test_profile_plane import DAY_MS, INVALID, diet, event, kept, put, refusal, task
from tests.web.people import make_person

pytestmark = pytest.mark.django_db(databases="__all__")

cast, acme, globex = once.cast, once.acme, once.globex

DAY = 86_400
HELD = (409, "conflict")
Policy = dict[str, Any]


@pytest.fixture
def governor(acme: OpenedTenant) -> str:
    """A key that may read and tighten policies."""
    return make_api_key(acme.scope, scopes=[*DEFAULT, "retention:read", "retention:write"]).text


@pytest.fixture
def alice(connect: Connect, governor: str) -> ProfileClient:
    return connect(key=governor)


def ages(acme: OpenedTenant, days: int) -> None:
    sweep(system_scope(acme.tenant), now=datetime.now(UTC) + timedelta(days=days))


def test_namespace_has_no_policy_until_one_is_set(alice: ProfileClient) -> None:
    assert alice.namespace_policy() is None
    assert refusal(alice.policy) == (404, "not_found")

    done = alice.set_namespace_policy({"memory": {"task_ttl_max_secs": DAY}})

    assert (done["override"], done["revision"]) == ({"memory": {"task_ttl_max_secs": DAY}}, 1)
    assert done["effective"]["memory"] == {"task_ttl_max_secs": DAY}
    assert alice.namespace_policy() == done


def test_every_field_comes_back_as_it_was_set(alice: ProfileClient) -> None:
    policy = {
        "memory": {
            "task_ttl_max_secs": 2 * DAY,
            "event_max_age_secs": 3 * DAY,
            "superseded_max_age_secs": 4 * DAY,
            "superseded_max_count": 5,
        },
        "erasure": {"grace_secs": 7 * DAY},
    }

    assert alice.set_namespace_policy(policy)["override"] == policy
    assert alice.set_policy(policy)["override"] == policy
    assert alice.policy()["effective"] == policy


def test_strictest_of_tenant_namespace_and_profile_is_in_force(
    connect: Connect, governor: str, acme: OpenedTenant, alice: ProfileClient
) -> None:
    set_policy(acme.scope, Level.TENANT, 0, {"task_ttl_seconds": 5 * DAY}, loosens=True, now=datetime.now(UTC))
    alice.set_namespace_policy({"memory": {"task_ttl_max_secs": 3 * DAY, "superseded_max_count": 9}})
    put(alice, diet("vegan"))
    alice.set_policy({"memory": {"superseded_max_count": 2}})

    assert alice.policy()["effective"]["memory"] == {"task_ttl_max_secs": 3 * DAY, "superseded_max_count": 2}
    other = connect(namespace="work", key=governor)
    put(other, diet("vegan"))
    assert other.policy()["effective"]["memory"] == {"task_ttl_max_secs": 5 * DAY}
    (memory_id,) = put(alice, task("call", ttl=30 * DAY))
    found = kept(alice, memory_id)
    assert found["expires_at"] - found["created_at"] == 3 * DAY_MS


def test_rules_of_a_namespace_delete_in_its_profiles_alone(
    connect: Connect, governor: str, acme: OpenedTenant, alice: ProfileClient
) -> None:
    others = [connect("bob", "work", key=governor), connect("carol", "acme", key=governor)]
    bob = connect("bob", key=governor)
    (old,) = put(alice, event("ordered"))
    (his,) = put(bob, event("ordered"))
    (fact,) = put(alice, diet("vegan"))
    elsewhere = [put(other, event("ordered"))[0] for other in others]

    alice.set_namespace_policy({"memory": {"event_max_age_secs": DAY}})
    ages(acme, 2)

    assert alice.get(old) is bob.get(his) is None
    assert alice.get(fact)
    assert all(other.get(one) for other, one in zip(others, elsewhere, strict=True))


def test_only_the_newest_replaced_memories_of_a_namespace_are_kept(acme: OpenedTenant, alice: ProfileClient) -> None:
    made = [put(alice, diet(kind))[0] for kind in ("meat", "fish", "vegetarian", "vegan")]

    alice.set_namespace_policy({"memory": {"superseded_max_count": 1}})
    ages(acme, 0)

    assert [alice.get(one) is not None for one in made] == [False, False, True, True]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"memory": {"task_ttl_max_secs": DAY}}, {"memory": {"task_ttl_max_secs": DAY + 1}}),
        ({"memory": {"task_ttl_max_secs": DAY}}, {"memory": {}}),
        ({"memory": {"task_ttl_max_secs": DAY}}, {"memory": {"superseded_max_count": 1}}),
        ({"memory": {"task_ttl_max_secs": DAY}}, None),
    ],
    ids=str,
)
def test_key_does_not_loosen_a_policy(alice: ProfileClient, before: Policy, after: Policy | None) -> None:
    put(alice, diet("vegan"))
    alice.set_namespace_policy(before)
    alice.set_policy(before)

    for answer in (
        alice.request("PUT", "/v1/namespaces/home/policy", {"policy": after}),
        alice.request("DELETE", "/v1/namespaces/home/policy"),
    ):
        assert (answer.status_code, answer.json()["code"]) == HELD
        assert [one["field"] for one in answer.json()["details"]] == ["memory.task_ttl_max_secs"]

    assert alice.policy()["override"] == before
    assert (alice.namespace_policy() or {})["override"] == before


def test_owner_in_person_loosens_and_clears_a_policy(alice: ProfileClient, acme: OpenedTenant) -> None:
    alice.set_namespace_policy({"memory": {"superseded_max_count": 2}})
    address, looser = "/v1/namespaces/home/policy", {"policy": {"memory": {"superseded_max_count": 9}}}
    admin = make_fresh_caller(acme.tenant, Role.ADMIN, email="adm@acme.example")
    owner = make_fresh_caller(acme.tenant)

    assert admin("PUT", address, looser).status_code == 409
    assert owner("PUT", address, looser).json()["override"] == looser["policy"]
    assert owner("DELETE", address).status_code == 204

    assert alice.namespace_policy() is None


def test_profile_may_not_be_looser_than_its_namespace(alice: ProfileClient) -> None:
    alice.set_namespace_policy({"memory": {"superseded_max_count": 2}})

    assert refusal(lambda: alice.set_policy({"memory": {"superseded_max_count": 3}})) == HELD
    assert alice.set_policy({"memory": {"superseded_max_count": 2}})["revision"] == 1


def test_policy_that_changes_nothing_keeps_its_revision(alice: ProfileClient) -> None:
    policy = {"memory": {"superseded_max_count": 2}}
    first = alice.set_namespace_policy(policy)

    assert alice.set_namespace_policy(policy) == first
    assert alice.set_namespace_policy({"memory": {"superseded_max_count": 1}})["revision"] == first["revision"] + 1


def test_clearing_the_policy_of_an_unknown_profile_or_namespace_creates_nothing(alice: ProfileClient) -> None:
    for path in ("/policy", "/v1/namespaces/home/policy"):
        answer = alice.request("PUT", path, {"policy": None})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    assert alice.request("GET", "/policy").status_code == 404


def test_refusal_of_a_policy_names_the_fields_and_units_of_the_request(alice: ProfileClient) -> None:
    answer = alice.request("PUT", "/v1/namespaces/home/policy", {"policy": {"erasure": {"grace_secs": DAY}}})

    assert answer.status_code == 403
    assert answer.json()["details"] == [{"field": "erasure.grace_secs", "least": 7 * DAY}]


def test_what_limits_nothing_may_be_cleared(alice: ProfileClient) -> None:
    alice.set_namespace_policy({"memory": {"superseded_max_count": 2}})
    alice.set_policy({"memory": {"superseded_max_count": 2}})

    assert alice.request("DELETE", "/policy").status_code == 204

    assert alice.policy()["override"] is None
    assert alice.policy()["effective"]["memory"] == {"superseded_max_count": 2}
    assert alice.request("DELETE", "/policy").status_code == 404
    assert alice.set_policy(None)["override"] is None
    assert alice.set_policy({})["override"] is None


@pytest.mark.parametrize(
    "policy",
    [
        {"memory": {"task_ttl_max_secs": 59}},
        {"memory": {"task_ttl_max_secs": "DAY"}},
        {"memory": {"superseded_max_count": 0}},
        {"memory": {"unknown": 1}},
        {"erasure": {"grace_secs": 90_000}},
        {"erasure": {"grace_secs": 8 * DAY}},
        {"erasure": {"purge_on_forget": True}},
        {"retention": {"pitr_secs": DAY}},
        {"audit": {"enabled": False}},
        {"ai_egress": {"extract": "deny"}},
        [],
    ],
    ids=str,
)
def test_policy_that_cannot_be_kept_is_refused(alice: ProfileClient, policy: Any) -> None:
    assert refusal(lambda: alice.set_namespace_policy(policy)) == INVALID
    assert refusal(lambda: alice.set_policy(policy)) == INVALID
    assert alice.namespace_policy() is None


@pytest.mark.parametrize("body", [{}, {"policy": {}, "more": 1}, [], None], ids=str)
def test_body_without_a_policy_is_refused(alice: ProfileClient, body: Any) -> None:
    for path in ("/policy", "/v1/namespaces/home/policy"):
        answer = alice.request("PUT", path, body)
        assert (answer.status_code, answer.json()["code"]) == INVALID


def test_keys_shorten_no_time_to_undo_and_set_no_age_below_a_day(alice: ProfileClient) -> None:
    for policy in ({"erasure": {"grace_secs": DAY}}, {"memory": {"event_max_age_secs": 60}}):
        assert refusal(lambda policy=policy: alice.set_namespace_policy(policy)) == (403, "forbidden")  # type: ignore[misc]


def test_tenants_own_name_has_no_policy_as_a_namespace(connect: Connect, governor: str) -> None:
    plain = connect(namespace="acme", key=governor)

    assert refusal(lambda: plain.set_namespace_policy({"memory": {"superseded_max_count": 1}})) == INVALID
    assert refusal(plain.namespace_policy) == INVALID


def test_policy_of_a_namespace_needs_a_production_key_of_every_project(connect: Connect, acme: OpenedTenant) -> None:
    may = [*DEFAULT, "retention:read", "retention:write"]
    keys = [
        make_api_key(acme.scope, scopes=may, environment=Environment.STAGING).text,
        make_api_key(acme.scope, scopes=may, project_id=acme.project.pk).text,
    ]

    for key in keys:
        client = connect(key=key)
        assert refusal(lambda client=client: client.set_namespace_policy({})) == (403, "forbidden")  # type: ignore[misc]


def test_policies_are_of_their_tenant_alone(connect: Connect, alice: ProfileClient, globex: OpenedTenant) -> None:
    alice.set_namespace_policy({"memory": {"superseded_max_count": 1}})
    key = make_api_key(globex.scope, scopes=[*DEFAULT, "retention:read"]).text

    assert connect(key=key).namespace_policy() is None
    assert refusal(connect(key=key).policy) == (404, "not_found")


def test_page_of_retention_names_the_namespaces_with_a_policy(alice: ProfileClient, acme: OpenedTenant) -> None:
    put(alice, diet("vegan"))
    alice.set_namespace_policy({"memory": {"superseded_max_count": 3}})
    space_id = make_scope(acme, "home\x1falice").space.id
    browser = make_person(acme.tenant).show_factor(ago=1)

    shown = browser.get("/app/t/acme/retention").content.decode()
    of_profile = browser.get(f"/app/t/acme/retention?space={space_id}").content.decode()

    assert re.search(r"<strong>home</strong>\s*<span class=\"badge\">namespace</span>", shown)
    assert "set for the namespace" in of_profile


def test_grace_of_a_profile_is_that_of_its_erasures(alice: ProfileClient, acme: OpenedTenant) -> None:
    (memory_id,) = put(alice, diet("vegan"))
    owner = replace(acme.scope, permissions=frozenset())
    space = alice.policy()
    assert space["effective"]["erasure"] == {"grace_secs": 7 * DAY}
    set_policy(owner, Level.TENANT, 0, {"grace_days": 1}, loosens=True, now=datetime.now(UTC))

    assert alice.policy()["effective"]["erasure"] == {"grace_secs": DAY}
    assert alice.get(memory_id)
