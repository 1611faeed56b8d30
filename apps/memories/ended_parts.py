"""The parts of a memory that hold no longer: which words of what was said, since when and by what.  Pure."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson

from apps.core.plaintext import Plaintext
from text.marking import marked


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPart:
    """Words [start, end) of the text as it was said, which held until ``ended_at``, as is known since ``known_from``.

    by: the memory that ended them.  claim_id: the claim that they make, where it has a row.
    """

    start: int
    end: int
    ended_at: datetime
    known_from: datetime
    by: int
    claim_id: int | None = None


def ended_then(parts: Iterable[MemoryPart], at: datetime, known_at: datetime) -> list[MemoryPart]:
    """Those that held no longer at a time, as was known at another."""
    return [one for one in parts if one.known_from <= known_at and one.ended_at <= at]


def without(said: Plaintext, parts: Iterable[MemoryPart]) -> Plaintext:
    """What was said, with a mark in place of these parts."""
    return Plaintext(marked(said.reveal(), ((one.start, one.end) for one in parts)))


def packed(parts: Iterable[MemoryPart]) -> bytes:
    return orjson.dumps([asdict(one) for one in parts])


def unpacked(blob: bytes) -> list[MemoryPart]:
    return [_read(one) for one in orjson.loads(blob)]


def _read(written: dict[str, Any]) -> MemoryPart:
    times = {name: datetime.fromisoformat(written[name]) for name in ("ended_at", "known_from")}
    return MemoryPart(**(written | times))
