"""Latency of a tool call over MCP, beside the same call of its REST route in the same run."""

import statistics
import time
from typing import Any, Final

from benchmarks.instance import Instance
from benchmarks.latency import Caller

MCP: Final = "/v1/mcp"
ROWS: Final = 300
BATCH: Final = 50
WARM_UP: Final = 10  # calls of each
QUESTIONS: Final = ("Who repaired a boat?", "What was sold last winter?", "Where is the old map?", "Who has a violin?")
CLAIMS: Final = ("repaired a wooden boat", "sold seven red chairs", "inherited an old map", "borrowed two violins")


def run(running: Instance, *, runs: int) -> dict[str, Any]:
    """Milliseconds (p50, p95) of a search and of a read by id, each way, in turns; and the ratios of the p50."""
    caller = Caller(running)
    items = [{"text": f"Neighbour {one} {CLAIMS[one % 4]} on day {one}.", "importance": 0.6} for one in range(ROWS)]
    for start in range(0, ROWS, BATCH):
        caller.post("/memory/bulk-add", {"items": items[start : start + BATCH]})
    memory_id = caller.post("/memory/query", {"query": QUESTIONS[0]})["memories"][0]["id"]

    def search_rest(turn: int) -> None:
        caller.post("/memory/query", {"query": QUESTIONS[turn % 4], "k": 5, "explain": False})

    def search_tool(turn: int) -> None:
        _call(caller, "search_memory", {"query": QUESTIONS[turn % 4], "limit": 5})

    def read_rest(turn: int) -> None:
        caller.get(f"/memory/{memory_id}")

    def read_tool(turn: int) -> None:
        _call(caller, "get_memory", {"id": f"m_{memory_id}"})

    taken: dict[str, list[float]] = {}
    ways = {"search, REST": search_rest, "search, MCP": search_tool, "read, REST": read_rest, "read, MCP": read_tool}
    for turn in range(-WARM_UP, runs):
        for name, way in ways.items():
            started = time.perf_counter()
            way(turn)
            if turn >= 0:
                taken.setdefault(name, []).append((time.perf_counter() - started) * 1000)
    figures = {name: (statistics.median(times), statistics.quantiles(times, n=20)[-1]) for name, times in taken.items()}
    ratios = {
        f"{what}, MCP / REST": figures[f"{what}, MCP"][0] / figures[f"{what}, REST"][0] for what in ("search", "read")
    }
    return {"milliseconds": figures, "ratios": ratios}


def _call(caller: Caller, tool: str, arguments: dict[str, Any]) -> None:
    params = {"name": tool, "arguments": arguments}
    answer = caller.post(MCP, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    if answer["result"]["isError"]:
        raise RuntimeError(f"{tool} answered {answer['result']}")
