"""Files of other products, read in parts and within limits, because anyone may have written them.

A ZIP archive is read without being unpacked to disk, and no archive inside it is opened.
"""

import fnmatch
import io
import lzma
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import ijson

MAX_BYTES: Final = 8 * 1024**3  # of JSON, unpacked, in all documents of a file
MAX_RATIO: Final = 200  # unpacked to packed; exported chats reach 10 to 20
SMALL: Final = 16 * 1024**2  # bytes that may be unpacked whatever the ratio
MAX_DEPTH: Final = 64
MAX_ELEMENT: Final = 128 * 1024**2  # characters and values of one element of a list
MAX_DOCUMENTS: Final = 10_000
BOM: Final = b"\xef\xbb\xbf"
DAMAGED: Final = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError, RuntimeError,
)  # fmt: skip  # what zipfile raises, also while an entry is read


class FileUnreadable(Exception):
    """The file is damaged, too large or none of the product.  The message quotes nothing of it."""


class ByteBudget:
    """Bytes that may still be read, of all documents of a file."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise FileUnreadable("the file is too large when it is unpacked")


class BoundedStream:
    """Reads from a stream, within a budget."""

    def __init__(self, stream: io.BufferedReader, budget: ByteBudget) -> None:
        self._stream = stream
        self._budget = budget
        if self._stream.peek(len(BOM)).startswith(BOM):
            self._stream.read(len(BOM))

    def read(self, size: int) -> bytes:
        try:
            piece = self._stream.read(size)
        except DAMAGED:
            raise FileUnreadable("the archive is damaged or encrypted") from None
        self._budget.take(len(piece))
        return piece

    def readline(self, size: int) -> bytes:
        line = self._stream.readline(size)
        self._budget.take(len(line))
        return line


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """One JSON file.  name: in the archive; empty if the file is no archive."""

    name: str
    stream: BoundedStream


def documents(file: io.BufferedReader, *patterns: str) -> Iterator[JsonDocument]:
    """The JSON documents of the file: itself, or those in it that match a pattern, in the order of their names.

    file: seekable.  Raises FileUnreadable.
    """
    file.seek(0)
    is_archive = file.read(4) == b"PK\x03\x04"
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if not is_archive:
        yield JsonDocument("", BoundedStream(file, ByteBudget(MAX_BYTES)))
        return
    budget = ByteBudget(min(MAX_BYTES, max(SMALL, MAX_RATIO * size)))
    try:
        archive = zipfile.ZipFile(file)
        names = sorted(name for name in archive.namelist() if _matches(name, patterns))
        if len(names) > MAX_DOCUMENTS:
            raise FileUnreadable(f"the archive has more than {MAX_DOCUMENTS:,} documents")
        for name in names:
            with archive.open(name) as stream:
                yield JsonDocument(name, BoundedStream(io.BufferedReader(cast("io.RawIOBase", stream)), budget))
    except DAMAGED:
        raise FileUnreadable("the archive is damaged or encrypted") from None


def elements(document: JsonDocument, *lists: str, members: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """The elements of the document's list, with ""; or of the named lists of its object, each with its list's name.

    members: of the object that are returned too, with their names.  Raises FileUnreadable.
    """
    wanted = {"item": ""} | {f"{name}.item": name for name in lists} | {name: name for name in members}
    try:
        events = ijson.parse(_shallow(ijson.basic_parse(document.stream, use_float=True)))
        for prefix, event, value in events:
            if prefix in wanted and event != "map_key":
                yield wanted[prefix], _element(event, value, events)
    except (ijson.JSONError, UnicodeError, RecursionError, ValueError, OverflowError):
        raise FileUnreadable(f"{document.name or 'the file'} is no valid JSON") from None


def _element(event: str, value: Any, events: Iterator[tuple[str, str, Any]]) -> Any:
    builder = ijson.ObjectBuilder()
    builder.event(event, value)
    depth, size = int(event.startswith("start_")), 0
    while depth:
        _, event, value = next(events)
        depth += event.startswith("start_") - event.startswith("end_")
        size += 1 + (len(value) if isinstance(value, str) else 0)
        if size > MAX_ELEMENT:
            raise FileUnreadable("one entry of the file is too large")
        builder.event(event, value)
    return builder.value


def _shallow(events: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The parser's events, with limited nesting: the parser keeps a path per level, as long as the level is deep."""
    depth = 0
    for event in events:
        depth += event[0].startswith("start_") - event[0].startswith("end_")
        if depth > MAX_DEPTH:
            raise FileUnreadable("the file is nested too deeply")
        yield event


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, one) or fnmatch.fnmatchcase(name, f"*/{one}") for one in patterns)
