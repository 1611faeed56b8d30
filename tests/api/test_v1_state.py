"""Framework state: one object in each place, put again without harm, found by name, and never recalled."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_embedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.history.models import StateItem
from apps.outbox import handlers
from apps.projects.scope import Environment
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.architecture import canaries
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

ALICE = {"tenant_id": "acme", "user_id": "alice"}


def post(caller: Caller, what: str, *, status: int = 200, **fields: Any) -> Any:
    response: Any = caller("POST", f"/v1/state/{what}", ALICE | fields)
    assert response.status_code == status, response.content
    return response.json()


def put(caller: Caller, namespace: list[str], key: str, value: Any = None, **fields: Any) -> Any:
    return post(caller, "put", namespace=namespace, key=key, value=value or {"n": 1}, **fields)


def get(caller: Caller, namespace: list[str], key: str, **fields: Any) -> Any:
    return post(caller, "get", namespace=namespace, key=key, **fields)["item"]


def keys(found: Any) -> list[str]:
    return [item["key"] for item in found["items"]]


def memories(caller: Caller) -> list[str]:
    response: Any = caller("GET", "/v1/memory/acme/alice/list")
    return [memory["raw_text"] for memory in response.json()["memories"]]


# -- putting and getting -----------------------------------------------------------------------------------------------


def test_object_comes_back_as_it_was_put(alice: Caller) -> None:
    value = {"z": [1, 1.0, True, None, {"é": "🙂\u0000"}], "a": {"b": {}}, "": ""}

    answer = put(alice, ["users", "a/b", "🙂"], "profile\u0000 1", value)

    item = answer["item"]
    assert (answer["created"], answer["request_id"], answer["deleted_fact_ids"], answer["status"]) == (
        True, None, [], "ok",
    )  # fmt: skip
    assert item == get(alice, ["users", "a/b", "🙂"], "profile\u0000 1")
    assert json.dumps(item["value"]) == json.dumps(value)
    assert item["text"] == json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("\x00", "\\u0000")
    assert (item["namespace"], item["key"], item["source"]) == (["users", "a/b", "🙂"], "profile\u0000 1", "api")
    assert int(item["id"].removeprefix("h_")) >= 10**12


def test_same_again_changes_nothing(alice: Caller) -> None:
    first = put(alice, ["n"], "k", {"a": 1, "b": 2})

    again = put(alice, ["n"], "k", {"b": 2, "a": 1})

    assert again == first | {"created": False}


@pytest.mark.parametrize("other", [{"a": 2}, {"a": True}, {"a": 1.0}, {"a": "1"}, {"a": 1, "b": None}])
def test_another_value_replaces_the_one_before(other: dict[str, Any], alice: Caller) -> None:
    first = put(alice, ["n"], "k", {"a": 1})

    answer = put(alice, ["n"], "k", other)

    assert answer["created"] is True
    assert (answer["item"]["id"], answer["item"]["created_at"]) == (first["item"]["id"], first["item"]["created_at"])
    assert answer["item"]["updated_at"] > first["item"]["updated_at"]
    assert json.dumps(get(alice, ["n"], "k")["value"]) == json.dumps(other)
    assert post(alice, "list")["total"] == 1


@pytest.mark.parametrize(
    ("namespace", "key", "fields"),
    [
        (["n"], "other", {}),
        (["n", "k"], "k", {}),
        (["N"], "k", {}),
        (["n"], "k", {"source": "langgraph"}),
        (["n"], "k", {"user_id": "bob"}),
        (["n"], "k", {"tenant_id": "default"}),
    ],
)
def test_another_place_holds_another_object(namespace: list[str], key: str, fields: Any, alice: Caller) -> None:
    put(alice, ["n"], "k", {"here": 1})

    assert get(alice, namespace, key, **fields) is None
    put(alice, namespace, key, {"there": 1}, **fields)
    assert get(alice, ["n"], "k")["value"] == {"here": 1}
    assert get(alice, namespace, key, **fields)["value"] == {"there": 1}


def test_segments_do_not_run_into_one_another(alice: Caller) -> None:
    put(alice, ["a", "bc"], "d")

    assert get(alice, ["a", "b"], "cd") is None
    assert get(alice, ["ab", "c"], "d") is None
    assert get(alice, ["a"], "bc") is None


# -- listing -----------------------------------------------------------------------------------------------------------


def test_list_is_of_a_prefix_segment_by_segment_and_newest_first(alice: Caller) -> None:
    put(alice, ["users", "alice"], "one")
    put(alice, ["users", "alice", "deep"], "two")
    put(alice, ["users", "al"], "three")
    put(alice, ["users", "alice"], "one", {"n": 2})
    put(alice, ["users", "alice"], "elsewhere", source="langgraph")

    assert keys(post(alice, "list", namespace_prefix=["users", "alice"])) == ["one", "two"]
    assert keys(post(alice, "list", namespace_prefix=["users", "al"])) == ["three"]
    assert keys(post(alice, "list", namespace_prefix=["us"])) == []
    assert keys(post(alice, "list")) == keys(post(alice, "list", namespace_prefix=[])) == ["one", "three", "two"]
    assert keys(post(alice, "list", source="langgraph")) == ["elsewhere"]
    page = post(alice, "list", limit=1, offset=1)
    assert (keys(page), page["total"]) == (["three"], 3)


def test_namespaces_are_cut_merged_and_paged(alice: Caller) -> None:
    for namespace in (["b"], ["a", "x", "1"], ["a", "x", "2"], ["a", "y"], ["a", "x", "1"]):
        put(alice, namespace, "k")
        put(alice, namespace, "l")

    assert post(alice, "namespaces")["namespaces"] == [["a", "x", "1"], ["a", "x", "2"], ["a", "y"], ["b"]]
    assert post(alice, "namespaces", max_depth=2)["namespaces"] == [["a", "x"], ["a", "y"], ["b"]]
    assert post(alice, "namespaces", prefix=["a", "x"])["namespaces"] == [["a", "x", "1"], ["a", "x", "2"]]
    assert post(alice, "namespaces", prefix=["a"], max_depth=1)["namespaces"] == [["a"]]
    page = post(alice, "namespaces", limit=1, offset=1)
    assert page == {"namespaces": [["a", "x", "2"]], "total": 4}
    assert post(alice, "namespaces", user_id="bob") == {"namespaces": [], "total": 0}


def test_namespaces_are_listed_in_one_pass_over_the_items(alice: Caller) -> None:
    put(alice, ["a"], "k")

    with CaptureQueriesContext(connection) as sent:
        post(alice, "namespaces")

    (listing,) = [one["sql"] for one in sent if "namespace_mac" in one["sql"]]
    assert listing.count("SELECT") == 1


# -- searching ---------------------------------------------------------------------------------------------------------


def test_search_is_best_first_and_by_words_where_nothing_is_indexed(alice: Caller) -> None:
    put(alice, ["p", "a"], "tea", text="I prefer green tea in the morning.")
    put(alice, ["p", "b"], "bike", text="The bicycle needs a new chain.")
    put(alice, ["q"], "words", text="green tea only by its words", index=False)

    found = post(alice, "search", query="green tea")
    scores = [item["score"] for item in found["items"]]

    assert set(keys(found)[:2]) == {"tea", "words"}
    assert scores == sorted(scores, reverse=True)
    assert next(item["score"] for item in found["items"] if item["key"] == "words") == 1.0
    assert keys(post(alice, "search", query="green tea", namespace_prefix=["q"])) == ["words"]
    assert keys(post(alice, "search", query="zebra crossing", namespace_prefix=["q"])) == []
    page = post(alice, "search", query="green tea", limit=1, offset=1)
    assert (keys(page), page["total"]) == (keys(found)[1:2], found["total"])


def test_without_the_embedder_words_are_found_and_meaning_follows(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, acme: OpenedTenant
) -> None:
    embedder = get_embedder()

    def down(texts: Any) -> Any:
        raise AdapterError("down", permanent=False)

    with monkeypatch.context() as broken:
        broken.setattr(embedder, "embed", down)
        put(alice, ["p"], "tea", text="I prefer green tea.")
        assert post(alice, "search", query="green tea")["items"][0]["score"] == 1.0

    while handlers.process_due_events(now=datetime.now(UTC)):
        pass
    with tenant_transaction(acme.scope):
        (row,) = StateItem.objects.within(acme.scope)
    assert row.embedding_ct is not None
    assert row.embedder == embedder.id
    assert keys(post(alice, "search", query="green tea")) == ["tea"]


# -- deleting ----------------------------------------------------------------------------------------------------------


def test_keys_that_are_named_none_and_all(alice: Caller) -> None:
    ids = {key: put(alice, ["n"], key)["item"]["id"] for key in "abc"}
    put(alice, ["n", "below"], "d")
    put(alice, ["n"], "e", source="langgraph")

    assert post(alice, "delete", namespace=["n"], keys=[]) == {"deleted_ids": [], "deleted_fact_ids": []}
    assert post(alice, "delete", namespace=["n"], keys=["a", "absent"])["deleted_ids"] == [ids["a"]]
    assert keys(post(alice, "list")) == ["d", "c", "b"]
    assert post(alice, "delete", namespace=["n"])["deleted_ids"] == [ids["b"], ids["c"]]
    assert keys(post(alice, "list")) == ["d"]
    assert keys(post(alice, "list", source="langgraph")) == ["e"]
    assert post(alice, "delete", namespace=["n"])["deleted_ids"] == []


@pytest.mark.parametrize("fields", [{}, {"namespace": None}, {"namespace": []}, {"namespace": "n"}, {"keys": ["a"]}])
def test_delete_without_a_namespace_deletes_nothing(fields: dict[str, Any], alice: Caller) -> None:
    put(alice, ["n"], "a")

    post(alice, "delete", status=422, **fields)

    assert keys(post(alice, "list")) == ["a"]


def test_nobody_deletes_what_is_anothers(alice: Caller, globex: OpenedTenant) -> None:
    put(alice, ["n"], "a")
    stranger = Caller(globex.keys[Environment.PRODUCTION])
    put(stranger, ["n"], "b")

    assert post(alice, "delete", namespace=["n"], user_id="bob")["deleted_ids"] == []
    assert len(post(stranger, "delete", namespace=["n"])["deleted_ids"]) == 1

    assert keys(post(alice, "list")) == ["a"]


# -- what is made of it ------------------------------------------------------------------------------------------------


def test_state_is_never_recalled(alice: Caller) -> None:
    put(alice, ["n"], "k", {"text": "I live in Lisbon."})

    query: Any = alice("POST", "/memory/query", {"query": "Lisbon"})

    assert query.json()["memories"] == []
    assert memories(alice) == []


def test_text_is_distilled_where_that_is_asked_for(alice: Caller) -> None:
    answer = put(alice, ["n"], "k", text="I live in Lisbon.", extract=True, metadata={"app": "x"})
    again = put(alice, ["n"], "k", text="I live in Lisbon.", extract=True, metadata={"app": "x"})

    assert answer["request_id"] == f"req_{answer['item']['id'][2:]}"
    assert (again["created"], again["request_id"]) == (False, None)
    response: Any = alice("GET", "/v1/memory/acme/alice/list")
    (memory,) = response.json()["memories"]
    assert memory["raw_text"] == "I live in Lisbon."
    assert memory["metadata"] == {"app": "x", "write_origin": "state-extraction", "history_id": answer["item"]["id"]}


def test_facts_stay_unless_policy_and_key_let_them_go(alice: Caller, acme: OpenedTenant) -> None:
    may = Caller(make_api_key(acme.scope, scopes=["*", "memory:delete"]).text)
    put(may, ["n"], "k", {"n": 1}, text="I live in Lisbon.", extract=True)

    stays = put(may, ["n"], "k", {"n": 2}, text="My dog is called Rex.", extract=True, replace_derived_facts=True)
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=datetime.now(UTC))
    goes = put(may, ["n"], "k", {"n": 3}, text="I am allergic to nuts.", extract=True, replace_derived_facts=True)
    kept = post(may, "delete", namespace=["n"])

    assert (stays["deleted_fact_ids"], len(goes["deleted_fact_ids"]), kept["deleted_fact_ids"]) == ([], 1, [])
    assert set(memories(alice)) == {"I live in Lisbon.", "I am allergic to nuts."}


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"namespace": []},
        {"namespace": ["n"] * 21},
        {"namespace": ["n", ""]},
        {"namespace": ["n", 5]},
        {"namespace": ["n" * 1025]},
        {"key": ""},
        {"key": None},
        {"value": []},
        {"value": "x"},
        {"value": None},
        {"text": 5},
        {"index": 1},
        {"source": None},
        {"source": ""},
        {"metadata": []},
        {"vector_id": "x"},
        {"user_id": ""},
    ],
)
def test_bad_put_keeps_nothing(fields: dict[str, Any], alice: Caller) -> None:
    body = post(alice, "put", status=422, **({"namespace": ["n"], "key": "k", "value": {"n": 1}} | fields))

    assert body["error"]["code"] == "VALIDATION_ERROR"
    assert keys(post(alice, "list")) == []


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("list", {"namespace_prefix": None}),
        ("list", {"limit": "5"}),
        ("search", {}),
        ("search", {"query": " "}),
        ("search", {"query": "x", "namespace_prefix": "n"}),
        ("namespaces", {"prefix": None}),
        ("namespaces", {"max_depth": "1"}),
        ("get", {"namespace": ["n"]}),
        ("delete", {"namespace": ["n"], "keys": None}),
        ("delete", {"namespace": ["n"], "keys": "k"}),
    ],
)
def test_bad_question_is_refused(what: str, fields: dict[str, Any], alice: Caller) -> None:
    post(alice, what, status=422, **fields)


def test_large_object(alice: Caller) -> None:
    value = {"page": "x" * 1_000_000}

    assert put(alice, ["n"], "k", value)["item"]["value"] == value
    assert get(alice, ["n"], "k")["value"] == value
    post(alice, "put", status=413, namespace=["n"], key="k", value={"page": "x" * 5_000_000})
    assert get(alice, ["n"], "k")["value"] == value


# -- at rest -----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_nothing_is_readable_at_rest(alice: Caller, superuser_url: str) -> None:
    words = [canaries.word(number) for number in range(6)]
    put(alice, [words[0]], words[1], {words[2]: words[3]}, text=words[4], source="api", metadata={"n": words[5]})

    assert canaries.in_databases(superuser_url, words) == []


def test_item_that_fails_its_seal_is_left_out(alice: Caller, acme: OpenedTenant) -> None:
    broken = put(alice, ["n"], "a")["item"]
    put(alice, ["n"], "b")
    with tenant_transaction(acme.scope):
        StateItem.objects.within(acme.scope).filter(pk=int(broken["id"][2:])).update(
            item_ct=b"\x00" * 80, embedding_ct=None
        )

    assert keys(post(alice, "list")) == ["b"]
    assert "a" not in keys(post(alice, "search", query="n"))
    assert post(alice, "namespaces")["total"] <= 1
    assert put(alice, ["n"], "a", {"n": 1})["created"] is True
    assert get(alice, ["n"], "a")["value"] == {"n": 1}
