"""MemsyncSaver against LangGraph's conformance suite."""

from collections.abc import AsyncIterator
from typing import Any, TypedDict

import pytest

from apps.history import state_queries
from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import WaitFor, installed

installed("langgraph.checkpoint.conformance", "langgraph.graph")

from langgraph.checkpoint.base import empty_checkpoint  # noqa: E402
from langgraph.checkpoint.conformance import checkpointer_test, validate  # noqa: E402
from langgraph.graph import END, START, StateGraph  # noqa: E402

from memsync_adapters import Client  # noqa: E402
from memsync_adapters.langgraph_checkpoints import MemsyncSaver  # noqa: E402

pytestmark = pytest.mark.e2e


def test_conformance_is_full(make_client: MakeClient, wait_for: WaitFor) -> None:
    @checkpointer_test(name="memsync")  # type: ignore[untyped-decorator]
    async def saver() -> AsyncIterator[MemsyncSaver]:
        yield MemsyncSaver(make_client())

    report = wait_for(validate(saver))

    failures = {name: one.failures for name, one in report.results.items() if one.failures}
    assert failures == {}
    assert (report.passed_all_base(), report.conformance_level()) == (True, "FULL")
    assert sorted(report.results) == [
        "copy_thread", "delete_for_runs", "delete_thread", "get_tuple", "list", "prune", "put", "put_writes",
    ]  # fmt: skip
    assert all(one.passed for one in report.results.values())


class Count(TypedDict):
    n: int


def counting(saver: MemsyncSaver) -> Any:
    graph = StateGraph(Count)
    graph.add_node("count", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "count")
    graph.add_edge("count", END)
    return graph.compile(checkpointer=saver)


def test_graph_goes_on_where_it_was(client: Client, make_client: MakeClient) -> None:
    config = {"configurable": {"thread_id": "t1"}}
    counting(MemsyncSaver(client)).invoke({"n": 1}, config)

    later = counting(MemsyncSaver(make_client(client.user_id)))

    assert later.get_state(config).values == {"n": 2}
    assert next(later.get_state_history(config)).values == {"n": 2}
    assert counting(MemsyncSaver(make_client())).get_state(config).values == {}


def test_graph_runs_asynchronously(client: Client, wait_for: WaitFor) -> None:
    config = {"configurable": {"thread_id": "t1"}}

    async def work() -> Any:
        graph = counting(MemsyncSaver(client))
        await graph.ainvoke({"n": 1}, config)
        return (await graph.aget_state(config)).values

    assert wait_for(work()) == {"n": 2}


def put(saver: MemsyncSaver, *, thread: str = "t1", checkpoint: Any = None, run: str = "") -> str:
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    done = saver.put(config, checkpoint or empty_checkpoint(), {"run_id": run} if run else {}, {})
    return str(done["configurable"]["checkpoint_id"])


def ids(saver: MemsyncSaver, thread: str, **options: Any) -> list[str]:
    found = saver.list({"configurable": {"thread_id": thread}}, **options)
    return [one.config["configurable"]["checkpoint_id"] for one in found]


@pytest.mark.django_db(databases="__all__")
def test_latest_checkpoint_is_that_with_the_last_id_in_whatever_order_they_were_put(of_acme: Client) -> None:
    saver, checkpoints = MemsyncSaver(of_acme), [empty_checkpoint() for _ in range(3)]
    oldest, middle, latest = (one["id"] for one in checkpoints)

    for one in reversed(checkpoints):
        put(saver, checkpoint=one)

    found = saver.get_tuple({"configurable": {"thread_id": "t1"}})
    assert found is not None
    assert found.checkpoint["id"] == latest
    assert ids(saver, "t1") == [latest, middle, oldest]
    assert ids(saver, "t1", limit=2) == [latest, middle]
    saver.prune(["t1"])
    assert ids(saver, "t1") == [latest]


@pytest.mark.django_db(databases="__all__")
def test_checkpoints_of_a_run_are_deleted_however_many_items_there_are(
    of_acme: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = MemsyncSaver(of_acme)
    monkeypatch.setattr(state_queries, "SEARCHED", 1)
    put(saver, run="gone")
    put(saver, thread="t2", run="too")
    kept = put(saver, thread="t2", run="kept")

    saver.delete_for_runs(["gone", "too"])

    monkeypatch.undo()
    assert (ids(saver, "t1"), ids(saver, "t2")) == ([], [kept])


@pytest.mark.django_db(databases="__all__")
def test_unknown_strategy_of_pruning_is_refused(of_acme: Client) -> None:
    saver = MemsyncSaver(of_acme)
    kept = {put(saver), put(saver)}

    with pytest.raises(ValueError, match="keep_latest, delete"):
        saver.prune(["t1"], strategy="bogus")

    assert set(ids(saver, "t1")) == kept
