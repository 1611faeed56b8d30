"""put_state, get_state, list_state, search_state, delete_state and list_state_namespaces, called as published."""

from typing import Any

import pytest
from memorysync import ValidationError

from tests import once
from tests.sdk.conftest import Make

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

WHO = {"tenant_id": "acme", "user_id": "alice"}
PLACE = {"namespace": ["users", "alice"], "key": "profile"}


def keys(found: Any) -> list[str]:
    return [item["key"] for item in found["items"]]


def test_put_again_is_free_and_another_value_replaces(make: Make) -> None:
    client = make()

    first = client.put_state(**WHO, **PLACE, value={"tone": "brief", "n": [1, None]})
    again = client.put_state(**WHO, **PLACE, value={"n": [1, None], "tone": "brief"})
    other = client.put_state(**WHO, **PLACE, value={"tone": "warm"})

    assert (first["created"], first["status"], first["deleted_fact_ids"]) == (True, "ok", [])
    assert again == first | {"created": False}
    assert (other["created"], other["item"]["id"]) == (True, first["item"]["id"])
    assert client.get_state(**WHO, **PLACE)["item"] == other["item"]
    assert client.list_state(**WHO)["total"] == 1


def test_get_of_nothing_is_none(make: Make) -> None:
    client = make()
    client.put_state(**WHO, **PLACE, value={}, source="langgraph")

    assert client.get_state(**WHO, **PLACE) == {"item": None}
    assert client.get_state(**WHO, **PLACE, source="langgraph")["item"]["value"] == {}
    assert client.get_state(tenant_id="other", user_id="alice", **PLACE, source="langgraph") == {"item": None}


def test_list_and_namespaces_go_by_segments(make: Make) -> None:
    client = make()
    for namespace in (["users", "alice"], ["users", "al"], ["apps"]):
        client.put_state(**WHO, namespace=namespace, key=namespace[-1], value={"n": 1})

    assert keys(client.list_state(**WHO)) == ["apps", "al", "alice"]
    assert keys(client.list_state(**WHO, namespace_prefix=["users", "al"])) == ["al"]
    assert keys(client.list_state(**WHO, namespace_prefix=["users"], limit=1, offset=1)) == ["alice"]
    assert client.list_state_namespaces(**WHO)["namespaces"] == [["apps"], ["users", "al"], ["users", "alice"]]
    assert client.list_state_namespaces(**WHO, max_depth=1)["namespaces"] == [["apps"], ["users"]]
    assert client.list_state_namespaces(**WHO, prefix=["users"], limit=1)["namespaces"] == [["users", "al"]]


def test_search_scores_by_meaning_and_by_words(make: Make) -> None:
    client = make()
    client.put_state(**WHO, namespace=["p"], key="tea", value={}, text="I prefer green tea in the morning.")
    client.put_state(**WHO, namespace=["p"], key="bike", value={}, text="The bicycle needs a new chain.")
    client.put_state(**WHO, namespace=["q"], key="plain", value={"drink": "green tea"}, index=False)

    found = client.search_state(**WHO, query="green tea", limit=2)

    assert set(keys(found)) == {"tea", "plain"}
    assert all(0 < item["score"] <= 1 for item in found["items"])
    assert keys(client.search_state(**WHO, query="green tea", namespace_prefix=["q"])) == ["plain"]


def test_delete_of_no_keys_of_some_and_of_a_namespace(make: Make) -> None:
    client = make()
    ids = {key: client.put_state(**WHO, namespace=["n"], key=key, value={})["item"]["id"] for key in "abc"}
    client.put_state(**WHO, namespace=["n", "below"], key="d", value={})

    assert client.delete_state(**WHO, namespace=["n"], keys=[]) == {"deleted_ids": [], "deleted_fact_ids": []}
    assert client.delete_state(**WHO, namespace=["n"], keys=["a"])["deleted_ids"] == [ids["a"]]
    assert client.delete_state(**WHO, namespace=["n"])["deleted_ids"] == [ids["b"], ids["c"]]
    assert keys(client.list_state(**WHO)) == ["d"]


def test_state_is_no_memory_and_what_its_text_tells_can_be(make: Make) -> None:
    client = make()
    client.put_state(**WHO, namespace=["n"], key="a", value={"told": "My dog is called Rex."})
    told = client.put_state(**WHO, namespace=["n"], key="b", value={}, text="I live in Lisbon.", extract=True)
    again = client.put_state(**WHO, namespace=["n"], key="b", value={"n": 1}, text="I live in Porto.", extract=True,
                             replace_derived_facts=True)  # fmt: skip

    assert told["request_id"].startswith("req_")
    assert again["deleted_fact_ids"] == []
    assert [memory.text for memory in client.query("Where do I live with my dog Rex?").memories] == ["I live in Porto."]


def test_bad_state_is_named(make: Make) -> None:
    with pytest.raises(ValidationError, match="namespace_prefix: must have at most 20 entries"):
        make().list_state(**WHO, namespace_prefix=["n"] * 21)
