"""Anthropic's memory tool: ``client.beta.messages.tool_runner(tools=[MemsyncMemoryTool(Client("alice"))], …)``.

A file is an item: its directories are the namespace, its name is the key, and the value is ``{"text": …}``.
"""

import posixpath
from collections.abc import Sequence
from typing import Final

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand as Create,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818DeleteCommand as Delete,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818InsertCommand as Insert,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818RenameCommand as Rename,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818StrReplaceCommand as StrReplace,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818ViewCommand as View,
)

from memsync_adapters.client import PAGE, Client, Json, MemsyncError, State, Steps, place_of

ROOT: Final = "memories"
MOST_LINES: Final = 999_999
DEPTH: Final = 2  # levels of a directory that are listed

Path = list[str]


class MemoryFiles:
    """The tool's commands, on the files of one source."""

    def __init__(self, state: State) -> None:
        self.state = state

    def view(self, command: View) -> Steps[str]:
        path = _path(command.path)
        item = yield from self._find(path)
        if item is not None:
            return _numbered(command, item["value"]["text"])
        below = yield from self.state.find_all(path)
        if not below and path != [ROOT]:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        return _listed(command.path, len(path), below)

    def create(self, command: Create) -> Steps[str]:
        path = _path(command.path)
        if path == [ROOT] or (yield from self.state.find(path, limit=1)):
            raise ToolError(f"File {command.path} already exists")
        yield from self._check_directories(path)
        try:
            yield from self._write(path, command.file_text, "0")
        except MemsyncError as error:
            if error.is_conflict:
                raise ToolError(f"File {command.path} already exists") from None
            raise
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: StrReplace) -> Steps[str]:
        path = _path(command.path)
        item = yield from self._read(path, command.path)
        text, old = item["value"]["text"], command.old_str
        places = [at for at in range(len(text)) if text.startswith(old, at)] if old else []
        if not places:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        if len(places) > 1:
            lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        (at,) = places
        changed = text[:at] + command.new_str + text[at + len(old) :]
        yield from self._rewrite(path, command.path, changed, item["version"])
        line = text.count("\n", 0, at)
        shown = changed.split("\n")[max(0, line - 2) : line + 3]
        snippet = "\n".join(f"{number:>6}\t{one}" for number, one in enumerate(shown, max(0, line - 2) + 1))
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def insert(self, command: Insert) -> Steps[str]:
        path = _path(command.path)
        item = yield from self._read(path, command.path)
        lines = item["value"]["text"].removesuffix("\n").split("\n") if item["value"]["text"] else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        yield from self._rewrite(path, command.path, "\n".join(lines) + "\n", item["version"])
        return f"The file {command.path} has been edited."

    def delete(self, command: Delete) -> Steps[str]:
        path = _path(command.path)
        if path == [ROOT]:
            raise ToolError("Cannot delete the /memories directory itself")
        count = yield from self.state.delete(path[:-1], path[-1:])
        count = count or (yield from self.state.delete_below(path))
        if not count:
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: Rename) -> Steps[str]:
        old, new = _path(command.old_path), _path(command.new_path)
        if old == [ROOT]:
            raise ToolError("Cannot rename the /memories directory itself")
        if new == [ROOT] or (yield from self._find(new)) or (yield from self.state.find(new, limit=1)):
            raise ToolError(f"The destination {command.new_path} already exists")
        if new[: len(old)] == old:
            raise ToolError(f"Cannot rename {command.old_path} to a path within itself")
        yield from self._check_directories(new)
        item = yield from self._find(old)
        moved = [item] if item else (yield from self.state.find_all(old))
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        puts: list[Json] = []
        for one in moved:
            path = new + [*one["namespace"], one["key"]][len(old) :]
            puts.append({"namespace": path[:-1], "key": path[-1], "value": one["value"], "if_version": "0"})
        deletes = [place_of(one) for one in moved]
        if len(puts) + len(deletes) <= PAGE:
            yield from self.state.swap(puts, deletes)
        else:
            yield from self.state.change(puts, deletes)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear(self) -> Steps[str]:
        yield from self.state.delete_below([ROOT])
        return "All memory cleared"

    def _find(self, path: Path) -> Steps[Json | None]:
        return None if path == [ROOT] else (yield from self.state.get(path[:-1], path[-1]))

    def _check_directories(self, path: Path) -> Steps[None]:
        """Raises ToolError if a file is where the path has a directory."""
        for end in range(2, len(path)):
            if (yield from self._find(path[:end])):
                raise ToolError(f"The path /{'/'.join(path[:end])} is not a directory.")

    def _read(self, path: Path, shown: str) -> Steps[Json]:
        item = yield from self._find(path)
        if item is not None:
            return item
        if path == [ROOT] or (yield from self.state.find(path, limit=1)):
            raise ToolError(f"The path {shown} is not a file.")
        raise ToolError(f"The path {shown} does not exist. Please provide a valid path.")

    def _write(self, path: Path, text: str, version: str) -> Steps[None]:
        try:
            yield from self.state.put(path[:-1], path[-1], {"text": text}, if_version=version)
        except MemsyncError as error:
            if error.status == 413:
                raise ToolError("The file is too large to store.") from None
            raise

    def _rewrite(self, path: Path, shown: str, text: str, version: str) -> Steps[None]:
        try:
            yield from self._write(path, text, version)
        except MemsyncError as error:
            if error.is_conflict:
                raise ToolError(f"The file {shown} was changed meanwhile. View it again.") from None
            raise


