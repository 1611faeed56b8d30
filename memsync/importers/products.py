"""The products, by the name that `memsync import --from` takes."""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from memsync.importers import chatgpt, claude, letta, mem0, own, supermemory, zep
from memsync.importers.records import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """read: the items of a seekable file, in order; raises FileUnreadable."""

    read: Callable[[io.BufferedReader], Iterator[Item]]
    expects: str


FORMATS: Final[Mapping[str, ExportFormat]] = {
    "memsync": ExportFormat(read=own.read, expects="an export of memsync, or records of an import"),
    "chatgpt": ExportFormat(read=chatgpt.read, expects="the ZIP of an export, or its conversations.json"),
    "claude": ExportFormat(
        read=claude.read, expects="the ZIP of an export, or its conversations.json or memories.json"
    ),
    "mem0": ExportFormat(read=mem0.read, expects="the JSON of get_all, or of an export"),
    "zep": ExportFormat(read=zep.read, expects="JSON with edges, facts, episodes or messages"),
    "supermemory": ExportFormat(read=supermemory.read, expects="the JSON of a list of documents or memory entries"),
    "letta": ExportFormat(read=letta.read, expects="an agent file (.af), or the JSON of blocks or passages"),
}
