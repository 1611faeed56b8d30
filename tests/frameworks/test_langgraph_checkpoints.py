"""MemsyncSaver against LangGraph's conformance suite."""

from collections.abc import AsyncIterator
from typing import Any, TypedDict

import pytest

from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import WaitFor, installed

installed("langgraph.checkpoint.conformance", "langgraph.graph")

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