def _path(given: str) -> Path:
    """The segments of a path.  Raises ToolError outside /memories."""
    if given != f"/{ROOT}" and not given.startswith(f"/{ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {given}")
    segments = posixpath.normpath(given).strip("/").split("/")
    if segments[0] != ROOT:
        raise ToolError(f"Path {given} would escape /memories directory")
    return segments


def _numbered(command: View, text: str) -> str:
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
    first, last = command.view_range if command.view_range and len(command.view_range) == 2 else (1, -1)
    first = max(1, first)
    shown = lines[first - 1 :] if last == -1 else lines[first - 1 : last]
    body = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(shown, first))
    return f"Here's the content of {command.path} with line numbers:\n{body}"


def _listed(shown: str, depth: int, items: Sequence[Json]) -> str:
    """The files and directories below a directory of this depth, with sizes; a directory's is that of its files."""
    sizes: dict[tuple[str, ...], int] = {(): 0}
    for item in items:
        path, size = (*item["namespace"], item["key"])[depth:], len(item["value"]["text"].encode())
        if any(one.startswith(".") for one in path):
            continue
        for end in range(len(path)):  # directories end in an empty segment, so that they precede what is in them
            place = (*path[:end], "") if end else ()
            sizes[place] = sizes.get(place, 0) + size
        sizes[path] = size
    root = sizes.pop(())
    near = [path for path in sorted(sizes) if len([one for one in path if one]) <= DEPTH]
    header = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
    lines = [f"{_size(sizes[path])}\t{shown}/{'/'.join(path)}" for path in near]
    return "\n".join([header, f"{_size(root)}\t{shown}", *lines])


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in "BKMG":
        if size < 1024 or unit == "G":
            break
        size /= 1024
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"


class MemsyncMemoryTool(BetaAbstractMemoryTool):
    """The memory tool over one end user's files."""

    def __init__(self, client: Client, *, source: str = "anthropic") -> None:
        super().__init__()
        self.client, self.files = client, MemoryFiles(State(source))

    def view(self, command: View) -> str:
        return self.client.run(self.files.view(command))

    def create(self, command: Create) -> str:
        return self.client.run(self.files.create(command))

    def str_replace(self, command: StrReplace) -> str:
        return self.client.run(self.files.str_replace(command))

    def insert(self, command: Insert) -> str:
        return self.client.run(self.files.insert(command))

    def delete(self, command: Delete) -> str:
        return self.client.run(self.files.delete(command))

    def rename(self, command: Rename) -> str:
        return self.client.run(self.files.rename(command))

    def clear_all_memory(self) -> str:
        return self.client.run(self.files.clear())


class AsyncMemsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """As MemsyncMemoryTool, for the asynchronous client."""

    def __init__(self, client: Client, *, source: str = "anthropic") -> None:
        super().__init__()
        self.client, self.files = client, MemoryFiles(State(source))

    async def view(self, command: View) -> str:
        return await self.client.arun(self.files.view(command))

    async def create(self, command: Create) -> str:
        return await self.client.arun(self.files.create(command))

    async def str_replace(self, command: StrReplace) -> str:
        return await self.client.arun(self.files.str_replace(command))

    async def insert(self, command: Insert) -> str:
        return await self.client.arun(self.files.insert(command))

    async def delete(self, command: Delete) -> str:
        return await self.client.arun(self.files.delete(command))

    async def rename(self, command: Rename) -> str:
        return await self.client.arun(self.files.rename(command))

    async def clear_all_memory(self) -> str:
        return await self.client.arun(self.files.clear())
