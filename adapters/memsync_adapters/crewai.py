"""A storage of CrewAI's memory: ``Memory(storage=MemsyncStorage(Client("alice")))``.

A record is an item under the segments of its scope.  CrewAI makes the vectors; they are kept in the encrypted value and
compared here.
"""

import base64
import math
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from crewai.memory.types import MemoryRecord, ScopeInfo

from memsync_adapters.client import Client, Json, State, Steps, place_of

ROOT: Final = "scopes"

Test = Callable[[MemoryRecord], bool]


class MemsyncStorage:
    """The records of one end user."""

    def __init__(self, client: Client, *, source: str = "crewai") -> None:
        self.client, self.state = client, State(source)

    def save(self, records: list[MemoryRecord]) -> None:
        self.client.run(self._save(records))

    def update(self, record: MemoryRecord) -> None:
        self.client.run(self._save([record]))

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        records = self.client.run(self._records(scope_prefix, _test(categories, metadata_filter)))
        return _ranked(records, query_embedding, limit, min_score)

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        return self.client.run(self._delete(scope_prefix, _test(categories, metadata_filter, record_ids, older_than)))

    def get_record(self, record_id: str) -> MemoryRecord | None:
        return next(iter(self.client.run(self._records(None, _test(record_ids=[record_id])))), None)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        records = self.client.run(self._records(scope_prefix))
        return sorted(records, key=_made, reverse=True)[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        records = self.client.run(self._records(scope))
        times = sorted(_made(record) for record in records)
        return ScopeInfo(
            path=_path(_segments(scope)),
            record_count=len(records),
            categories=sorted({one for record in records for one in record.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=_children(records, scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        return _children(self.client.run(self._records(parent)), parent)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        records = self.client.run(self._records(scope_prefix))
        return dict(Counter(one for record in records for one in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        return len(self.client.run(self._records(scope_prefix)))

    def reset(self, scope_prefix: str | None = None) -> None:
        self.client.run(self.state.delete_below([ROOT, *_segments(scope_prefix)]))

    async def asave(self, records: list[MemoryRecord]) -> None:
        await self.client.arun(self._save(records))

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        records = await self.client.arun(self._records(scope_prefix, _test(categories, metadata_filter)))
        return _ranked(records, query_embedding, limit, min_score)

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        test = _test(categories, metadata_filter, record_ids, older_than)
        return await self.client.arun(self._delete(scope_prefix, test))

    def _save(self, records: Sequence[MemoryRecord]) -> Steps[None]:
        """Store records; those that were in another scope move."""
        last = {record.id: record for record in records}
        items = yield from self.state.find_all([ROOT])
        moved = [
            place_of(item)
            for item in items
            if item["key"] in last and item["namespace"] != _namespace(last[item["key"]])
        ]
        yield from self.state.change([_item(record) for record in last.values()], moved)

    def _delete(self, scope: str | None, test: Test) -> Steps[int]:
        records = yield from self._records(scope, test)
        places = [{"namespace": _namespace(record), "key": record.id} for record in records]
        yield from self.state.change(deletes=places)
        return len(places)

    def _records(self, scope: str | None, test: Test = lambda _: True) -> Steps[list[MemoryRecord]]:
        items = yield from self.state.find_all([ROOT, *_segments(scope)])
        return [record for record in map(_record, items) if test(record)]


def _item(record: MemoryRecord) -> Json:
    vector = base64.b64encode(array("f", record.embedding).tobytes()).decode() if record.embedding else None
    value = {"record": record.model_dump(mode="json"), "embedding": vector}
    return {"namespace": _namespace(record), "key": record.id, "value": value, "text": record.content}


def _record(item: Json) -> MemoryRecord:
    vector = item["value"]["embedding"]
    embedding = list(array("f", base64.b64decode(vector))) if vector else None
    return MemoryRecord(**item["value"]["record"], embedding=embedding)


def _namespace(record: MemoryRecord) -> list[str]:
    return [ROOT, *_segments(record.scope)]


def _segments(scope: str | None) -> list[str]:
    return [segment for segment in (scope or "").split("/") if segment.strip()]


def _path(segments: Sequence[str]) -> str:
    return "/" + "/".join(segments)


def _children(records: Sequence[MemoryRecord], parent: str) -> list[str]:
    above = _segments(parent)
    below = [segments for record in records if len(segments := _segments(record.scope)) > len(above)]
    return sorted({_path(segments[: len(above) + 1]) for segments in below})


def _test(
    categories: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    record_ids: Sequence[str] | None = None,
    older_than: datetime | None = None,
) -> Test:
    """Whether a record has one of the categories, all of the metadata, one of the ids, and is older."""

    def holds(record: MemoryRecord) -> bool:
        return (
            (not categories or not {*categories}.isdisjoint(record.categories))
            and all(record.metadata.get(name) == value for name, value in (metadata or {}).items())
            and (record_ids is None or record.id in record_ids)
            and (older_than is None or _made(record) < _aware(older_than))
        )

    return holds


def _ranked(
    records: Sequence[MemoryRecord], query: Sequence[float], limit: int, min_score: float
) -> list[tuple[MemoryRecord, float]]:
    """By distance, as CrewAI's own storage scores: 1 for the same vector."""
    scored = [
        (record, 1.0 / (1.0 + math.dist(query, record.embedding)))
        for record in records
        if record.embedding and len(record.embedding) == len(query)
    ]
    best = sorted(scored, key=lambda one: -one[1])
    return [one for one in best if one[1] >= min_score][:limit]


def _made(record: MemoryRecord) -> datetime:
    return _aware(record.created_at)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
