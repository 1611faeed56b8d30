"""Latency of a typed add with a vector and a replaced memory, over HTTP and in process, beside a bare transaction.

The bare transaction runs the same statements that write, with ids of its own, prepared and in one pipeline: what any
service with these tables would need at least.
"""

import itertools
import random
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import orjson
from django.db import connection

from apps.core.plaintext import Plaintext
from apps.core.prepared_sql import pipelined, prepared_cursor
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.ingest.typed import write_typed
from apps.memories.spaces import hold_space, name_in_namespace
from apps.memories.typed import TypedMemory, canonical_json
from apps.projects.scope import Scope
from apps.projects.system import find_tenant_scope
from benchmarks.instance import Instance
from benchmarks.latency import Caller, measure, scope_of

NAMESPACE, PROFILE = "benchmark", "typed"
PATH: Final = f"/v1/memory/{NAMESPACE}/{PROFILE}/memories"
DIMENSIONS: Final = 384
TOPICS: Final = 200
WARM_UP: Final = 5  # calls that ``measure`` makes before it measures
SEQUENCES: Final = {"memories_memory": "memories_memory_id_seq", "memories_memoryclaim": "memories_memoryclaim_id_seq"}

Statement = tuple[str, list[Any]]


def run(running: Instance, *, runs: int) -> dict[str, Any]:
    """Milliseconds (p50, p95), and the ratio of the service to the bare transaction."""
    caller, made = Caller(running), bodies()
    for _ in range(2 * TOPICS):
        caller.post(PATH, next(made))
    over_http = measure(lambda turn: caller.post(PATH, next(made)), runs)
    owner = _owner(running)
    base = replace(scope_of(running, owner), spaces=())
    memories = [typed_of(next(made)) for _ in range(runs)]
    inside = measure(lambda turn: _write(base, owner, memories[turn]), runs)
    bare = bare_writes(running, base, typed_of(next(made)), runs=runs)
    return {
        "milliseconds": {"typed add over HTTP": over_http, "in process": inside, "bare transaction": bare},
        "ratios": {"in process / bare transaction": inside[0] / bare[0]},
    }


def bodies() -> Iterator[dict[str, Any]]:
    """An endless sequence of requests: each replaces an earlier memory of its topic."""
    chosen = np.random.default_rng(7)
    for number in itertools.count():
        vector = chosen.normal(size=DIMENSIONS).round(6).tolist()
        yield {
            "memories": [
                {
                    "type": "fact",
                    "topic_key": f"user.topic_{number % TOPICS}",
                    "summary": f"note {number} about the garden fence",
                    "content": {"value": number},
                    "keywords": "garden fence",
                    "embedding": vector,
                }
            ]
        }


def typed_of(body: dict[str, Any]) -> TypedMemory:
    (one,) = body["memories"]
    vector = np.asarray(one["embedding"], dtype=np.float32)
    return TypedMemory(
        type=one["type"],
        topic_key=one["topic_key"],
        summary=Plaintext(one["summary"]),
        content=Plaintext(canonical_json(one["content"])),
        keywords=Plaintext(one["keywords"]),
        vector=vector / np.linalg.norm(vector),
    )


def bare_writes(running: Instance, base: Scope, memory: TypedMemory, *, runs: int) -> tuple[float, float]:
    """Milliseconds (p50, p95) of a transaction that locks the space and runs the writes of one typed add."""
    heard: list[Statement] = []

    def hear(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if " ".join(str(sql).split()).lower().startswith(("insert", "update", "select audit_record")):
            heard.append((str(sql), list(params)))
        return execute(sql, params, many, context)

    owner = _owner(running)
    with connection.execute_wrapper(hear):
        _write(base, owner, memory)
    scope = scope_of(running, owner)
    with tenant_transaction(scope):
        every = [
            _anew(heard, {table: reserve_ids(1, sequence=name)[0] for table, name in SEQUENCES.items()})
            for _ in range(runs + WARM_UP)
        ]

    def transact(turn: int) -> None:
        with tenant_transaction(scope, is_planned=True):
            hold_space(scope)
            with pipelined(), prepared_cursor() as cursor:
                for sql, params in every.pop():
                    cursor.execute(sql, params)

    return measure(transact, runs)


def _anew(heard: list[Statement], ids: dict[str, int]) -> list[Statement]:
    """The same statements for new rows: ids by table, of rows that name their own."""
    rows = [orjson.loads(params[0]) for sql, params in heard if sql.startswith("insert") and isinstance(params[0], str)]
    memory_id = next(row["id"] for found in rows for row in found if "public_id" in row)

    def row_of(row: dict[str, Any], table: str) -> dict[str, Any]:
        changed = {name: ids["memories_memory"] if value == memory_id else value for name, value in row.items()}
        if "id" in row:
            changed["id"] = ids[table]
        if "public_id" in row:
            changed |= {"public_id": f"mem_{random.getrandbits(128):032x}", "slot": None}
        if "vector_id" in row:
            changed["vector_id"] = str(uuid.uuid4())
        return changed

    made: list[Statement] = []
    for sql, params in heard:
        if sql.startswith("insert") and isinstance(params[0], str):
            table = sql.split()[2]
            made.append((sql, [orjson.dumps([row_of(row, table) for row in orjson.loads(params[0])]).decode()]))
        else:
            made.append((sql, [_value(one, memory_id, ids["memories_memory"]) for one in params]))
    return made


def _value(value: Any, old: int, new: int) -> Any:
    if isinstance(value, list):
        return [_value(one, old, new) for one in value]
    return new if value == old and isinstance(value, int) else value


def _write(base: Scope, owner: str, memory: TypedMemory) -> None:
    write_typed(base, owner, [memory], now=datetime.now(UTC))


def _owner(running: Instance) -> str:
    return name_in_namespace(find_tenant_scope(running.tenant), NAMESPACE, PROFILE)
