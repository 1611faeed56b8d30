"""The ended parts of a memory: spans of its original text, when each ended and by which memory.  Pure functions."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson

from apps.core.plaintext import Plaintext
from text.marking import marked


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPart:
    """Characters [start, end) of the original text, valid until ``ended_at``, as known since ``known_from``.

    by: the memory that ended the part.  claim_id: the row of the claim that the part makes, if there is one.
    """

    start: int
    end: int
    ended_at: datetime
    known_from: datetime
    by: int
    claim_id: int | None = None


def ended_then(parts: Iterable[MemoryPart], at: datetime, known_at: datetime) -> list[MemoryPart]:
    """The parts that had ended at a time, as known at another."""
    return [one for one in parts if one.known_from <= known_at and one.ended_at <= at]


def without(said: Plaintext, parts: Iterable[MemoryPart]) -> Plaintext:
    """The original text with a mark in place of each of these parts."""
    return Plaintext(marked(said.reveal(), ((one.start, one.end) for one in parts)))


def packed(parts: Iterable[MemoryPart]) -> bytes:
    return orjson.dumps([asdict(one) for one in parts])


def unpacked(blob: bytes) -> list[MemoryPart]:
    return [_read(one) for one in orjson.loads(blob)]


def _read(written: dict[str, Any]) -> MemoryPart:
    times = {name: datetime.fromisoformat(written[name]) for name in ("ended_at", "known_from")}
    return MemoryPart(**(written | times))
