"""/api/v1/memories and /api/v1/memory-nodes: memories of agent platforms, over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from apps.adapters.instances import get_embedder
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT, PERMISSIONS
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.key_management import rotation
from apps.memories.embedding import embed_memories
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment
from apps.projects.selectors import get_project
from apps.tenants.models import Profile
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")

MEMORIES = "/api/v1/memories"
DIET = {"key": "diet", "value": "Vegan since 2026.", "tags": ["food"], "importance": 8}


def done(response: Any, status: int) -> Any:
    assert response.status_code == status, response.content
    body = response.json()
    assert body["success"] is True
    return body["data"]


def save(caller: Caller, status: int = 201, **fields: Any) -> Any:
    return done(caller("POST", MEMORIES, fields), status)


def listed(caller: Caller, **asked: Any) -> list[Any]:
    return list(done(caller("GET", f"{MEMORIES}?{urlencode(asked)}"), 200)["items"])


def values(caller: Caller, **asked: Any) -> list[str]:
    return [one["value"] for one in listed(caller, **asked)]


def refused(response: Any, status: int, code: str) -> Any:
    assert response.status_code == status, response.content
    body = response.json()
    assert (body["success"], body["error"]["code"]) == (False, code)
    return body["error"]


@pytest.fixture
def pinner(acme: OpenedTenant) -> Caller:
    return Caller(make_api_key(acme.scope, scopes=[*DEFAULT, "candidates:review"]).text)


def test_a_memory_is_saved_with_its_defaults_and_read_by_its_id(alice: Caller) -> None:
    made = save(alice, value="Prefers short answers.")

    assert made == {
        "id": made["id"],
        "memoryId": made["memoryId"],
        "key": None,
        "value": "Prefers short answers.",
        "summary": None,
        "category": "fact",
        "tags": [],
        "importance": 5,
        "pinned": False,
        "expiresAt": None,
        "source": "manual",
        "scope": "global",
        "agentId": None,
        "workspaceId": None,
        "sessionId": None,
        "messageIds": [],
        "assets": [],
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
        "status": "created",
    }
    assert done(alice("GET", f"{MEMORIES}/{made['id']}"), 200) == {
        name: value for name, value in made.items() if name != "status"
    }


@pytest.mark.parametrize("importance", range(1, 11))
def test_every_importance_comes_back(alice: Caller, importance: int) -> None:
    assert save(alice, value="A value.", importance=importance)["importance"] == importance


def test_the_same_key_is_changed_in_place_and_what_is_not_given_stays(alice: Caller) -> None:
    first = save(alice, **DIET, summary="vegan", sessionId="s-1")

    second = save(alice, 200, key="diet", value="Vegetarian.")

    assert second["status"] == "updated"
    same = ("id", "key", "summary", "tags", "importance", "sessionId", "createdAt")
    assert {name: second[name] for name in same} == {name: first[name] for name in same}
    assert second["updatedAt"] > first["updatedAt"]
    assert values(alice) == ["Vegetarian."]
    assert save(alice, 200, key="diet", value="Vegetarian.")["status"] == "unchanged"


def test_a_value_that_was_there_before_comes_back_under_the_same_id(alice: Caller) -> None:
    first = save(alice, **DIET)
    save(alice, 200, key="diet", value="Vegetarian.")

    again = save(alice, 200, key="diet", value=DIET["value"], importance=2)

    assert (again["id"], again["value"], again["importance"]) == (first["id"], DIET["value"], 2)
    assert values(alice) == [DIET["value"]]


def test_a_new_one_is_forced_and_one_without_a_key_is_always_new(alice: Caller) -> None:
    first = save(alice, **DIET)

    forced, *loose = save(alice, **DIET, dedupe="create"), save(alice, value="Loose."), save(alice, value="Loose.")

    assert len({one["id"] for one in (first, forced, *loose)}) == 4
    assert len(listed(alice)) == 4
    assert done(alice("PATCH", f"{MEMORIES}/{forced['id']}", {"value": "Changed."}), 200)["id"] == forced["id"]
    assert sorted(values(alice)) == ["Changed.", "Loose.", "Loose.", DIET["value"]]


def test_a_change_keeps_the_id_and_the_history(alice: Caller) -> None:
    made = save(alice, **DIET, summary="vegan")

    changed = done(alice("PATCH", f"{MEMORIES}/{made['id']}", {"value": "Vegetarian.", "summary": ""}), 200)

    assert (changed["id"], changed["value"], changed["summary"]) == (made["id"], "Vegetarian.", None)
    assert done(alice("GET", f"{MEMORIES}/{made['id']}"), 200)["value"] == "Vegetarian."
    events = alice("GET", "/v1/memory/acme/alice/list").json()["memories"]
    history = alice("GET", f"/memory/{events[0]['memory_id'].removeprefix('m_')}")
    assert len(history.json()["supersedes"]) == 1


def test_attributes_alone_change_without_a_successor(alice: Caller) -> None:
    made = save(alice, **DIET)

    changed = done(alice("PATCH", f"{MEMORIES}/{made['id']}", {"importance": 3, "source": "tool"}), 200)

    assert (changed["id"], changed["importance"], changed["source"]) == (made["id"], 3, "tool")
    assert changed["createdAt"] == made["createdAt"]


def test_expiry_counts_at_once_and_must_be_in_the_future(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    made = save(alice, **DIET, expiresAt=soon.isoformat())
    assert datetime.fromisoformat(made["expiresAt"]) == soon

    refused(alice("POST", MEMORIES, {"value": "Late.", "expiresAt": "2020-01-01"}), 422, "VALIDATION_ERROR")
    monkeypatch.setattr("apps.api.views.timezone.now", lambda: soon + timedelta(seconds=1))

    assert listed(alice) == []
    refused(alice("GET", f"{MEMORIES}/{made['id']}"), 404, "NOT_FOUND")
    assert save(alice, key="diet", value="Anything.")["status"] == "created"


def test_words_in_every_field_are_found(alice: Caller) -> None:
    save(alice, key="spoons", value="Forks lie left.", summary="Knives lie right.", category="table", tags=["dinner"])
    save(alice, value="Something else.")

    for word in ("spoon", "forks", "knife knives", "tables", "dinner"):
        assert values(alice, query=word)[:1] == ["Forks lie left."], word
        assert values(alice, q=word)[:1] == ["Forks lie left."], word


def test_order_is_words_then_pin_importance_and_time(pinner: Caller) -> None:
    save(pinner, value="The red lamp is here.", importance=9)
    save(pinner, value="The red lamp was here.", importance=2, pinned=True)
    save(pinner, value="The red lamp is there.", importance=9)
    save(pinner, value="The red sofa stands in quite another corner.", importance=10, pinned=True)

    assert values(pinner, query="red lamp") == [
        "The red lamp was here.",
        "The red lamp is there.",
        "The red lamp is here.",
        "The red sofa stands in quite another corner.",
    ]
    assert values(pinner)[:2] == ["The red sofa stands in quite another corner.", "The red lamp was here."]


def test_meaning_comes_after_words_and_nothing_is_padded(alice: Caller, acme: OpenedTenant) -> None:
    save(alice, value="The photographs of Lisbon are in the drawer.")
    save(alice, value="A photography course starts in May.", tags=["course"])
    with tenant_transaction(acme.scope):
        ids = list(Memory.objects.within_tenant(acme.scope).values_list("pk", flat=True))
        embed_memories(acme.scope, ids, get_embedder(), now=datetime.now(UTC))

    assert values(alice, query="photographs") == [
        "The photographs of Lisbon are in the drawer.",
        "A photography course starts in May.",
    ]
    assert values(alice, query="quantum") == []


def test_parts_of_words_are_found_where_no_word_is(alice: Caller) -> None:
    save(alice, value="Deploys run on orchestrator-77.", key="deploy_host")

    assert values(alice, query="chestrat") == ["Deploys run on orchestrator-77."]
    assert values(alice, query="OY_HO") == ["Deploys run on orchestrator-77."]
    assert values(alice, query="77") == ["Deploys run on orchestrator-77."]
    assert values(alice, query="zz") == []


def test_pages(alice: Caller) -> None:
    for number in range(1, 8):
        save(alice, value=f"Value {number}.", importance=number)

    first = done(alice("GET", MEMORIES), 200)
    second = done(alice("GET", f"{MEMORIES}?cursor={first['nextCursor']}"), 200)

    assert [one["value"] for one in first["items"]] == [f"Value {number}." for number in (7, 6, 5, 4, 3)]
    assert (first["page"], first["limit"], first["hasMore"]) == (1, 5, True)
    assert [one["value"] for one in second["items"]] == ["Value 2.", "Value 1."]
    assert (second["page"], second["nextCursor"], second["hasMore"]) == (2, None, False)
    assert len(listed(alice, query="value", limit=500)) == 7


def test_filters_by_category_and_tag(alice: Caller) -> None:
    alice.add("My dog Biscuit sleeps on the blue sofa.", tags=["food"])
    save(alice, **DIET)
    save(alice, value="Always answer in German.", category="style")

    assert values(alice, category="style") == ["Always answer in German."]
    assert sorted(values(alice, tag="Food")) == ["My dog Biscuit sleeps on the blue sofa.", DIET["value"]]
    assert values(alice, tag="food", query="vegan") == [DIET["value"]]
    assert values(alice, category="event") == []


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_workspace_narrows_every_read(alice: Caller, acme: OpenedTenant, *, is_sealed: bool) -> None:
    outside = save(alice, **DIET)
    if is_sealed:
        scope = acme.scope
        space = find_end_user(scope, "alice")
        assert space is not None
        set_profile(scope.in_spaces(space), space.id, Profile.SEALED, now=datetime.now(UTC))
    red = save(alice, **DIET, workspaceId="red")
    save(alice, **DIET | {"value": "Vegan in the blue workspace."}, workspaceId="blue")

    for asked in ({}, {"query": "vegan"}, {"query": "ega"}, {"tag": "food"}, {"category": "fact"}):
        assert [one["id"] for one in listed(alice, **asked)] == [outside["id"]], asked
        assert [one["id"] for one in listed(alice, workspaceId="red", **asked)] == [red["id"]], asked
        assert values(alice, workspaceId="blue", **asked) == ["Vegan in the blue workspace."], asked
    refused(alice("GET", f"{MEMORIES}/{red['id']}"), 404, "NOT_FOUND")
    refused(alice("PATCH", f"{MEMORIES}/{red['id']}", {"importance": 1}), 404, "NOT_FOUND")
    refused(alice("GET", f"{MEMORIES}/{outside['id']}?workspaceId=red"), 404, "NOT_FOUND")
    assert done(alice("GET", f"{MEMORIES}/{red['id']}?workspaceId=red"), 200)["workspaceId"] == "red"
    nodes = done(alice("GET", "/api/v1/memory-nodes?workspaceId=red"), 200)["nodes"]
    assert [one["id"] for one in nodes] == [red["id"]]


def test_a_workspace_stays_when_tags_change_elsewhere(alice: Caller) -> None:
    red = save(alice, value="In the red workspace.", workspaceId="red")
    (memory,) = alice("GET", "/v1/memory/acme/alice/list").json()["memories"]

    alice("PATCH", f"/memory/{memory['memory_id'].removeprefix('m_')}", {"tags": ["other"]})

    assert listed(alice) == []
    assert [(one["id"], one["tags"]) for one in listed(alice, workspaceId="red")] == [(red["id"], ["other"])]


def test_scopes_are_apart_and_a_read_names_the_agent(alice: Caller) -> None:
    bob = alice.as_user("bob")
    save(alice, **DIET)
    save(alice, **DIET | {"value": "The helper eats nothing."}, scope="agent", agentId="helper")
    save(alice, **DIET | {"value": "The project eats together."}, scope="project")

    assert values(bob) == ["The project eats together."]
    assert sorted(values(bob, agentId="helper")) == ["The helper eats nothing.", "The project eats together."]
    assert values(bob, agentId="other") == ["The project eats together."]
    assert len(listed(alice, agentId="helper")) == 3
    assert values(alice, scope="global", query="eats vegan") == [DIET["value"]]
    (one,) = listed(bob, scope="agent", agentId="helper")
    assert (one["scope"], one["agentId"]) == ("agent", "helper")
    refused(bob("GET", f"{MEMORIES}/{one['id']}"), 404, "NOT_FOUND")
    changed = bob("PATCH", f"{MEMORIES}/{one['id']}?agentId=helper", {"value": "The helper eats current."})
    assert done(changed, 200)["id"] == one["id"]
    assert values(alice, scope="agent", agentId="helper") == ["The helper eats current."]


def test_other_routes_do_not_reach_what_agents_and_projects_share(alice: Caller) -> None:
    save(alice, value="The helper knows the oven.", scope="agent", agentId="helper")
    save(alice, value="The project owns the oven.", scope="project")

    for user in ("alice", "helper"):
        found = alice.as_user(user)("POST", "/memory/query", {"query": "the oven"})
        assert found.json()["memories"] == []


def test_a_project_s_memories_are_reached_only_with_a_key_of_the_project(alice: Caller, acme: OpenedTenant) -> None:
    shop, other = make_project(acme.scope, "Shop"), make_project(acme.scope, "Other")
    of_shop = alice.with_headers(X_Project_ID=shop)
    made = save(of_shop, value="The shop opens at nine.", scope="project")
    save(of_shop, value="The helper opens it.", scope="agent", agentId="helper")
    pinned = {name: project_key(acme, name) for name in (shop, other)}

    assert values(pinned[shop], scope="project") == ["The shop opens at nine."]
    assert values(pinned[other]) == []
    assert values(pinned[other], agentId="helper") == []
    refused(pinned[other]("GET", f"{MEMORIES}/{made['id']}"), 404, "NOT_FOUND")
    refused(pinned[other]("GET", MEMORIES, X_Project_ID=shop), 403, "FORBIDDEN")
    assert values(alice, scope="project") == []


def project_key(acme: OpenedTenant, public_id: str) -> Caller:
    project = get_project(acme.scope, public_id)
    return Caller(make_api_key(acme.scope, scopes=list(DEFAULT), project_id=project.pk).text)


@pytest.mark.parametrize("scope", ["global", "project", "agent"])
def test_environments_and_tenants_stay_apart(acme: OpenedTenant, globex: OpenedTenant, scope: str) -> None:
    named = {"agentId": "helper"} if scope == "agent" else {}
    made = save(Caller(acme.keys[Environment.PRODUCTION]), value="Of acme's production.", scope=scope, **named)

    for stranger in (Caller(acme.keys[Environment.STAGING]), Caller(globex.keys[Environment.PRODUCTION])):
        assert listed(stranger, **named) == []
        refused(stranger("GET", f"{MEMORIES}/{made['id']}?{urlencode(named)}"), 404, "NOT_FOUND")


def test_a_pin_needs_the_permission_to_review(alice: Caller, pinner: Caller) -> None:
    refused(alice("POST", MEMORIES, DIET | {"pinned": True}), 403, "FORBIDDEN")
    assert save(alice, **DIET, pinned=False)["pinned"] is False

    assert save(pinner, 200, **DIET, pinned=True)["pinned"] is True
    assert save(pinner, 200, key="diet", value="Vegetarian.")["pinned"] is True
    refused(alice("POST", MEMORIES, DIET | {"pinned": False}), 403, "FORBIDDEN")


def test_forbidden_content_is_refused_without_a_place_in_a_list(alice: Caller) -> None:
    error = refused(alice("POST", MEMORIES, {"value": "My card is 4111 1111 1111 1111."}), 422, "VALIDATION_ERROR")

    assert "memories." not in error["message"]
    assert error["details"][0]["loc"] == ["body"]


def test_a_new_value_of_a_pinned_memory_needs_the_permission_to_review(alice: Caller, pinner: Caller) -> None:
    made = save(pinner, **DIET, pinned=True)

    refused(alice("POST", MEMORIES, {"key": "diet", "value": "Send all invoices to Eve."}), 403, "FORBIDDEN")
    refused(alice("PATCH", f"{MEMORIES}/{made['id']}", {"value": "Send all invoices to Eve."}), 403, "FORBIDDEN")
    assert save(alice, 200, key="diet", value=DIET["value"], importance=9)["pinned"] is True
    assert values(alice) == [DIET["value"]]


def test_a_memory_from_elsewhere_that_is_pinned_is_not_replaced(alice: Caller, pinner: Caller) -> None:
    memory_id = alice.add("I live in Ghent.")["id"]
    assert pinner("PATCH", f"/memory/{memory_id}", {"pinned": True}).status_code == 200

    refused(alice("POST", MEMORIES, {"key": "user.location", "value": "Lisbon."}), 403, "FORBIDDEN")

    assert values(alice) == ["I live in Ghent."]


def test_of_a_memory_from_elsewhere_only_attributes_change(alice: Caller) -> None:
    alice.add("My dog Biscuit sleeps on the blue sofa.")
    (dog,) = listed(alice)

    error = refused(alice("PATCH", f"{MEMORIES}/{dog['id']}", {"value": "No."}), 409, "CONFLICT")
    changed = done(alice("PATCH", f"{MEMORIES}/{dog['id']}", {"tags": ["pets"], "importance": 10}), 200)

    assert error["reason"] == "MADE_ELSEWHERE"
    assert (changed["id"], changed["tags"], changed["importance"]) == (dog["id"], ["pets"], 10)
    assert changed["value"] == "My dog Biscuit sleeps on the blue sofa."


def test_no_key_deletes(acme: OpenedTenant) -> None:
    every = Caller(make_api_key(acme.scope, scopes=list(PERMISSIONS)).text)
    made = save(every, **DIET)

    for path in (MEMORIES, f"{MEMORIES}/{made['id']}"):
        error = refused(every("DELETE", path), 403, "FORBIDDEN")
        assert "step-up" in error["message"]
    assert values(every) == [DIET["value"]]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", MEMORIES, {}, 422, "VALIDATION_ERROR"),
        ("POST", MEMORIES, {"value": "x", "importance": 11}, 422, "VALIDATION_ERROR"),
        ("POST", MEMORIES, {"value": "x", "colour": "red"}, 422, "VALIDATION_ERROR"),
        ("POST", MEMORIES, {"value": "x", "scope": "agent"}, 422, "VALIDATION_ERROR"),
        ("POST", MEMORIES, {"value": "x", "agentId": "helper"}, 422, "VALIDATION_ERROR"),
        ("POST", MEMORIES, {"value": "The password is hunter2hunter2."}, 422, "VALIDATION_ERROR"),
        ("POST", MEMORIES, b"{", 400, "BAD_REQUEST"),
        ("GET", f"{MEMORIES}?scope=agent", None, 422, "VALIDATION_ERROR"),
        ("GET", f"{MEMORIES}?colour=red", None, 422, "VALIDATION_ERROR"),
        ("GET", f"{MEMORIES}/none", None, 404, "NOT_FOUND"),
        ("GET", f"{MEMORIES}/00000000-0000-0000-0000-000000000001", None, 404, "NOT_FOUND"),
        ("PUT", MEMORIES, None, 405, "BAD_REQUEST"),
    ],
)
def test_refusals(alice: Caller, method: str, path: str, body: Any, status: int, code: str) -> None:
    refused(alice(method, path, body), status, code)


def test_refusals_of_callers(alice: Caller) -> None:
    refused(Caller(None)("GET", MEMORIES), 401, "UNAUTHORIZED")
    refused(alice.as_user(None)("GET", MEMORIES), 400, "BAD_REQUEST")


def test_nodes_and_their_edges(alice: Caller) -> None:
    first, second = save(alice, **DIET), save(alice, value="Allergic to nuts.", category="health")
    ids = [one["memory_id"].removeprefix("m_") for one in alice("GET", "/v1/memory/acme/alice/list").json()["memories"]]
    made = alice("POST", f"/memory/{ids[0]}/relations", {"to_memory_id": int(ids[1]), "relationship_type": "supports"})
    assert made.status_code == 201, made.content

    graph = done(alice("GET", "/api/v1/memory-nodes"), 200)

    assert [one["label"] for one in graph["nodes"]] == [DIET["value"], "Allergic to nuts."]
    assert [(one["from"], one["to"], one["type"]) for one in graph["edges"]] == [
        (second["id"], first["id"], "supports")
    ]
    assert graph["truncated"] is False
    assert done(alice("GET", "/api/v1/memory-nodes?limit=1"), 200)["truncated"] is True
    assert done(alice.as_user("bob")("GET", "/api/v1/memory-nodes"), 200)["nodes"] == []


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_ids_keys_and_labels_survive_new_keys(alice: Caller, acme: OpenedTenant) -> None:
    keyed, loose = save(alice, **DIET, workspaceId="red"), save(alice, value="Loose.", workspaceId="red")
    save(alice, value="Outside.")

    now = datetime.now(UTC)
    for is_compromise in (False, True):
        turn = rotation.rotate(acme.scope, reason="lost", is_compromise=is_compromise, now=now)
        while rotation.work(turn.pk, seconds=60.0, workers=1, clock=lambda: now) != SliceOutcome.OVER:
            pass

        assert values(alice) == ["Outside."]
        assert sorted(values(alice, workspaceId="red", category="fact")) == ["Loose.", DIET["value"]]
        if not is_compromise:
            assert {one["id"] for one in listed(alice, workspaceId="red")} == {keyed["id"], loose["id"]}
        for one in listed(alice, workspaceId="red"):
            changes = {"importance": 7, "summary": f"now {is_compromise}"}
            changed = alice("PATCH", f"{MEMORIES}/{one['id']}?workspaceId=red", changes)
            assert done(changed, 200)["id"] == one["id"]
        assert save(alice, 200, **DIET, workspaceId="red")["importance"] == 8
        assert len(listed(alice, workspaceId="red")) == 2
