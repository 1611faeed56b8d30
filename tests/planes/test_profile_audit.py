"""The audit trail of a namespace and of a profile."""

import json
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.projects.scope import Environment
from apps.retention import profile_events
from tests.makers import make_api_key
from tests.planes.conftest import Connect
from tests.planes.profile_client import ProfileClient
from tests.planes.test_profile_erasures import GRACE, carry_out, confirm
from tests.planes.test_profile_plane import INVALID, diet, put, refusal
from tests.web.people import make_person

# Rows are numbered as they commit.
pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

HIDDEN = "zanzibar"


@pytest.fixture
def auditor(acme: OpenedTenant) -> str:
    return make_api_key(acme.scope, scopes=[*DEFAULT, "audit:read", "retention:read", "retention:write"]).text


@pytest.fixture
def alice(connect: Connect, auditor: str) -> ProfileClient:
    return connect(key=auditor)


def seen(answer: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(one["action"], one["profile"]) for one in answer["events"]]


def test_events_of_a_namespace_are_of_its_profiles_and_its_own_policy(
    connect: Connect, auditor: str, alice: ProfileClient
) -> None:
    put(alice, diet(HIDDEN))
    put(connect("bob", key=auditor), diet("vegan"))
    put(connect("carol", "work", key=auditor), diet("vegan"))
    put(connect("dan", "acme", key=auditor), diet("vegan"))
    alice.set_namespace_policy({"memory": {"superseded_max_count": 5}})
    alice.set_policy({"memory": {"superseded_max_count": 4}})

    answer = alice.audit()

    assert seen(answer) == [
        ("memory.add", "alice"),
        ("memory.add", "bob"),
        ("retention.tighten", None),
        ("retention.tighten", "alice"),
    ]
    assert (answer["complete"], answer["next_cursor"]) == (True, None)
    assert {one["actor"].split(":")[0] for one in answer["events"]} == {"api_key"}
    assert HIDDEN not in json.dumps(answer)
    assert seen(alice.profile_audit()) == [("memory.add", "alice"), ("retention.tighten", "alice")]
    assert seen(alice.audit(profile="bob")) == [("memory.add", "bob")]
    assert seen(connect("dan", "acme", key=auditor).audit()) == [("memory.add", "dan")]


def test_events_of_a_branch_are_those_of_its_profile(alice: ProfileClient) -> None:
    put(alice, diet("vegan"))
    assert alice.request("POST", "/branches", {"name": "what-if"}).status_code == 201
    written = alice.request("POST", "/memories?branch=what-if", {"memories": [diet(HIDDEN)]})
    assert written.status_code == 201

    answer = alice.profile_audit()

    assert seen(answer) == [("memory.add", "alice"), ("memory.branch", "alice"), ("memory.add", "alice")]
    assert alice.audit()["events"] == answer["events"]


def test_life_of_an_erasure_is_in_the_trail(
    connect: Connect, auditor: str, alice: ProfileClient, acme: OpenedTenant
) -> None:
    (memory_id,) = put(alice, diet(HIDDEN))
    alice.erase(memory_id=memory_id)
    confirm(make_person(acme.tenant).show_factor(ago=1))
    carry_out(acme, after=GRACE)

    answer = alice.audit()

    told = [one["action"] for one in answer["events"]]
    assert told == [
        "memory.add",
        "forget_request.ask",
        "memory.browse",
        "forget_request.confirm",
        "memory.forget",
        "erasure.request",
        "erasure.delete",
    ]
    assert {one["actor"].split(":")[0] for one in answer["events"][2:]} == {"account"}
    assert {one["profile"] for one in answer["events"]} == {"alice"}
    assert HIDDEN not in json.dumps(answer)


def test_filters_narrow_the_trail(alice: ProfileClient) -> None:
    put(alice, diet("vegan"))
    alice.set_policy({"memory": {"superseded_max_count": 4}})
    first, second = alice.audit()["events"]

    assert alice.audit(action="memory.")["events"] == [first]
    assert alice.audit(action="memory.add")["events"] == [first]
    assert alice.audit(action="memory")["events"] == []
    assert alice.audit(**{"from": second["at"]})["events"] == [second]
    assert alice.audit(to=first["at"])["events"] == []
    assert alice.audit(outcome="ok")["events"] == [first, second]
    assert alice.audit(outcome="denied")["events"] == alice.audit(outcome="error")["events"] == []


@pytest.mark.parametrize(
    "filters", [{"limit": 0}, {"limit": 1001}, {"outcome": "maybe"}, {"cursor": "x"}, {"from": -1}, {"colour": "red"}]
)
def test_filter_that_is_none_is_refused(alice: ProfileClient, filters: dict[str, Any]) -> None:
    put(alice, diet("vegan"))

    assert refusal(lambda: alice.audit(**filters)) == INVALID
    assert refusal(lambda: alice.profile_audit(**filters)) == INVALID


def test_pages_join_without_a_gap(alice: ProfileClient) -> None:
    for number in range(5):
        put(alice, diet(f"kind {number}"))
    whole = alice.audit()["events"]

    pages, cursor = [], {}
    while True:
        page = alice.audit(limit=2, **cursor)
        pages += page["events"]
        if page["complete"]:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert pages == whole
    assert len(whole) == 5


def test_page_says_that_it_has_not_reached_the_end(alice: ProfileClient, monkeypatch: pytest.MonkeyPatch) -> None:
    put(alice, diet("vegan"))
    (event,) = alice.audit()["events"]
    monkeypatch.setattr(profile_events, "LOOKED_THROUGH", event["seq"] - 1)

    first = alice.audit()
    second = alice.audit(cursor=first["next_cursor"])

    assert (first["events"], first["complete"]) == ([], False)
    assert (second["events"], second["complete"]) == ([event], True)


def test_trail_is_read_with_its_permission_in_its_tenant_and_environment(
    connect: Connect, auditor: str, alice: ProfileClient, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    put(alice, diet("vegan"))
    may = [*DEFAULT, "audit:read"]
    staging = make_api_key(acme.scope, scopes=may, environment=Environment.STAGING).text
    theirs = make_api_key(globex.scope, scopes=may).text

    assert refusal(connect().audit) == refusal(connect().profile_audit) == (403, "forbidden")
    assert seen(connect(key=staging).audit()) == seen(connect(key=theirs).audit()) == []
    assert refusal(connect(key=staging).profile_audit) == (404, "not_found")
    assert refusal(connect(key=theirs).profile_audit) == (404, "not_found")
    assert refusal(lambda: alice.audit(profile="nobody")) == (404, "not_found")
    assert refusal(connect("Nobody", key=auditor).profile_audit) == INVALID
