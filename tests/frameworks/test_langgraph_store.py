"""MemsyncStore against the tests of LangGraph's own stores."""

import pytest

from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import WaitFor, assert_passes, installed, published

installed("langgraph", "psycopg_pool", "pytest_mock")

from langgraph.store.base import GetOp, PutOp  # noqa: E402

from memsync_adapters import Client  # noqa: E402
from memsync_adapters.langgraph_store import MemsyncStore  # noqa: E402

pytestmark = pytest.mark.e2e

of_postgres = published("langgraph_checkpoint_postgres", "tests.test_store")
of_memory = published("langgraph_checkpoint", "tests.test_store")

# Of all their tests of a store.  The others construct vector stores with given embeddings, write PostgreSQL's tables or
# judge the base class.  test_store_ttl fails: it wants reads to extend the time to live.
WITH_A_STORE = [
    "test_batch_order",
    "test_batch_get_ops",
    "test_batch_put_ops",
    "test_batch_search_ops",
    "test_batch_list_namespaces_ops",
    "test_basic_store_ops",
    "test_list_namespaces",
    "test_search_namespace_segment_boundary",
    "test_search_empty_prefix_is_unconstrained",
    "test_search_namespace_like_metacharacters",
    "test_list_namespaces_segment_boundary",
    "test_search",
    "test_namespace_labels_with_trailing_newline",
    "test_batch_allows_empty_search_prefix_and_listing_wildcards",
]
OF_A_NEW_STORE = [
    "test_list_namespaces_basic",
    "test_list_namespaces_with_wildcards",
    "test_list_namespaces_pagination",
    "test_list_namespaces_max_depth",
    "test_list_namespaces_no_conditions",
    "test_search_pages_match_full_listing",
    "test_list_namespaces_empty_store",
    "test_cannot_put_empty_namespace",
    "test_search_and_listing_keep_empty_prefixes_and_wildcards",
]


@pytest.fixture
def store(make_client: MakeClient) -> MemsyncStore:
    return MemsyncStore(make_client())


@pytest.mark.parametrize("name", WITH_A_STORE)
def test_postgres_stores_tests(name: str, store: MemsyncStore) -> None:
    assert_passes(getattr(of_postgres, name), store)


@pytest.mark.parametrize("name", OF_A_NEW_STORE)
def test_memory_stores_tests(
    name: str, make_client: MakeClient, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_memory, "InMemoryStore", lambda **_: MemsyncStore(make_client()))

    assert_passes(getattr(of_memory, name), wait_for=wait_for)


@pytest.mark.parametrize("kind", ["get", "put", "delete", "search", "list_prefix", "list_suffix"])
def test_postgres_stores_test_of_invalid_namespaces(kind: str, store: MemsyncStore) -> None:
    for namespace in (("foo.bar",), ("foo", ""), ("foo", 1)):
        assert_passes(of_postgres.test_batch_rejects_invalid_namespace_labels, store, namespace, kind)


def test_values_are_searched_by_the_fields_that_are_named(make_client: MakeClient) -> None:
    store = MemsyncStore(make_client(), index={"fields": ["text"]})  # type: ignore[typeddict-item]
    store.put(("n",), "tea", {"text": "I drink green tea.", "other": "bicycle"})
    store.put(("n",), "bike", {"text": "The bicycle needs a chain."})
    store.put(("n",), "none", {"text": "Green tea again."}, index=False)
    store.put(("n",), "other", {"text": "Nothing.", "other": "a bicycle"}, index=["other"])

    found = {item.key: item.score for item in store.search(("n",), query="bicycle")}

    assert found["bike"] > found["tea"]
    assert found["other"] > found["tea"]
    assert store.search(("n",), query="bicycle", limit=1, offset=1)[0].key in ("bike", "other")


def test_items_expire(make_client: MakeClient) -> None:
    client = make_client()
    store = MemsyncStore(client, ttl={"default_ttl": 30})

    store.put(("n",), "k", {"a": 1})
    store.put(("n",), "soon", {"a": 1}, ttl=0.001)
    store.put(("n",), "never", {"a": 1}, ttl=None)

    times = {item["key"]: item["expires_at"] for item in client.run(store.state.find())}
    assert times["never"] is None
    assert times["k"] > times["soon"]


def test_last_put_of_a_batch_counts_and_reads_come_before(store: MemsyncStore) -> None:
    store.put(("n",), "k", {"v": 0})

    results = store.batch(
        [PutOp(("n",), "k", {"v": 1}), GetOp(("n",), "k"), PutOp(("n",), "k", {"v": 2}), PutOp(("n",), "x", None)]
    )

    assert (results[0], results[2], results[3]) == (None, None, None)
    assert results[1].value == {"v": 0}  # type: ignore[union-attr]
    found = store.get(("n",), "k")
    assert found is not None
    assert found.value == {"v": 2}


@pytest.mark.django_db(databases="__all__")
def test_a_search_returns_as_many_items_as_were_asked_for(of_acme: Client) -> None:
    store = MemsyncStore(of_acme)
    store.batch([PutOp(("n",), f"{number:03}", {"text": "tea"}, index=False) for number in range(120)])

    found = [item.key for item in store.search(("n",), query="tea", limit=110)]
    rest = [item.key for item in store.search(("n",), query="tea", limit=20, offset=110)]

    assert (len(found), len(rest)) == (110, 10)
    assert len({*found, *rest}) == 120
    assert store.search(("n",), limit=0) == store.search(("n",), query="tea", limit=0) == []


@pytest.mark.django_db(databases="__all__")
def test_a_time_to_live_that_is_over_is_refused(of_acme: Client) -> None:
    store = MemsyncStore(of_acme)

    with pytest.raises(ValueError, match="more than 0"):
        store.put(("n",), "k", {"a": 1}, ttl=-1)

    assert store.get(("n",), "k") is None
