"""/v1/objects: documents are refreshed without doubling, and every memory names the one that states it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.core.scoping import tenant_transaction
from apps.erasure.targets import Target
from apps.erasure.workflow import start_erasure
from apps.memories.editing import Edit, edit
from apps.memories.models import Memory
from apps.memories.soft_delete import soft_delete
from apps.memories.spaces import lock_space
from apps.projects.scope import Principal, Scope
from apps.sources.models import ExternalObject, ObjectMemory
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.erasure.test_erasing import WORD
from tests.makers import make_api_key, make_project, make_scope

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.usefixtures("no_answer_is_kept")]

BOILER, GATE, BUS = (
    f"{text} {'More about it is in the folder on the shelf. ' * 18}".strip()
    for text in (
        "The boiler key hangs behind the blue door.",
        "The garden gate is locked at nine in the evening.",
        "The bus to the airport leaves at ten past six.",
    )
)
LATER_BUS = BUS.replace("ten past six", "half past seven")


def put(caller: Caller, *texts: str, external_id: str = "wiki/house", **fields: Any) -> Any:
    body = {"external_id": external_id, "text": "\n\n".join(texts)} | fields
    response: Any = caller("PUT", "/v1/objects", body)
    assert response.status_code == 200, response.content
    return response.json()


def counts(answer: Any) -> tuple[str, int, int, int]:
    said = answer["memories"]
    return answer["status"], said["kept"], said["added"], said["ended"]


def read(caller: Caller, memory_id: int) -> Any:
    response: Any = caller("GET", f"/memory/{memory_id}")
    assert response.status_code == 200, response.content
    return response.json()


def found(caller: Caller, query: str) -> list[str]:
    response: Any = caller("POST", "/memory/query", {"query": query})
    return [one["text"] for one in response.json()["memories"]]


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def test_an_object_is_stored_and_its_memories_name_it(alice: Caller) -> None:
    made = put(alice, BOILER, GATE, BUS, title="House", tags=["home"])

    assert counts(made) == ("created", 0, 3, 0)
    assert (made["kind"], made["version"], made["size"]) == ("api", 1, len("\n\n".join((BOILER, GATE, BUS))))
    shown = read(alice, made["memory_ids"][0])
    assert shown["text"] == BOILER
    assert (shown["source"], shown["tags"]) == ("api", ["home"])
    assert shown["source_object"] == {
        "id": made["id"], "kind": "api", "external_id": "wiki/house", "title": "House", "version": 1,
    }  # fmt: skip
    assert read(alice, alice.add("I paint boats.")["id"])["source_object"] is None


def test_the_same_object_again_changes_nothing_but_when_it_was_seen(alice: Caller) -> None:
    made = put(alice, BOILER, GATE)
    again = put(alice, BOILER, GATE)

    assert counts(again) == ("unchanged", 2, 0, 0)
    assert (again["memory_ids"], again["version"], again["decisions"]) == (made["memory_ids"], 1, [])
    assert again["last_seen_at"] > made["last_seen_at"]
    assert read(alice, made["memory_ids"][0])["repetition_count"] == 1


def test_a_new_version_keeps_what_it_still_says_and_ends_the_rest(alice: Caller) -> None:
    made = put(alice, BOILER, GATE, BUS)

    changed = put(alice, BOILER, GATE, LATER_BUS, title="House rules")

    boiler, gate, bus = made["memory_ids"]
    assert counts(changed) == ("refreshed", 2, 1, 1)
    assert (changed["version"], changed["title"]) == (2, "House rules")
    assert {boiler, gate} < set(changed["memory_ids"])
    assert bus not in changed["memory_ids"]
    ended = read(alice, bus)
    assert (ended["validity"], ended["superseded_by"]) == ("superseded", None)
    assert ended["valid_to"] == ended["superseded_at"] == changed["changed_at"]
    assert ended["source_object"]["id"] == made["id"]
    assert found(alice, "When does the bus to the airport leave?")[0] == LATER_BUS
    assert BUS not in found(alice, "When does the bus to the airport leave?")
    history: Any = alice("GET", f"/memory/{bus}/history")
    assert [one["event"] for one in history.json()["revisions"]] == ["created", "superseded"]


def test_an_insertion_changes_only_its_own_passage(alice: Caller) -> None:
    lines = [f"Room {number} is {number * 3} metres wide." for number in range(120)]
    made = put(alice, *lines)

    changed = put(alice, "A plan of every room.", *lines)
    shorter = put(alice, *lines[:-1])

    assert counts(changed) == ("refreshed", len(made["memory_ids"]), 1, 0)
    assert counts(shorter) == ("refreshed", len(made["memory_ids"]) - 1, 1, 2)
    assert "Room 119" not in " ".join(found(alice, "How wide is room 119?"))


def test_what_another_object_states_stays_until_none_does(alice: Caller) -> None:
    made = put(alice, BOILER)
    other = put(alice, BOILER, external_id="wiki/copy")
    assert counts(other) == ("created", 1, 0, 0)
    assert other["memory_ids"] == made["memory_ids"]
    assert read(alice, made["memory_ids"][0])["repetition_count"] == 2

    one_less = put(alice, GATE)
    none_left = put(alice, GATE, external_id="wiki/copy")

    assert counts(one_less) == ("refreshed", 0, 1, 0)
    assert counts(none_left) == ("refreshed", 1, 0, 1)
    assert read(alice, made["memory_ids"][0])["validity"] == "superseded"


def test_what_was_stored_before_or_said_again_or_pinned_stays(alice: Caller, scope: Scope) -> None:
    before = alice.add(BOILER, metadata={"speaker": "assistant"})
    made = put(alice, BOILER, GATE, BUS)
    _, gate, bus = made["memory_ids"]
    assert made["memory_ids"][0] == before["id"]
    alice("POST", "/memory/add", {"text": GATE, "importance": 0.6, "metadata": {"speaker": "assistant"}})
    edit(scope, Edit(memory_id=bus, pinned=True), now=datetime.now(UTC))

    emptied = put(alice, "Nothing of it is true.")

    assert counts(emptied) == ("refreshed", 0, 1, 0)
    assert [read(alice, one)["validity"] for one in (before["id"], gate, bus)] == ["current"] * 3
    assert [read(alice, one)["repetition_count"] for one in (before["id"], gate, bus)] == [1, 1, 1]


def test_what_was_forgotten_or_erased_does_not_come_back(alice: Caller, acme: OpenedTenant, scope: Scope) -> None:
    boiler, gate, _ = put(alice, BOILER, GATE, BUS)["memory_ids"]
    with tenant_transaction(scope):
        space, cipher = lock_space(scope)
        rows = list(Memory.objects.within(scope).filter(pk=boiler))
        soft_delete(scope, space, rows, cipher, method="user_request", reason="", now=datetime.now(UTC))
    start_erasure(acme.scope, Target.memories([gate]), authorised=WORD, now=datetime.now(UTC))

    changed = put(alice, BOILER, GATE, LATER_BUS)

    assert (changed["memories"]["added"], changed["memories"]["ended"]) == (1, 1)
    assert [one["decision"] for one in changed["decisions"]] == ["discarded_policy", "created"]
    texts = found(alice, "Where are the boiler key and the garden gate?")
    assert BOILER not in texts
    assert GATE not in texts


def test_what_is_refused_is_told(alice: Caller) -> None:
    made = put(alice, "password: hunter2-hunter2")

    assert (made["memory_ids"], made["decisions"][0]["decision"]) == ([], "discarded_policy")


def test_objects_are_listed_by_kind_newest_first(alice: Caller) -> None:
    first = put(alice, BOILER, external_id="a")
    second = put(alice, GATE, external_id="b", title="Gate")

    page: Any = alice("GET", "/v1/objects?kind=api&limit=1")
    rest: Any = alice("GET", f"/v1/objects?limit=1&cursor={page.json()['next_cursor']}")
    one: Any = alice("GET", f"/v1/objects/{second['id']}")

    assert [row["external_id"] for row in page.json()["objects"]] == ["b"]
    assert [row["id"] for row in rest.json()["objects"]] == [first["id"]]
    assert rest.json()["next_cursor"] is None
    assert one.json() == page.json()["objects"][0] | {"memory_ids": second["memory_ids"]}
    assert alice("GET", "/v1/objects?kind=page").json() == {"objects": [], "next_cursor": None}  # type: ignore[attr-defined]


def test_an_object_is_its_end_users_and_its_projects(alice: Caller, acme: OpenedTenant) -> None:
    made = put(alice, BOILER)
    elsewhere = alice.with_headers(X_Project_ID=make_project(acme.scope, "Elsewhere"))

    there = put(elsewhere, GATE)

    assert there["id"] != made["id"]
    for other in (alice.as_user("bob"), alice.as_user("nobody"), elsewhere):
        response: Any = other("GET", f"/v1/objects/{made['id']}")
        assert (response.status_code, response.json()["error"]["code"]) == (404, "OBJECT_NOT_FOUND")
    assert [row["id"] for row in alice("GET", "/v1/objects").json()["objects"]] == [made["id"]]  # type: ignore[attr-defined]


def test_a_key_deletes_an_object_only_where_the_owner_lets_keys_retire(alice: Caller, acme: OpenedTenant) -> None:
    made = put(alice, BOILER, GATE)
    put(alice, GATE, external_id="wiki/copy")
    refused: Any = alice("DELETE", f"/v1/objects/{made['id']}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "STEP_UP_REQUIRED")
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
    deleter = replace(alice, key=make_api_key(acme.scope, scopes=list(PERMISSIONS)).text)

    gone: Any = deleter("DELETE", f"/v1/objects/{made['id']}")

    boiler, gate = made["memory_ids"]
    assert gone.json() == {"id": made["id"], "memory_ids": [boiler]}
    assert alice("GET", f"/memory/{boiler}").status_code == 404
    assert read(alice, gate)["validity"] == "current"
    for other in (deleter, deleter.as_user("nobody")):
        assert other("DELETE", f"/v1/objects/{made['id']}").status_code == 404


def test_erasing_a_memory_counts_its_object_and_takes_it_if_asked(
    alice: Caller, acme: OpenedTenant, scope: Scope
) -> None:
    boiler, gate = put(alice, BOILER, GATE)["memory_ids"]
    person = replace(acme.scope, principal=Principal(kind="account", id=7))

    kept = start_erasure(person, Target.memories([boiler]), authorised=WORD, now=datetime.now(UTC))
    gone = start_erasure(person, Target.memories([gate]), authorised=WORD, with_sources=True, now=datetime.now(UTC))

    assert (kept.counts["residual_sources"], gone.counts["sources"], gone.counts["links"]) == (1, 1, 1)
    with tenant_transaction(scope):
        assert not ExternalObject.objects.within(scope).exists()
        assert not ObjectMemory.objects.within(scope).exists()


@pytest.mark.parametrize(
    "body",
    [
        {"text": "x"},
        {"external_id": "a"},
        {"external_id": "a", "text": " "},
        {"external_id": "a\n", "text": "x"},
        {"external_id": "a" * 1025, "text": "x"},
        {"external_id": "a", "text": "x", "kind": "page"},
        {"external_id": "a", "text": "x", "title": 1},
    ],
)
def test_malformed_objects_are_refused(body: Any, alice: Caller) -> None:
    assert alice("PUT", "/v1/objects", body).status_code == 422


def test_parameters_are_checked(alice: Caller) -> None:
    for query in ("kind=book", "limit=0", "limit=201", "cursor=x", "page=2"):
        assert alice("GET", f"/v1/objects?{query}").status_code == 422
