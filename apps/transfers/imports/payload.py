"""Splits a file into numbered records, and those into chunks.  Pure functions that hold at most one chunk."""

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import ijson
import orjson

from apps.core.errors import Invalid, TooLarge

BATCH_RECORDS: Final = 25
BATCH_BYTES: Final = 512 * 1024
MAX_RECORD: Final = 4 * 1024 * 1024  # bytes of one record
MAX_DEPTH: Final = 40
BOM: Final = b"\xef\xbb\xbf"


class ImportUnreadable(Invalid):
    """The file does not match its name: it must be JSON if the name ends in .json, else one JSON object per line."""

    code = "IMPORT_UNREADABLE"


class ImportEmpty(Invalid):
    """The file has no records."""

    code = "IMPORT_EMPTY"


class RecordTooLarge(TooLarge):
    """A record is larger than 4 MiB."""


@dataclass(frozen=True, slots=True)
class PayloadLine:
    """One record as it was sent.  number: its line, or its position in the array; from 1."""

    number: int
    raw: bytes = field(repr=False)


def format_of(name: str) -> str:
    """``json`` or ``jsonl``."""
    return "json" if name.strip().lower().endswith(".json") else "jsonl"


def lines_of(content: bytes, format_: str) -> Iterator[PayloadLine]:
    """The records in order, without blank lines.  Raises ImportUnreadable or RecordTooLarge.

    A JSONL line may contain anything; whether it is a valid record is checked when it is imported.
    """
    found = _elements(content) if format_ == "json" else enumerate(io.BytesIO(content.removeprefix(BOM)), 1)
    for number, raw in found:
        if len(raw) > MAX_RECORD:
            raise RecordTooLarge(f"Record {number} is larger than {MAX_RECORD} bytes.")
        if raw := raw.strip():
            # A record must contain no line break, so that chunks can be split again.
            yield PayloadLine(number, raw.replace(b"\r", b" "))


def _elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The elements of the array, or of ``memories`` if the file is an export, which is an object."""
    body = content.removeprefix(BOM)
    prefix = "item" if body.lstrip()[:1] == b"[" else "memories.item"
    try:
        events = ijson.parse(_shallow(ijson.basic_parse(io.BytesIO(body), use_float=True)))
        for number, element in enumerate(ijson.items(events, prefix), 1):
            yield number, _as_json(element)
    except (ijson.JSONError, UnicodeError, RecursionError, ValueError, OverflowError):
        raise ImportUnreadable from None


def _shallow(events: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The parser's events, with the nesting depth limited: the parser keeps a path per level, as long as the level is
    deep."""
    depth = 0
    for event in events:
        if event[0].startswith("start_"):
            depth += 1
            if depth > MAX_DEPTH:
                raise ImportUnreadable
        elif event[0].startswith("end_"):
            depth -= 1
        yield event


def _as_json(element: Any) -> bytes:
    try:
        return orjson.dumps(element)
    except TypeError:  # an integer of more than 64 bits: the record is refused, not the file
        return json.dumps(element).encode()


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records that are imported together.  is_shared: some of them name their own end user."""

    lines: tuple[PayloadLine, ...]
    is_shared: bool

    def packed(self) -> bytes:
        return b"\n".join(b"%d\t%b" % (line.number, line.raw) for line in self.lines)


def unpacked(payload: bytes) -> list[PayloadLine]:
    found = (packed.partition(b"\t") for packed in payload.split(b"\n"))
    return [PayloadLine(int(number), raw) for number, _, raw in found]


def batches(lines: Iterable[PayloadLine]) -> Iterator[RecordBatch]:
    held: list[PayloadLine] = []
    size = 0
    for line in lines:
        if held and (len(held) == BATCH_RECORDS or size + len(line.raw) > BATCH_BYTES):
            yield _batch(held)
            held, size = [], 0
        held.append(line)
        size += len(line.raw)
    if held:
        yield _batch(held)


def alone(line: PayloadLine) -> RecordBatch:
    """A batch of this one record."""
    return _batch([line])


def _batch(lines: list[PayloadLine]) -> RecordBatch:
    return RecordBatch(tuple(lines), is_shared=any(b"end_user_id" in line.raw for line in lines))
