"""/v1/retention: who says what is kept for how long; and that what leaves, leaves every way in at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import Opened
from apps.apikeys.permissions import PERMISSIONS
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment
from apps.projects.selectors import get_project
from apps.retention import holds
from apps.retention.sweeping import sweep
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")

TEXT = "The spare key lies under the blue flower pot."
BUS = "The bus to the airport leaves at ten past six."


@pytest.fixture
def keeper(acme: Opened, alice: Caller) -> Caller:
    return replace(alice, key=make_api_key(acme.scope, scopes=list(PERMISSIONS)).text)


def rules(response: Any) -> dict[str, tuple[int | None, str]]:
    assert response.status_code == 200, response.content
    return {one["rule"]: (one["value"], one["level"]) for one in response.json()["rules"]}


def everywhere(caller: Caller, query: str) -> set[int]:
    """Ids in the answers of every way to recall, list and export."""
    found: set[int] = set()
    for path in ("/memory/query", "/memory/retrieve"):
        for profile in ("default", "memorysync", "rrf", "typed", "salience"):
            answer = caller("POST", path, {"query": query, "k": 50, "profile": profile, "traversal_depth": 3}).json()
            found |= {memory["id"] for memory in answer["memories"]}
    found |= {row["id"] for row in caller("GET", "/memory/export").json()["memories"]}
    listed = caller("GET", f"/v1/memory/acme/{caller.end_user}/list").json()["memories"]
    return found | {int(row["memory_id"].removeprefix("m_")) for row in listed}


def test_what_leaves_is_in_no_answer_from_that_sweep_on(acme: Opened, keeper: Caller) -> None:
    gone, kept = keeper.add(TEXT), keeper.add(BUS)
    keeper("POST", f"/memory/{gone['id']}/relations", {"to_memory_id": kept["id"], "relationship_type": "supports"})
    space = find_end_user(acme.scope, "alice")
    assert space is not None
    held = holds.hold(acme.scope, holds.Level.MEMORY, kept["id"], case="case-1", now=datetime.now(UTC))
    made = datetime.fromisoformat(gone["created_at"])

    sweep(acme.scope, now=made + timedelta(days=90) - timedelta(seconds=1))
    assert gone["id"] in everywhere(keeper, "Where is the spare key?")
    sweep(acme.scope, now=made + timedelta(days=90))

    for _ in range(2):
        assert everywhere(keeper, "Where is the spare key?") == {kept["id"]}
        for path in ("", "/history", "/relations"):
            assert keeper("GET", f"/memory/{gone['id']}{path}").status_code == 404
        assert keeper("GET", f"/v1/memory/status/{gone['id']}").status_code == 404
        sweep(acme.scope, now=made + timedelta(days=98))
    edges = [edge for row in keeper("GET", "/memory/export").json()["memories"] for edge in row["edges"]]
    assert edges == []
    found = keeper("GET", "/v1/retention/preview?days=120").json()["leaving"]
    assert [(one["rule"], one["is_held"], one["memory_ids"]) for one in found] == [("active_days", True, [kept["id"]])]
    assert held.pk


def test_an_archived_memory_is_read_by_its_id_alone(acme: Opened, keeper: Caller, settings: Any) -> None:
    settings.RETENTION_ARCHIVE_DAYS = 60
    memory = keeper.add(TEXT)
    made = datetime.fromisoformat(memory["created_at"])
    sweep(acme.scope, now=made + timedelta(days=90))

    answer = keeper("POST", "/memory/query", {"query": "Where is the spare key?", "k": 50}).json()

    assert answer["memories"] == []
    assert keeper("GET", f"/memory/{memory['id']}").json()["retention_status"] == "archived"
    events = [one["event"] for one in keeper("GET", f"/memory/{memory['id']}/history").json()["revisions"]]
    assert events == ["created", "archived"]


def test_policy_in_force_says_whose_word_each_rule_is_and_only_gets_stricter(acme: Opened, keeper: Caller) -> None:
    keeper.add(TEXT)
    assert rules(keeper("GET", "/v1/retention"))["active_days"] == (90, "default")

    answer = keeper("PUT", "/v1/retention", {"level": "tenant", "active_days": 60, "superseded_max_count": 5})
    assert rules(answer)["active_days"] == (60, "tenant")
    assert rules(keeper("PUT", "/v1/retention", {"level": "project", "active_days": 40}))["active_days"] == (
        40,
        "project",
    )
    assert rules(keeper("PUT", "/v1/retention", {"level": "space", "active_days": 20}))["active_days"] == (20, "space")
    assert rules(keeper.as_user("bob")("GET", "/v1/retention"))["active_days"] == (40, "project")
    web = make_project(acme.scope, "web")
    elsewhere = keeper.with_headers(X_Project_ID=web).as_user("bob")
    assert rules(elsewhere("GET", "/v1/retention"))["active_days"] == (60, "tenant")

    refused = keeper("PUT", "/v1/retention", {"level": "space", "active_days": 21, "superseded_max_count": 4})
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "RETENTION_LOOSENED"
    assert [one["field"] for one in refused.json()["error"]["details"]] == ["active_days"]
    assert rules(keeper("GET", "/v1/retention"))["superseded_max_count"] == (5, "tenant")
    for body in ({"level": "tenant"}, {"active_days": 3}, {"level": "moon", "active_days": 3},
                 {"level": "tenant", "active_days": 0}, {"level": "tenant", "grace_days": 8}):  # fmt: skip
        assert keeper("PUT", "/v1/retention", body).status_code == 422


def test_a_narrow_key_sets_no_policy_beyond_itself(acme: Opened, globex: Opened, keeper: Caller) -> None:
    keeper.add(TEXT)
    web = get_project(acme.scope, make_project(acme.scope, "web"))
    pinned = replace(keeper, key=make_api_key(acme.scope, scopes=list(PERMISSIONS), project_id=web.pk).text)
    staging = make_api_key(acme.scope, scopes=list(PERMISSIONS), environment=Environment.STAGING).text
    strict = {"active_days": 1}

    assert pinned("PUT", "/v1/retention", {"level": "tenant"} | strict).json()["error"]["code"] == "POLICY_BEYOND_KEY"
    for level in ("tenant", "project"):
        assert replace(keeper, key=staging)("PUT", "/v1/retention", {"level": level} | strict).status_code == 403
    assert keeper.as_user("nobody")("PUT", "/v1/retention", {"level": "space"} | strict).status_code == 404
    assert pinned("PUT", "/v1/retention", {"level": "project"} | strict).status_code == 200
    other = Caller(make_api_key(globex.scope, scopes=list(PERMISSIONS)).text)
    other("PUT", "/v1/retention", {"level": "tenant"} | strict)

    assert rules(keeper("GET", "/v1/retention"))["active_days"] == (90, "default")
    for caller in (replace(keeper, key=staging), other, pinned):
        assert caller("GET", "/v1/retention/preview?days=365").json() == {"leaving": []}
    assert keeper("GET", "/v1/retention/preview?days=365").json()["leaving"][0]["count"] == 1
