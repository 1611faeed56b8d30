"""A LangGraph store: ``graph = builder.compile(store=MemsyncStore(Client("alice")))``."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from memsync_adapters.client import MOST_FOUND, MOST_LISTED, Client, Json, State, Steps

Namespace = tuple[str, ...]


class MemsyncStore(BaseStore):
    """Items of one end user; several stores differ by their ``source``.

    The server embeds, so that of ``index`` only ``fields`` counts.  ``ttl`` counts from the last put: reads do not
    extend it, and expired items are never returned.  A query or a filter looks at the 5,000 items changed last.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        *,
        source: str = "langgraph",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__()
        self.client, self.state = client, State(source)
        self.index_config = index
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.client.run(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.client.arun(self._batch(list(ops)))

    def _batch(self, ops: Sequence[Op]) -> Steps[list[Result]]:
        """Reads see the items as they were before the batch; the last put of a key counts."""
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                item = yield from self.state.get(op.namespace, op.key)
                results.append(None if item is None else Item(**_fields(item)))
            elif isinstance(op, SearchOp):
                results.append((yield from self._search(op)))
            elif isinstance(op, ListNamespacesOp):
                results.append((yield from self._namespaces(op)))
            else:
                puts[op.namespace, op.key] = op
                results.append(None)
        yield from self.state.change(
            [self._put(op) for op in puts.values() if op.value is not None],
            [{"namespace": op.namespace, "key": op.key} for op in puts.values() if op.value is None],
        )
        return results

    def _put(self, op: PutOp) -> Json:
        put: Json = {"namespace": op.namespace, "key": op.key, "value": dict(op.value or {})}
        fields = op.index if op.index is not None else (self.index_config or {}).get("fields")
        if op.index is False:
            put["index"] = False
        elif fields and fields != ["$"]:
            texts = [text for path in fields for text in get_text_at_path(op.value, tokenize_path(path))]
            put |= {"text": "\n".join(texts)} if texts else {"index": False}
        if op.ttl is not None:
            if op.ttl <= 0:
                raise ValueError("ttl must be more than 0 minutes.")
            put["ttl_seconds"] = math.ceil(op.ttl * 60)
        return put

    def _search(self, op: SearchOp) -> Steps[list[SearchItem]]:
        options = {"filter": op.filter} if op.filter else {}
        most = MOST_FOUND if op.query else MOST_LISTED
        found: list[Json] = []
        while (left := min(op.limit - len(found), most)) > 0:
            page = options | {"limit": left, "offset": op.offset + len(found)}
            if op.query:
                some = yield from self.state.search(op.query, op.namespace_prefix, **page)
            else:
                some = yield from self.state.find(op.namespace_prefix, **page)
            found += some
            if len(some) < left:
                break
        return [SearchItem(**_fields(item), score=item.get("score")) for item in found]

    def _namespaces(self, op: ListNamespacesOp) -> Steps[list[Namespace]]:
        """The server narrows by what stands before a wildcard; the rest is checked here."""
        conditions = op.match_conditions or ()
        paths = [one.path for one in conditions if one.match_type == "prefix"]
        prefix = max((_literal(path) for path in paths), key=len, default=())
        found = [tuple(one) for one in (yield from self.state.namespaces(prefix=list(prefix)))]
        names = {one[: op.max_depth] for one in found if all(_matches(one, condition) for condition in conditions)}
        return sorted(names)[op.offset : op.offset + op.limit]


def _fields(item: Mapping[str, Any]) -> Json:
    names = ("value", "key", "created_at", "updated_at")
    return {name: item[name] for name in names} | {"namespace": tuple(item["namespace"])}


def _literal(path: Sequence[str]) -> Namespace:
    """The segments before the first wildcard."""
    return tuple(path[: list(path).index("*")] if "*" in path else path)


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", segment) for segment, wanted in zip(part, path, strict=True))
