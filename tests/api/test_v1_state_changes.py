"""Framework state that expires, changes under a condition or in a batch, and is filtered by its values."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.history.models import StateItem
from apps.history.state_filters import MAX_DEPTH, is_filter, matches
from apps.ingest import tasks
from apps.ingest.conversation_sync import purge_expired_state
from apps.ingest.models import DerivedFact
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.api.test_v1_state import get, keys, memories, post, put

pytestmark = pytest.mark.django_db(databases="__all__")


def now() -> datetime:
    return datetime.now(UTC)


def expire(acme: OpenedTenant, key: str, caller: Caller) -> None:
    """Let the item of this key in the namespace n expire now."""
    item = get(caller, ["n"], key)
    with tenant_transaction(acme.scope):
        StateItem.objects.within(acme.scope).filter(pk=int(item["id"][2:])).update(expires_at=now())


# -- expiry ------------------------------------------------------------------------------------------------------------


def test_an_item_names_the_time_when_it_expires(alice: Caller) -> None:
    before = now()

    item = put(alice, ["n"], "k", ttl_seconds=60)["item"]

    assert before <= datetime.fromisoformat(item["expires_at"]) - timedelta(seconds=60) <= now()
    assert get(alice, ["n"], "k") == item
    assert put(alice, ["n"], "other")["item"]["expires_at"] is None


def test_same_value_again_changes_when_it_expires_and_nothing_else(alice: Caller) -> None:
    first = put(alice, ["n"], "k")["item"]

    again = put(alice, ["n"], "k", ttl_seconds=60)
    later = put(alice, ["n"], "k", ttl_seconds=120)["item"]
    never = put(alice, ["n"], "k")["item"]

    assert again["created"] is False
    assert again["item"] | {"expires_at": None} == first == never
    assert later["expires_at"] > again["item"]["expires_at"]
    assert get(alice, ["n"], "k") == first


def test_expired_items_are_shown_nowhere(alice: Caller, acme: OpenedTenant) -> None:
    put(alice, ["n"], "k", text="green tea", ttl_seconds=60)
    expire(acme, "k", alice)

    assert get(alice, ["n"], "k") is None
    assert post(alice, "list") == {"items": [], "total": 0}
    assert post(alice, "list", order="key") == {"items": [], "total": 0}
    assert post(alice, "search", query="green tea") == {"items": [], "total": 0}
    assert post(alice, "search", query="green tea", filter={"n": 1}) == {"items": [], "total": 0}
    assert post(alice, "namespaces") == {"namespaces": [], "total": 0}
    assert post(alice, "delete", namespace=["n"])["deleted_ids"] == []
    assert post(alice, "batch", deletes=[{"namespace": ["n"], "key": "k"}])["deleted_ids"] == []


def test_put_after_expiry_is_a_new_item(alice: Caller, acme: OpenedTenant) -> None:
    first = put(alice, ["n"], "k", ttl_seconds=60)["item"]
    expire(acme, "k", alice)

    answer = put(alice, ["n"], "k", if_version="0")

    assert answer["created"] is True
    assert answer["item"]["created_at"] > first["created_at"]
    assert answer["item"]["version"] != first["version"]
    assert get(alice, ["n"], "k") == answer["item"]


def test_expired_items_are_purged_and_their_memories_stay(alice: Caller, acme: OpenedTenant) -> None:
    put(alice, ["n"], "gone", text="I live in Lisbon.", extract=True, ttl_seconds=60)
    put(alice, ["n"], "later", ttl_seconds=3600)
    put(alice, ["n"], "never")
    expire(acme, "gone", alice)

    first, second = (purge_expired_state(acme.scope, now=now()) for _ in range(2))

    assert (first, second) == (1, 0)
    assert keys(post(alice, "list")) == ["never", "later"]
    assert memories(alice) == ["I live in Lisbon."]
    with tenant_transaction(acme.scope):
        assert StateItem.objects.within(acme.scope).count() == 2
        assert not DerivedFact.objects.within(acme.scope).exists()


def test_the_schedule_purges_every_tenant(alice: Caller, acme: OpenedTenant) -> None:
    put(alice, ["n"], "k", ttl_seconds=60)
    expire(acme, "k", alice)

    tasks.purge_expired_states()

    with tenant_transaction(acme.scope):
        assert not StateItem.objects.within(acme.scope).exists()


# -- conditions --------------------------------------------------------------------------------------------------------


def test_put_under_a_condition(alice: Caller) -> None:
    first = put(alice, ["n"], "k", {"n": 1}, if_version="0")["item"]
    second = put(alice, ["n"], "k", {"n": 2}, if_version=first["version"])["item"]

    def refused(key: str, value: int, version: str) -> Any:
        fields = {"namespace": ["n"], "key": key, "value": {"n": value}, "if_version": version}
        return post(alice, "put", status=409, **fields)["error"]

    error = refused("k", 3, first["version"])
    absent = refused("x", 3, first["version"])
    there = refused("k", 2, "0")

    assert (error["code"], error["version"]) == ("STATE_VERSION_CONFLICT", second["version"])
    assert (absent["version"], there["version"]) == ("0", second["version"])
    assert get(alice, ["n"], "k") == second
    assert get(alice, ["n"], "x") is None


def test_a_version_is_never_used_again(alice: Caller) -> None:
    seen = [put(alice, ["n"], "k", {"n": value})["item"]["version"] for value in (1, 2, 1)]
    post(alice, "delete", namespace=["n"])
    seen.append(put(alice, ["n"], "k", {"n": 1})["item"]["version"])
    same = put(alice, ["n"], "k", {"n": 1}, ttl_seconds=60)["item"]["version"]

    assert len(set(seen)) == 4
    assert same == seen[-1]


# -- batches -----------------------------------------------------------------------------------------------------------


def test_batch_puts_and_deletes(alice: Caller) -> None:
    old = put(alice, ["n"], "old")["item"]
    kept = put(alice, ["n"], "kept")["item"]

    answer = post(
        alice,
        "batch",
        puts=[
            {"namespace": ["n"], "key": "new", "value": {"n": 2}, "text": "green tea", "ttl_seconds": 60},
            {"namespace": ["n"], "key": "kept", "value": {"n": 1}},
        ],
        deletes=[{"namespace": ["n"], "key": "old"}, {"namespace": ["n"], "key": "absent"}],
    )

    new, same = answer["items"]
    assert (new["created"], new["text"], new["expires_at"] is None) == (True, "green tea", False)
    assert same == kept | {"created": False}
    assert (answer["deleted_ids"], answer["status"]) == ([old["id"]], "ok")
    assert set(keys(post(alice, "list"))) == {"new", "kept"}
    assert keys(post(alice, "search", query="green tea"))[0] == "new"


def test_batch_replaces_several_at_once(alice: Caller) -> None:
    before = [put(alice, ["n"], key, {"n": 1})["item"] for key in "abc"]

    puts = [{"namespace": ["n"], "key": key, "value": {"n": 2}} for key in "abc"]
    after = post(alice, "batch", puts=puts)["items"]

    assert [one["id"] for one in after] == [one["id"] for one in before]
    assert [get(alice, ["n"], key)["value"] for key in "abc"] == [{"n": 2}] * 3


def test_batch_is_done_whole_or_not_at_all(alice: Caller) -> None:
    put(alice, ["n"], "k")

    error = post(
        alice,
        "batch",
        status=409,
        puts=[{"namespace": ["n"], "key": "first", "value": {"n": 1}}],
        deletes=[{"namespace": ["n"], "key": "k", "if_version": "7.7"}],
    )["error"]

    assert (error["code"], error["index"]) == ("STATE_VERSION_CONFLICT", 1)
    assert keys(post(alice, "list")) == ["k"]


def test_deleting_in_a_batch_takes_the_links_of_its_memories(alice: Caller, acme: OpenedTenant) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=now())
    put(alice, ["n"], "k", text="I live in Lisbon.", extract=True)

    post(alice, "batch", deletes=[{"namespace": ["n"], "key": "k"}])

    assert memories(alice) == ["I live in Lisbon."]
    with tenant_transaction(acme.scope):
        assert not DerivedFact.objects.within(acme.scope).exists()


PUT = {"namespace": ["n"], "key": "k", "value": {"n": 1}}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"puts": [], "deletes": []},
        {"puts": [PUT], "deletes": [{"namespace": ["n"], "key": "k"}]},
        {"puts": [PUT, PUT]},
        {"puts": [PUT | {"key": str(number)} for number in range(101)]},
        {"puts": [PUT | {"extract": True}]},
        {"puts": [PUT | {"source": "other"}]},
        {"puts": [PUT | {"ttl_seconds": 0}]},
        {"puts": [{"namespace": ["n"], "key": "k"}]},
        {"puts": PUT},
        {"deletes": [{"namespace": ["n"]}]},
        {"deletes": [{"namespace": ["n"], "key": "k", "if_version": None}]},
        {"puts": [PUT], "gets": []},
    ],
)
def test_bad_batch_changes_nothing(fields: dict[str, Any], alice: Caller) -> None:
    put(alice, ["n"], "there")

    post(alice, "batch", status=422, **fields)

    assert keys(post(alice, "list")) == ["there"]


def test_batch_is_of_one_owner(alice: Caller, globex: OpenedTenant) -> None:
    put(alice, ["n"], "k", {"mine": 1})

    post(alice, "batch", user_id="bob", puts=[PUT])
    post(alice, "batch", user_id="bob", deletes=[{"namespace": ["n"], "key": "k"}])

    assert get(alice, ["n"], "k")["value"] == {"mine": 1}
    assert get(alice, ["n"], "k", user_id="bob") is None


# -- filters, orders, suffixes -----------------------------------------------------------------------------------------


def test_list_has_an_order(alice: Caller) -> None:
    for key in ("b", "c", "a"):
        put(alice, ["n"], key, {"n": 1})
    put(alice, ["n"], "b", {"n": 2})

    found = {order: keys(post(alice, "list", order=order)) for order in
             ("-updated_at", "updated_at", "-created_at", "created_at", "-key", "key")}  # fmt: skip

    assert found == {
        "-updated_at": ["b", "a", "c"],
        "updated_at": ["c", "a", "b"],
        "-created_at": ["a", "c", "b"],
        "created_at": ["b", "c", "a"],
        "-key": ["c", "b", "a"],
        "key": ["a", "b", "c"],
    }
    page = post(alice, "list", order="-key", limit=1, offset=1)
    assert (keys(page), page["total"]) == (["b"], 3)


def test_list_and_search_filter_by_values(alice: Caller) -> None:
    for number, color in enumerate(("red", "blue", "red")):
        put(alice, ["n"], str(number), {"color": color, "size": number}, text="a box")

    red = post(alice, "list", filter={"color": "red"})
    assert (keys(red), red["total"]) == (["2", "0"], 2)
    assert keys(post(alice, "list", filter={"color": "red", "size": {"$gt": 0}})) == ["2"]
    page = post(alice, "list", filter={"color": "red"}, order="created_at", limit=1, offset=1)
    assert (keys(page), page["total"]) == (["2"], 2)
    assert keys(post(alice, "list", filter={"color": "green"})) == []
    assert set(keys(post(alice, "list", filter={}))) == {"0", "1", "2"}
    assert keys(post(alice, "search", query="box", filter={"size": {"$lte": 1}, "color": {"$ne": "red"}})) == ["1"]


@pytest.mark.parametrize(
    ("wanted", "is_match"),
    [
        ({"n": 1}, True),
        ({"n": 1.0}, True),
        ({"n": True}, False),
        ({"t": True}, True),
        ({"n": {"$eq": 1}}, True),
        ({"n": {"$ne": 1}}, False),
        ({"n": {"$gt": 0, "$lt": 2}}, True),
        ({"n": {"$gte": 2}}, False),
        ({"n": {"$gt": "0"}}, False),
        ({"s": {"$gt": "a"}}, True),
        ({"t": {"$gte": 0}}, False),
        ({"absent": None}, True),
        ({"absent": {"$ne": 1}}, True),
        ({"absent": {"$lt": 1}}, False),
        ({"deep": {"er": {"$eq": "x"}}}, True),
        ({"deep": {"er": "y"}}, False),
        ({"deep": {}}, True),
        ({"n": {}}, False),
        ({"l": [1, {"a": 2}]}, True),
        ({"l": [1]}, False),
        ({"l": {"$eq": [1, {"a": 2}]}}, True),
    ],
)
def test_filters_compare_as_json(wanted: dict[str, Any], is_match: bool) -> None:
    value = {"n": 1, "t": True, "s": "b", "deep": {"er": "x"}, "l": [1, {"a": 2}]}

    assert is_filter(wanted)
    assert matches(value, wanted) is is_match


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth else 1


@pytest.mark.parametrize(
    "where", [{"$gt": 1}, {"n": {"$in": [1]}}, {"n": {"$gt": 1, "x": 2}}, nested(MAX_DEPTH + 2), [], "n"]
)
def test_bad_filter_is_refused(where: Any, alice: Caller) -> None:
    post(alice, "list", status=422, filter=where)
    post(alice, "search", status=422, query="x", filter=where)


def test_namespaces_by_their_end(alice: Caller) -> None:
    for namespace in (["a", "x"], ["b", "x"], ["a", "y"], ["x"], ["a", "b", "x"]):
        put(alice, namespace, "k")

    assert post(alice, "namespaces", suffix=["x"])["namespaces"] == [["a", "b", "x"], ["a", "x"], ["b", "x"], ["x"]]
    assert post(alice, "namespaces", suffix=["b", "x"])["namespaces"] == [["a", "b", "x"], ["b", "x"]]
    assert post(alice, "namespaces", suffix=["x"], prefix=["a"], max_depth=1) == {"namespaces": [["a"]], "total": 1}


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("put", PUT | {"ttl_seconds": 0}),
        ("put", PUT | {"ttl_seconds": 1.5}),
        ("put", PUT | {"ttl_seconds": None}),
        ("put", PUT | {"if_version": None}),
        ("put", PUT | {"if_version": ""}),
        ("put", PUT | {"if_version": 1}),
        ("put", PUT | {"if_version": "one"}),
        ("put", PUT | {"expires_at": "2027-01-01"}),
        ("get", {"namespace": ["n"], "key": "k", "if_version": "0"}),
        ("list", {"order": "size"}),
        ("list", {"prefix": ["n"]}),
        ("search", {"query": "x", "order": "key"}),
        ("namespaces", {"namespace_prefix": ["n"]}),
        ("namespaces", {"suffix": "x"}),
    ],
)  # fmt: skip
def test_bad_or_unknown_fields_are_refused(what: str, fields: dict[str, Any], alice: Caller) -> None:
    post(alice, what, status=422, **fields)

    assert keys(post(alice, "list")) == []
