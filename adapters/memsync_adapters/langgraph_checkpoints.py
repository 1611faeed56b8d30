"""A LangGraph checkpointer: ``graph = builder.compile(checkpointer=MemsyncSaver(Client("alice")))``.

A checkpoint is an item under (thread, "/" + checkpoint namespace, "checkpoints"), each write of a task one under
(thread, "/" + checkpoint namespace, "writes", checkpoint); none of them is embedded.
"""

import base64
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from memsync_adapters.client import MOST_LISTED, PAGE, Client, Json, MemsyncError, State, Steps

CHECKPOINTS: Final = "checkpoints"
WRITES: Final = "writes"
STRATEGIES: Final = ("keep_latest", "delete")  # of prune

Place = list[str]  # of a checkpoint namespace in a thread
# The class has a method named list.
Places = list[Place]
Items = list[Json]
Dumped = list[str]  # a kind, and base64
Tuples = list[CheckpointTuple]


class MemsyncSaver(BaseCheckpointSaver[int]):
    """Checkpoints of the threads of one end user.  A checkpoint may take about 3 MB."""

    def __init__(
        self, client: Client, *, source: str = "langgraph-checkpoints", serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(serde=serde)
        self.client, self.state = client, State(source)

    # -- blocking, and not -----------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.client.run(self._get(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.client.arun(self._get(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        yield from self.client.run(self._list(config, filter or {}, before, limit))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for one in await self.client.arun(self._list(config, filter or {}, before, limit)):
            yield one

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.client.run(self._put(config, checkpoint, metadata))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self.client.arun(self._put(config, checkpoint, metadata))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.client.run(self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self.client.arun(self._put_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self.client.run(self.state.delete_below([str(thread_id)]))

    async def adelete_thread(self, thread_id: str) -> None:
        await self.client.arun(self.state.delete_below([str(thread_id)]))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.client.run(self._delete_for_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self.client.arun(self._delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.client.run(self._copy_thread(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self.client.arun(self._copy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.client.run(self._prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self.client.arun(self._prune(thread_ids, strategy))

    # -- operations ------------------------------------------------------------------------------------------------

    def _get(self, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        place = _place(config)
        if checkpoint_id := get_checkpoint_id(config):
            item = yield from self.state.get([*place, CHECKPOINTS], checkpoint_id)
        else:
            newest = yield from self._newest_first(place, 1)
            item = newest[0] if newest else None
        if item is None:
            return None
        writes = yield from self.state.find([*place, WRITES, item["key"]], limit=MOST_LISTED)
        return self._opened(place, item, writes)

    def _list(
        self, config: RunnableConfig | None, where: Mapping[str, Any], before: RunnableConfig | None, limit: int | None
    ) -> Steps[Tuples]:
        asked: Json = config["configurable"] if config else {}
        only, end = asked.get("checkpoint_id"), get_checkpoint_id(before) if before else None
        found: Tuples = []
        most = limit if not (where or only or end) else None
        for place in (yield from self._places(asked)):
            for item in (yield from self._newest_first(place, most)):
                if (only and item["key"] != only) or (end and item["key"] >= end):
                    continue
                metadata = self._loads(item["value"]["metadata"])
                if any(metadata.get(name) != wanted for name, wanted in where.items()):
                    continue
                if limit is not None and len(found) >= limit:
                    return found
                writes = yield from self.state.find([*place, WRITES, item["key"]], limit=MOST_LISTED)
                found.append(self._opened(place, item, writes))
        return found

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> Steps[RunnableConfig]:
        place = _place(config)
        told: Mapping[str, Any] = get_checkpoint_metadata(config, metadata)
        value = {
            "checkpoint": self._dumps(checkpoint),
            "metadata": self._dumps(told),
            "parent": get_checkpoint_id(config),
            "run": told.get("run_id"),
        }
        yield from self.state.put([*place, CHECKPOINTS], checkpoint["id"], value, index=False)
        return _config(place, checkpoint["id"])

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Steps[None]:
        """A write that is stored already stays; special ones, such as errors and interrupts, are replaced."""
        namespace = [*_place(config), WRITES, config["configurable"]["checkpoint_id"]]
        puts: Items = []
        for at, (channel, written) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, at)
            value = {
                "task": task_id, "path": task_path, "index": index, "channel": channel, "value": self._dumps(written),
            }  # fmt: skip
            put = {"namespace": namespace, "key": f"{task_id}:{index}", "value": value, "index": False}
            puts.append(put if index < 0 else put | {"if_version": "0"})
        for start in range(0, len(puts), PAGE):
            yield from self._put_absent(puts[start : start + PAGE])

    def _put_absent(self, puts: Sequence[Json]) -> Steps[None]:
        left = list(puts)
        while left:
            try:
                yield from self.state.swap(left, [])
            except MemsyncError as error:
                if not error.is_conflict:
                    raise
                del left[error.error["index"]]
            else:
                return

    def _delete_for_runs(self, run_ids: Sequence[str]) -> Steps[None]:
        for place in (yield from self._places({})):
            for item in (yield from self.state.find_all([*place, CHECKPOINTS])):
                if item["value"]["run"] in run_ids:
                    yield from self._delete(item)

    def _delete(self, item: Json) -> Steps[None]:
        """Delete a checkpoint and its writes."""
        yield from self.state.delete([*item["namespace"][:2], WRITES, item["key"]])
        yield from self.state.delete(item["namespace"], [item["key"]])

    def _copy_thread(self, source: str, target: str) -> Steps[None]:
        items = yield from self.state.find_all([str(source)])
        places = ({"namespace": [str(target), *item["namespace"][1:]], "key": item["key"]} for item in items)
        values = ({"value": item["value"], "index": False} for item in items)
        yield from self.state.change([place | value for place, value in zip(places, values, strict=True)])

    def _prune(self, thread_ids: Sequence[str], strategy: str) -> Steps[None]:
        """Channels that keep deltas need their ancestors: do not prune threads that have any."""
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}.")
        for thread_id in thread_ids:
            if strategy == "delete":
                yield from self.state.delete_below([str(thread_id)])
                continue
            for place in (yield from self._places({"thread_id": thread_id})):
                for item in (yield from self._newest_first(place))[1:]:
                    yield from self._delete(item)

    # -- parts -----------------------------------------------------------------------------------------------------

    def _places(self, asked: Mapping[str, Any]) -> Steps[Places]:
        """The checkpoint namespaces that a config names: one, those of a thread, or all."""
        prefix = [str(asked["thread_id"])] if "thread_id" in asked else []
        if prefix and asked.get("checkpoint_ns") is not None:
            return [[*prefix, f"/{asked['checkpoint_ns']}"]]
        names = yield from self.state.namespaces(prefix=prefix, suffix=[CHECKPOINTS])
        return [name[:2] for name in names]

    def _newest_first(self, place: Place, most: int | None = None) -> Steps[Items]:
        """Checkpoints by their ids, which sort by time.  most: of the 5,000 stored last, so many."""
        if most is not None and most <= PAGE:
            return (yield from self.state.find([*place, CHECKPOINTS], order="-key", limit=max(most, 1)))
        items = yield from self.state.find_all([*place, CHECKPOINTS])
        return sorted(items, key=lambda item: str(item["key"]), reverse=True)

    def _opened(self, place: Place, item: Json, writes: Sequence[Json]) -> CheckpointTuple:
        value, parent = item["value"], item["value"]["parent"]
        written = [one["value"] for one in writes]
        written.sort(key=lambda one: writes_sort_key(one["path"], one["task"], one["index"]))
        return CheckpointTuple(
            config=_config(place, item["key"]),
            checkpoint=self._loads(value["checkpoint"]),
            metadata=self._loads(value["metadata"]),
            parent_config=_config(place, parent) if parent else None,
            pending_writes=[(one["task"], one["channel"], self._loads(one["value"])) for one in written],
        )

    def _dumps(self, value: Any) -> Dumped:
        kind, data = self.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode()]

    def _loads(self, dumped: Dumped) -> Any:
        kind, data = dumped
        return self.serde.loads_typed((kind, base64.b64decode(data)))


def _place(config: RunnableConfig) -> Place:
    asked = config["configurable"]
    return [str(asked["thread_id"]), f"/{asked.get('checkpoint_ns', '')}"]


def _config(place: Place, checkpoint_id: str) -> RunnableConfig:
    asked = {"thread_id": place[0], "checkpoint_ns": place[1][1:], "checkpoint_id": checkpoint_id}
    return {"configurable": asked}
