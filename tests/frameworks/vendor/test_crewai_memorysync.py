"""crewai-memorysync: the storage backend."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.frameworks.judges import installed

installed("crewai_memorysync", group="vendor")

from crewai.memory.types import MemoryRecord  # noqa: E402
from crewai_memorysync import MemorySyncStorage  # noqa: E402

pytestmark = pytest.mark.e2e


def record(number: int, **fields: object) -> MemoryRecord:
    """A record whose vector points in a direction of its own."""
    vector = [float(number == at) for at in range(4)]
    made = datetime.now(UTC) + timedelta(seconds=number)
    return MemoryRecord(
        id=f"r{number}", content=f"record {number}", embedding=vector, created_at=made, last_accessed=made, **fields
    )


def test_records_are_saved_searched_listed_and_deleted(user_id: str) -> None:
    storage = MemorySyncStorage(user_id=user_id)
    storage.save([record(0, scope="/a", categories=["x"]), record(1, scope="/a/b"), record(2, scope="/c")])

    best, _ = storage.search([1.0, 0.1, 0.0, 0.0], limit=1)[0]
    found = storage.get_record("r1")
    storage.update(record(1, scope="/a/b", metadata={"n": 2}))
    changed = storage.get_record("r1")

    assert best.id == "r0"
    assert found is not None
    assert (found.content, found.scope) == ("record 1", "/a/b")
    assert changed is not None
    assert changed.metadata == {"n": 2}
    assert [one.id for one in storage.list_records("/a")] == ["r1", "r0"]
    assert (storage.count(), storage.count("/a")) == (3, 2)
    assert sorted(storage.list_scopes("/")) == ["/a", "/c"]
    assert storage.list_categories() == {"x": 1}
    assert storage.delete(record_ids=["r2"]) == 1
    assert storage.delete(scope_prefix="/a") == 2
    assert storage.count() == 0
