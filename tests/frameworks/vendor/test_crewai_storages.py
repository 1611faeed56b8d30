"""crewai-memorysync, and our own storage, which needs the same version of CrewAI: both do the same."""

import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import installed

installed("crewai_memorysync", group="vendor")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the frameworks, about each other
    from crewai.memory.types import MemoryRecord
    from crewai_memorysync import MemorySyncStorage

    from memsync_adapters.crewai import MemsyncStorage

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]  # of the frameworks, about each other


def record(number: int, **fields: object) -> MemoryRecord:
    """A record whose vector points in a direction of its own."""
    vector = [float(number == at) for at in range(4)]
    made = datetime.now(UTC) + timedelta(seconds=number)
    return MemoryRecord(
        id=f"r{number}", content=f"record {number}", embedding=vector, created_at=made, last_accessed=made, **fields
    )


@pytest.fixture(params=["the vendor's", "ours"])
def storage(request: pytest.FixtureRequest, user_id: str, make_client: MakeClient) -> Any:
    return MemsyncStorage(make_client(user_id)) if request.param == "ours" else MemorySyncStorage(user_id=user_id)


def test_records_are_saved_searched_listed_and_deleted(storage: Any) -> None:
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


def test_records_are_narrowed_moved_and_reset(storage: Any) -> None:
    storage.save([record(0, scope="/a", categories=["x"], metadata={"n": 1}), record(1, scope="/a/b"), record(2)])

    info = storage.get_scope_info("/a")
    assert (info.record_count, info.categories, info.child_scopes) == (2, ["x"], ["/a/b"])
    near = storage.search([0.0, 1.0, 0.0, 0.0], scope_prefix="/a", min_score=0.0)
    assert [one.id for one, _ in near] == ["r1", "r0"]
    assert near[0][1] > near[1][1]
    assert [one.id for one, _ in storage.search([1.0, 0.0, 0.0, 0.0], categories=["x"])] == ["r0"]
    assert [one.id for one, _ in storage.search([1.0, 0.0, 0.0, 0.0], metadata_filter={"n": 1})] == ["r0"]
    storage.update(record(1, scope="/z"))
    assert (storage.count("/a"), storage.count("/z"), storage.count()) == (1, 1, 3)
    assert storage.delete(scope_prefix="/a", older_than=datetime.now(UTC) - timedelta(days=1)) == 0
    storage.reset("/a")
    assert sorted(one.id for one in storage.list_records()) == ["r1", "r2"]
