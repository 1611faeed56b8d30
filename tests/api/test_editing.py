"""PATCH /memory/{id} and POST /memory/batch-update: labels, tags, importance, metadata and pins, and nothing else."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.core.scoping import tenant_transaction
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment
from apps.projects.selectors import get_project
from apps.projects.services import archive
from apps.tenants.models import Profile
from tests.api.conftest import Caller
from tests.makers import NOW, make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")

TEXT = "The spare key lies under the blue flower pot."


def patch(caller: Caller, memory_id: int, **fields: Any) -> Any:
    return caller("PATCH", f"/memory/{memory_id}", fields)


def batch(caller: Caller, *items: Any) -> Any:
    return caller("POST", "/memory/batch-update", {"items": list(items)})


def get(caller: Caller, memory_id: int) -> Any:
    response = caller("GET", f"/memory/{memory_id}")
    assert response.status_code == 200
    return response.json()


def found_by_tag(caller: Caller, tag: str) -> list[int]:
    answer = caller("POST", "/memory/query", {"query": "where is the spare key?", "filters": {"tags": [tag]}}).json()
    return [memory["id"] for memory in answer["memories"]]


def seal_space(acme: OpenedTenant) -> None:
    space = find_end_user(acme.scope, "alice")
    assert space is not None
    set_profile(acme.scope, space.id, Profile.SEALED, now=NOW)


# -- what changes, and what does not ---------------------------------------------------------------------------------


def test_each_field_is_replaced_and_the_rest_stays(alice: Caller) -> None:
    before = alice.add(TEXT, source="notes", event_type="seen", tags=["home"], metadata={"a": 1}, session_id="s1")
    changes: dict[str, Any] = {
        "tags": ["Garden", "garden", " keys "],
        "importance": 0.9,
        "metadata": {"b": [1, "é", None]},
        "source": "chat",
        "event_type": "told",
    }

    response = patch(alice, before["id"], **changes)

    assert response.status_code == 200
    after = response.json()
    assert after["tags"] == ["garden", "keys"]
    assert {name: after[name] for name in changes if name != "tags"} == {
        name: value for name, value in changes.items() if name != "tags"
    }
    derived = {"updated_at", "topics", "memory_ids", "decisions"}
    same = before.keys() - changes.keys() - derived
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert after["updated_at"] > before["updated_at"]
    assert get(alice, before["id"]) == after


@pytest.mark.parametrize(
    ("empty", "expected"),
    [({"tags": []}, []), ({"metadata": {}}, {}), ({"source": ""}, None), ({"event_type": ""}, None)],
)
def test_empty_clears_and_null_leaves(empty: dict[str, Any], expected: Any, alice: Caller) -> None:
    memory = alice.add(TEXT, source="notes", event_type="seen", tags=["home"], metadata={"a": 1})
    (name,) = empty

    kept = patch(alice, memory["id"], **{name: None, "importance": 0.9}).json()
    cleared = patch(alice, memory["id"], **empty).json()

    assert kept[name] == memory[name]
    assert cleared[name] == expected


@pytest.mark.parametrize("is_sealed", [False, True], ids=["searchable", "sealed"])
def test_recall_filters_by_the_new_tags_at_once(is_sealed: bool, acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT, tags=["home"])
    if is_sealed:
        seal_space(acme)

    patch(alice, memory["id"], tags=["garden"])

    assert found_by_tag(alice, "garden") == [memory["id"]]
    assert found_by_tag(alice, "home") == []


def test_sealed_space_keeps_no_tokens_of_new_tags(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT)
    seal_space(acme)

    patch(alice, memory["id"], tags=["garden"], metadata={"where": "porch"})

    with tenant_transaction(acme.scope):
        row = Memory.objects.within_tenant(acme.scope).get(pk=memory["id"])
    assert row.tag_tokens == []
    assert get(alice, memory["id"])["metadata"] == {"where": "porch"}


def test_what_was_sealed_before_opens_no_more(acme: OpenedTenant, alice: Caller) -> None:
    """The revision is bound into the seal, so an old value cannot be put back behind our back."""
    memory = alice.add(TEXT, metadata={"pin": "old"})
    with tenant_transaction(acme.scope):
        old = bytes(Memory.objects.within_tenant(acme.scope).get(pk=memory["id"]).metadata_ct or b"")
    patch(alice, memory["id"], metadata={"pin": "new"})

    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=memory["id"]).update(metadata_ct=old)

    assert alice("GET", f"/memory/{memory['id']}").status_code == 503


def test_nothing_new_writes_nothing(alice: Caller) -> None:
    memory = alice.add(TEXT, tags=["home"], metadata={"a": 1, "b": 2})

    response = patch(alice, memory["id"], tags=["HOME"], metadata={"b": 2, "a": 1}, importance=0.6)

    assert response.json()["updated_at"] == memory["updated_at"]
    assert alice("GET", f"/memory/{memory['id']}/history").json()["total"] == 1


def test_true_is_not_one(alice: Caller) -> None:
    memory = alice.add(TEXT, metadata={"a": 1})

    response = patch(alice, memory["id"], metadata={"a": True})

    assert response.json()["metadata"] == {"a": True}
    assert get(alice, memory["id"])["metadata"]["a"] is True


# -- refusals ----------------------------------------------------------------------------------------------------------


HOSTILE: list[dict[str, Any]] = [
    {},
    {"tags": None},
    {"text": "Another text."},
    {"tags": ["a"], "text": None},
    {"tags": ["a"], "user_id": 7},
    {"tags": ["a"], "project_id": "proj_0123456789abcdef"},
    {"tags": "home"},
    {"tags": ["a\x00b"]},
    {"tags": ["x"] * 65},
    {"importance": 1.5},
    {"importance": True},
    {"importance": "0.5"},
    {"metadata": []},
    {"metadata": "x"},
    {"source": "   "},
    {"source": "x" * 65},
    {"event_type": "a\nb"},
    *({name: "x"} for name in ("retention_status", "vector_id", "extracted_type", "extracted_key")),
    {"tags": ["a"], "retention_expires_at": None},
]


def test_hostile_edit_is_one_envelope_and_changes_nothing(alice: Caller) -> None:
    memory = alice.add(TEXT, tags=["home"])
    other = alice.add("The bus to the airport leaves at ten past six.")
    before = get(alice, memory["id"])

    for fields in HOSTILE:
        alone = alice("PATCH", f"/memory/{memory['id']}", fields)
        among = batch(alice, {"memory_id": other["id"], "tags": ["late"]}, {"memory_id": memory["id"], **fields})

        assert (alone.status_code, alone.json()["error"]["code"]) == (422, "VALIDATION_ERROR"), fields
        assert among.status_code == 422, fields
        assert among.json()["error"]["details"][0]["loc"][:3] == ["body", "items", 1], fields
        assert get(alice, memory["id"]) == before, fields
    assert get(alice, other["id"])["tags"] == []


def test_platform_owned_field_is_named(alice: Caller) -> None:
    memory = alice.add(TEXT)

    response = patch(alice, memory["id"], retention_status="purged")

    assert response.json()["detail"].startswith("retention_status: ")


def test_large_metadata_is_too_large(alice: Caller) -> None:
    memory = alice.add(TEXT)

    assert patch(alice, memory["id"], metadata={"a": "x" * 70_000}).status_code == 413


@pytest.mark.parametrize("memory_id", [0, 2**31, 2**53, 2**63, 10**30])
def test_absent_is_not_found(memory_id: int, alice: Caller) -> None:
    response = patch(alice, memory_id, tags=["a"])

    assert (response.status_code, response.json()["error"]["code"]) == (404, "MEMORY_NOT_FOUND")


def test_stranger_who_edits_is_not_made(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add(TEXT)

    assert patch(alice.as_user("nobody"), memory["id"], tags=["a"]).status_code == 404
    assert find_end_user(acme.scope, "nobody") is None


def test_replaced_memory_is_read_only(alice: Caller) -> None:
    old = alice.add("I live in Lisbon.")
    new = alice.add("I live in Porto.")
    assert get(alice, old["id"])["superseded_by"] == new["id"]

    response = patch(alice, old["id"], tags=["a"])
    together = batch(alice, {"memory_id": old["id"], "tags": ["a"]}, {"memory_id": new["id"], "tags": ["a"]}).json()

    assert (response.status_code, response.json()["error"]["code"]) == (409, "MEMORY_READ_ONLY")
    assert [result["status"] for result in together["results"]] == ["read_only", "updated"]
    assert get(alice, old["id"])["tags"] == []


def test_archived_project_is_not_written(acme: OpenedTenant, alice: Caller) -> None:
    project = make_project(acme.scope, "old")
    inside = alice.with_headers(X_Project_ID=project)
    memory = inside.add(TEXT)
    archive(acme.scope, project, now=NOW)

    for response in (
        patch(inside, memory["id"], tags=["a"]),
        batch(inside, {"memory_id": memory["id"], "tags": ["a"]}),
    ):
        assert (response.status_code, response.json()["error"]["code"]) == (409, "PROJECT_ARCHIVED")
    assert get(inside, memory["id"])["tags"] == []


def test_project_of_the_key_is_no_way_around_that(acme: OpenedTenant, alice: Caller) -> None:
    project = make_project(acme.scope, "old")
    pinned = replace(alice, key=make_api_key(acme.scope, project_id=get_project(acme.scope, project).pk).text)
    memory = pinned.add(TEXT)
    archive(acme.scope, project, now=NOW)

    for response in (
        patch(pinned, memory["id"], tags=["a"]),
        pinned("POST", "/memory/add", {"text": TEXT, "importance": 0.6}),
    ):
        assert (response.status_code, response.json()["error"]["code"]) == (409, "PROJECT_ARCHIVED")
    assert get(pinned, memory["id"])["tags"] == []


def test_row_that_fails_its_seal_holds_up_nobody(acme: OpenedTenant, alice: Caller) -> None:
    broken, whole = alice.add(TEXT, tags=["home"]), alice.add("The bus to the airport leaves at ten past six.")
    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("update memories_memory set tags_ct = tags_ct || 'x' where id = %s", [broken["id"]])

    alone = patch(alice, broken["id"], importance=0.9)
    among = batch(alice, {"memory_id": broken["id"], "importance": 0.9}, {"memory_id": whole["id"], "tags": ["a"]})

    assert alone.status_code == 503
    assert [result["status"] for result in among.json()["results"]] == ["not_found", "updated"]


# -- many at once ------------------------------------------------------------------------------------------------------


def test_batch_reports_each_in_order(alice: Caller) -> None:
    first, second = alice.add(TEXT), alice.add("The bus to the airport leaves at ten past six.")
    foreign = alice.as_user("bob").add("Bob keeps his bicycle in the cellar.")

    response = batch(
        alice,
        {"memory_id": second["id"], "importance": 0.9, "tags": None},
        {"memory_id": 2**53, "tags": ["a"]},
        {"memory_id": foreign["id"], "tags": ["a"]},
        {"memory_id": first["id"], "tags": ["a"], "source": "chat"},
    )

    assert response.status_code == 207
    answer = response.json()
    assert (answer["total"], answer["updated"], answer["not_found"]) == (4, 2, 2)
    assert [result["index"] for result in answer["results"]] == [0, 1, 2, 3]
    assert answer["results"][0]["changed_fields"] == ["importance"]
    assert answer["results"][1] == {"index": 1, "memory_id": 2**53, "status": "not_found", "changed_fields": []}
    assert answer["results"][3]["changed_fields"] == ["tags", "source"]
    assert get(alice.as_user("bob"), foreign["id"])["tags"] == []


@pytest.mark.parametrize(
    "items",
    [
        [],
        None,
        "x",
        [1],
        [None],
        [{"tags": ["a"]}],
        [{"memory_id": 0, "tags": ["a"]}],
        [{"memory_id": True, "tags": ["a"]}],
        [{"memory_id": "7", "tags": ["a"]}],
        [{"memory_id": 7}],
        [{"memory_id": 7, "tags": ["a"]}, {"memory_id": 7, "tags": ["b"]}],
        [{"memory_id": number + 1, "tags": ["a"]} for number in range(101)],
        [{"memory_id": 7, "tags": [[["deep"]]]}],
    ],
    ids=lambda items: str(items)[:40],
)
def test_hostile_batch_is_one_envelope(items: Any, alice: Caller) -> None:
    response = alice("POST", "/memory/batch-update", {"items": items})

    assert response.status_code == 422
    assert response.json()["error"]["code"] == "VALIDATION_ERROR"


def test_hundred_at_once(alice: Caller) -> None:
    items = [{"text": f"Locker {n} holds volume {n} of the old atlas.", "importance": 0.6} for n in range(100)]
    ids: list[int] = []
    for at in (0, 50):
        body = alice("POST", "/memory/bulk-add", {"items": items[at : at + 50]}).json()
        ids += [one for result in body["results"] for one in result["memory_ids"]]

    answer = batch(alice, *({"memory_id": one, "tags": ["atlas"], "metadata": {"n": one}} for one in ids)).json()

    assert (answer["updated"], len(ids)) == (100, 100)
    assert get(alice, ids[-1])["metadata"] == {"n": ids[-1]}


# -- the trail ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(databases="__all__", transaction=True)  # rows are chained as they are committed
def test_edit_is_audited_without_content(acme: OpenedTenant, alice: Caller, call_with: Callable[..., Caller]) -> None:
    memory = alice.add(TEXT)
    patch(alice, memory["id"], tags=["secret-word"], importance=0.8)
    auditor = call_with(make_api_key(acme.scope, scopes=["audit:read"]).text)

    (event,) = auditor("GET", "/v1/audit/events?action=memory.update").json()["events"]

    assert (event["target"], event["reason"], event["count"]) == (f"memory:{memory['id']}", "importance,tags", 1)
    assert event["actor"].startswith("api_key:")


def test_other_environments_key_reaches_nothing(
    acme: OpenedTenant, alice: Caller, call_with: Callable[..., Caller]
) -> None:
    memory = alice.add(TEXT)

    assert patch(call_with(acme.keys[Environment.STAGING]), memory["id"], tags=["a"]).status_code == 404


# -- pins --------------------------------------------------------------------------------------------------------------


def test_reviewer_pins_a_memory_and_unpins_it(alice: Caller, acme: OpenedTenant) -> None:
    reviewer = replace(alice, key=make_api_key(acme.scope, scopes=[*DEFAULT, "candidates:review"]).text)
    memory = alice.add(TEXT)

    assert patch(reviewer, memory["id"], pinned=True).json()["pinned"] is True
    assert patch(reviewer, memory["id"], tags=["a"]).json()["pinned"] is True
    assert alice("GET", f"/memory/{memory['id']}").json()["pinned"] is True
    body = {"items": [{"memory_id": memory["id"], "pinned": False}]}
    assert reviewer("POST", "/memory/batch-update", body).json()["results"][0]["changed_fields"] == ["pinned"]
    assert alice("GET", f"/memory/{memory['id']}").json()["pinned"] is False


@pytest.mark.parametrize("value", [True, False])
def test_nobody_else_does(alice: Caller, value: bool) -> None:
    memory = alice.add(TEXT)

    refused = [
        patch(alice, memory["id"], pinned=value, tags=["a"]),
        alice("POST", "/memory/batch-update", {"items": [{"memory_id": memory["id"], "pinned": value}]}),
    ]

    assert [(one.status_code, one.json()["error"]["code"]) for one in refused] == [(403, "INSUFFICIENT_SCOPE")] * 2
    assert alice("GET", f"/memory/{memory['id']}").json()["tags"] == []
