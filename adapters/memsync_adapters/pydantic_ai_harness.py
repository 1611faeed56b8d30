"""A memory store of pydantic-ai-harness: ``Memory(store=MemsyncMemoryStore(Client("alice")))``.

A file is an item under its directories; what an operation did is kept beside it, written in the same transaction.
"""

from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchResult,
)

# What the harness's own stores share, so that paths, metadata and search are as theirs.
from pydantic_ai_harness.memory._store import (
    decode_metadata,
    encode_metadata,
    is_direct_child,
    lexical_search,
    validate_store_path,
    validate_store_prefix,
)

from memsync_adapters.client import Client, Json, MemsyncError, State, Steps

FILES: Final = "files"
OPERATIONS: Final = "operations"
RECEIPT_SECONDS: Final = 7 * 86_400  # how long a repeated operation is recognised
MOST_LISTED: Final = 5_000


class MemsyncMemoryStore:
    """Versioned files of one end user."""

    def __init__(self, client: Client, *, source: str = "pydantic-ai-harness") -> None:
        self.client, self.state = client, State(source)

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        validate_store_path(path)
        if max_chars <= 0:
            raise ValueError("max_chars must be positive")
        item = await self.client.arun(self.state.get(*_place(path)))
        if item is None:
            return None
        value = item["value"]
        return MemoryFile(
            content=value["content"][:max_chars],
            version=value["version"],
            operation_id=value["operation"],
            truncated=len(value["content"]) > max_chars,
            metadata=decode_metadata(value["metadata"]),
        )

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        return await self.client.arun(self._receipt(operation))

    async def write(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        return await self.write_with_metadata(
            path, content, expected_version=expected_version, metadata=None, operation=operation
        )

    async def write_with_metadata(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        metadata: Mapping[str, str] | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        validate_store_path(path)
        value = {
            "path": path,
            "content": content,
            "version": uuid4().hex,
            "operation": operation.id if operation else None,
            "metadata": encode_metadata(metadata),
        }
        return await self.client.arun(self._mutate(path, value, expected_version, operation))

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        validate_store_path(path)
        return await self.client.arun(self._mutate(path, None, expected_version, operation))

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        validate_store_prefix(prefix)
        if limit <= 0:
            raise ValueError("limit must be positive")
        return [one["value"]["path"] for one in await self.client.arun(self._below(prefix))][:limit]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """By words, as the harness's own stores search, of files directly below the prefix."""
        validate_store_prefix(prefix)
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        values = [one["value"] for one in await self.client.arun(self._below(prefix))]
        files = [(one["path"], one["content"]) for one in values if is_direct_child(prefix, one["path"])]
        scanned = [(path, content[:max_file_chars]) for path, content in files[:max_files]]
        is_cut = len(files) > max_files or any(len(content) > max_file_chars for _, content in files[:max_files])
        found = await lexical_search(
            scanned, query, limit=limit, max_files=max_files, max_chars=max_chars, score_prefix=prefix
        )
        return MemorySearchResult(found.matches, found.scanned, found.truncated or is_cut)

    def _receipt(self, operation: MemoryOperation) -> Steps[MemoryMutation | None]:
        item = yield from self.state.get([OPERATIONS], operation.id)
        if item is None:
            return None
        value = item["value"]
        if value["fingerprint"] != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
        return MemoryMutation(version=value["version"], replayed=True, existed=value["existed"])

    def _mutate(
        self, path: str, value: Json | None, expected: str | None, operation: MemoryOperation | None
    ) -> Steps[MemoryMutation]:
        """Write the value, or delete the file, and the receipt of the operation with it, if nothing came between."""
        if operation and (receipt := (yield from self._receipt(operation))):
            return receipt
        namespace, key = _place(path)
        current = yield from self.state.get(namespace, key)
        if (current["value"]["version"] if current else None) != expected:
            return (yield from self._overtaken(path, operation))
        place = {"namespace": namespace, "key": key, "if_version": current["version"] if current else "0"}
        version = value["version"] if value else None
        puts = [place | {"value": value, "text": f"{path}\n{value['content']}"}] if value else []
        if operation:
            told = {"fingerprint": operation.fingerprint, "version": version, "existed": current is not None}
            receipt_place = {"namespace": [OPERATIONS], "key": operation.id, "if_version": "0"}
            puts.append(receipt_place | {"value": told, "index": False, "ttl_seconds": RECEIPT_SECONDS})
        deletes = [] if value or not current else [place]
        try:
            if puts or deletes:
                yield from self.state.swap(puts, deletes)
        except MemsyncError as error:
            if not error.is_conflict:
                raise
            return (yield from self._overtaken(path, operation))
        return MemoryMutation(version=version, replayed=False, existed=current is not None)

    def _overtaken(self, path: str, operation: MemoryOperation | None) -> Steps[MemoryMutation]:
        """The receipt, if the same operation came first.  Raises MemoryConflictError."""
        if operation and (receipt := (yield from self._receipt(operation))):
            return receipt
        raise MemoryConflictError(f"memory path {path!r} changed before this mutation") from None

    def _below(self, prefix: str) -> Steps[list[Json]]:
        """The files whose paths begin with the prefix, sorted by path."""
        directories = prefix.split("/")[:-1]
        found: list[Json] = []
        while True:
            some = yield from self.state.find([FILES, *directories], limit=MOST_LISTED, offset=len(found))
            found += some
            if len(some) < MOST_LISTED:
                break
        there = [one for one in found if one["value"]["path"].startswith(prefix)]
        return sorted(there, key=lambda one: str(one["value"]["path"]))


def _place(path: str) -> tuple[list[str], str]:
    *directories, name = path.split("/")
    return [FILES, *directories], name
