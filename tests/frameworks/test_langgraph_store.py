"""MemsyncStore against the tests of LangGraph's own stores."""

import inspect

import pytest

from tests.frameworks.conftest import MakeClient, WaitFor
from tests.frameworks.judges import installed, published

installed("langgraph", "psycopg_pool", "pytest_mock")

from memsync_adapters.langgraph_store import MemsyncStore  # noqa: E402

pytestmark = pytest.mark.e2e

of_postgres = published("langgraph_checkpoint_postgres", "tests.test_store")
of_memory = published("langgraph_checkpoint", "tests.test_store")

# Of all their tests of a store.  The others construct vector stores with given embeddings, judge PostgreSQL's SQL, its
# expiry or the base class, or need no store.
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
    getattr(of_postgres, name)(store)


@pytest.mark.parametrize("name", OF_A_NEW_STORE)
def test_memory_stores_tests(
    name: str, make_client: MakeClient, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_memory, "InMemoryStore", lambda **_: MemsyncStore(make_client()))

    outcome = getattr(of_memory, name)()

    if inspect.iscoroutine(outcome):
        wait_for(outcome)
