"""MemsyncMemoryStore beside the harness's own store.

The harness publishes no tests in its source archive, so each operation here is asked of both, and must do the same.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import WaitFor, installed

installed("pydantic_ai_harness")

from pydantic_ai_harness.memory import (  # noqa: E402
    InMemoryStore,
    MemoryConflictError,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    MetadataMemoryStore,
    SearchableMemoryStore,
)

from memsync_adapters.pydantic_ai_harness import MemsyncMemoryStore  # noqa: E402

pytestmark = pytest.mark.e2e


@pytest.fixture(params=["memsync", "in memory"])
def store(request: pytest.FixtureRequest, make_client: MakeClient) -> Any:
    return MemsyncMemoryStore(make_client()) if request.param == "memsync" else InMemoryStore()


def test_it_is_every_kind_of_store(store: Any) -> None:
    assert isinstance(store, MemoryStore)
    assert isinstance(store, MetadataMemoryStore)
    assert isinstance(store, SearchableMemoryStore)


def test_files_are_written_read_and_deleted(store: Any, wait_for: WaitFor) -> None:
    async def work() -> None:
        assert await store.read("a/notes.md", max_chars=9) is None
        first = await store.write("a/notes.md", "Hello, world", expected_version=None)
        found = await store.read("a/notes.md", max_chars=5)
        assert (found.content, found.version, found.truncated, found.operation_id, found.metadata) == (
            "Hello", first.version, True, None, None,
        )  # fmt: skip
        second = await store.write("a/notes.md", "Bye", expected_version=first.version)
        assert (first.existed, second.existed, second.version != first.version) == (False, True, True)
        gone = await store.delete("a/notes.md", expected_version=second.version)
        assert (gone.version, gone.replayed, gone.existed) == (None, False, True)
        assert await store.read("a/notes.md", max_chars=9) is None
        again = await store.write("a/notes.md", "Bye", expected_version=None)
        assert again.version not in (first.version, second.version)

    wait_for(work())


def test_a_file_at_another_version_is_left_alone(store: Any, wait_for: WaitFor) -> None:
    async def work() -> None:
        first = await store.write("a", "1", expected_version=None)
        for change in (
            store.write("a", "2", expected_version=None),
            store.write("b", "2", expected_version=first.version),
            store.delete("a", expected_version="other"),
            store.delete("a", expected_version=None),
            store.delete("b", expected_version=first.version),
        ):
            with pytest.raises(MemoryConflictError):
                await change
        assert (await store.read("a", max_chars=9)).content == "1"
        nothing = await store.delete("b", expected_version=None)
        assert (nothing.version, nothing.existed) == (None, False)

    wait_for(work())


def test_operations_are_replayed(store: Any, wait_for: WaitFor) -> None:
    one, two, three = (MemoryOperation(id=f"op-{number}", fingerprint="f") for number in range(3))

    async def work() -> None:
        assert await store.get_operation(one) is None
        first = await store.write("a", "1", expected_version=None, operation=one)
        again = await store.write("a", "1", expected_version=None, operation=one)
        assert (again.version, again.replayed, again.existed) == (first.version, True, False)
        assert await store.get_operation(one) == again
        assert (await store.read("a", max_chars=9)).operation_id == "op-0"
        await store.delete("a", expected_version=first.version, operation=two)
        gone = await store.delete("a", expected_version=first.version, operation=two)
        assert (gone.version, gone.replayed, gone.existed) == (None, True, True)
        await store.delete("a", expected_version=None, operation=three)
        assert (await store.get_operation(three)).existed is False
        for reused in (
            store.get_operation(MemoryOperation(id="op-0", fingerprint="other")),
            store.write("z", "1", expected_version=None, operation=MemoryOperation(id="op-0", fingerprint="other")),
            store.delete("z", expected_version=None, operation=MemoryOperation(id="op-1", fingerprint="other")),
        ):
            with pytest.raises(MemoryOperationConflictError):
                await reused

    wait_for(work())


def test_of_writers_at_once_one_writes(store: Any, wait_for: WaitFor) -> None:
    async def work() -> Any:
        first = await store.write("a", "0", expected_version=None)
        writes = [store.write("a", str(number), expected_version=first.version) for number in range(1, 6)]
        return await asyncio.gather(*writes, return_exceptions=True)

    outcomes = wait_for(work())

    assert sum(isinstance(one, MemoryConflictError) for one in outcomes) == 4
    assert sum(not isinstance(one, Exception) for one in outcomes) == 1


def test_same_operation_at_once_is_done_once(store: Any, wait_for: WaitFor) -> None:
    operation = MemoryOperation(id="op", fingerprint="f")

    async def work() -> Any:
        return await asyncio.gather(
            *(store.write("a", "1", expected_version=None, operation=operation) for _ in range(5))
        )

    outcomes = wait_for(work())

    assert sorted(one.replayed for one in outcomes) == [False, True, True, True, True]
    assert len({one.version for one in outcomes}) == 1


def test_same_operation_may_come_between_two_reads(
    make_client: MakeClient, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, operation = MemsyncMemoryStore(make_client()), MemoryOperation(id="op", fingerprint="f")
    value = {"path": "a", "content": "1", "version": "first", "operation": "op", "metadata": None}
    read, reads = store._receipt, list[Any]()

    def overtaken(one: MemoryOperation) -> Any:
        reads.append((yield from read(one)))
        if len(reads) == 1:
            yield from MemsyncMemoryStore(store.client)._mutate("a", value, None, one)
        return reads[-1]

    monkeypatch.setattr(store, "_receipt", overtaken)
    outcome = wait_for(store.write("a", "1", expected_version=None, operation=operation))

    assert (reads[0], outcome.replayed, outcome.version) == (None, True, "first")


def test_paths_are_listed_in_order(store: Any, wait_for: WaitFor) -> None:
    async def work() -> Any:
        for path in ("b/c", "a", "b/d/e", "bc", "b.md"):
            await store.write(path, "x", expected_version=None)
        return [
            await store.list_paths(prefix, limit=limit) for prefix, limit in (("", 9), ("b/", 9), ("b", 9), ("", 2))
        ]

    assert wait_for(work()) == [
        ["a", "b.md", "b/c", "b/d/e", "bc"], ["b/c", "b/d/e"], ["b.md", "b/c", "b/d/e", "bc"], ["a", "b.md"],
    ]  # fmt: skip


def test_metadata_is_of_the_last_write(store: Any, wait_for: WaitFor) -> None:
    async def work() -> None:
        first = await store.write_with_metadata("a", "1", expected_version=None, metadata={"by": "alice"})
        assert (await store.read("a", max_chars=9)).metadata == {"by": "alice"}
        await store.write("a", "2", expected_version=first.version)
        assert (await store.read("a", max_chars=9)).metadata is None
        with pytest.raises(TypeError):
            await store.write_with_metadata("b", "1", expected_version=None, metadata={"by": 1})

    wait_for(work())


def test_search_is_by_words_of_files_directly_below(store: Any, wait_for: WaitFor) -> None:
    async def work() -> Any:
        for path, text in {"n/tea": "green tea tea", "n/b": "tea", "n/deep/c": "tea", "o": "tea", "n/d": "dog"}.items():
            await store.write(path, text, expected_version=None)
        bounds = {"max_files": 9, "max_chars": 400, "max_file_chars": 400}
        return [
            await store.search("n/", "tea", limit=5, **bounds),
            await store.search("n/", "tea", limit=1, **bounds),
            await store.search("n/", " ", limit=5, **bounds),
            await store.search("n/", "tea", limit=5, **bounds | {"max_files": 1}),
        ]

    every, first, nothing, few = wait_for(work())

    assert [(one.path, one.score) for one in every.matches] == [("n/tea", 4.0), ("n/b", 1.0)]
    assert (every.scanned, every.truncated, first.truncated, len(first.matches)) == (3, False, True, 1)
    assert (nothing.matches, few.scanned, few.truncated) == ([], 1, True)


BAD: list[Callable[[Any], Any]] = [
    lambda store: store.read("../a", max_chars=1),
    lambda store: store.read("a", max_chars=0),
    lambda store: store.write("a//b", "x", expected_version=None),
    lambda store: store.delete("", expected_version=None),
    lambda store: store.list_paths("..", limit=1),
    lambda store: store.list_paths("", limit=0),
    lambda store: store.search("../", "x", limit=1, max_files=1, max_chars=1, max_file_chars=1),
]


@pytest.mark.parametrize("call", BAD)
def test_bad_arguments_are_refused(call: Callable[[Any], Any], store: Any, wait_for: WaitFor) -> None:
    with pytest.raises(ValueError):
        wait_for(call(store))
