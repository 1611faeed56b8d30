"""Opened memories as the bytes of a file: JSON Lines, or CSV that is safe to open in a spreadsheet.  Pure functions."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from apps.memories.opened import OpenedMemory
from apps.memories.spaces import split_name
from apps.projects.scope import SpaceKind

# In CSV column order.  JSON Lines uses the same names, which POST /imports accepts.
COLUMNS: Final = (
    "id", "user_id", "namespace", "end_user_id", "agent_id", "environment", "text", "summary", "extracted_type",
    "extracted_key", "content", "keywords", "platform", "tags", "source", "event_type", "importance",
    "quality_score", "metadata", "fields", "is_summary", "pinned",
    "tier", "validity", "retention_status", "superseded_by", "event_at", "event_precision", "valid_from", "valid_to",
    "expires_at", "created_at", "updated_at", "retention_expires_at",
)  # fmt: skip

# Characters that begin a formula in a spreadsheet, including their full-width forms.
_FORMULA: Final = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def row_of(memory: OpenedMemory, owner: str | None, *, kind: SpaceKind = SpaceKind.END_USER) -> dict[str, Any]:
    """The columns of a memory.  owner: the external id of the end user, or the name of the agent; None if unknown.

    kind: of its space.
    """
    is_person = kind == SpaceKind.END_USER
    namespace, name = split_name(owner) if owner and is_person else (None, owner)
    return {
        "id": memory.id,
        "user_id": memory.user_id if is_person else None,
        "namespace": namespace,
        "end_user_id": name if is_person else None,
        "agent_id": owner if kind == SpaceKind.AGENT else None,
        "environment": memory.environment,
        "text": memory.text.reveal(),
        "summary": memory.summary.reveal() if memory.summary else None,
        "extracted_type": memory.type,
        "extracted_key": memory.key,
        **typed_columns(memory),
        "tags": list(memory.tags),
        "source": memory.source or None,
        "event_type": memory.event_type or None,
        "importance": memory.importance,
        "quality_score": memory.confidence,
        "metadata": dict(memory.metadata),
        "fields": dict(memory.fields) or None,
        "is_summary": memory.is_summary,
        "pinned": memory.pinned,
        "tier": memory.tier,
        "validity": memory.validity,
        "retention_status": memory.retention_status,
        "superseded_by": memory.superseded_by,
        "event_at": memory.event_at,
        "event_precision": memory.event_precision or None,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "expires_at": memory.expires_at,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "retention_expires_at": memory.kept_until,
    }


def typed_columns(memory: OpenedMemory) -> dict[str, Any]:
    """What only a typed memory has, and platform: what only one of an agent platform has; None for others."""
    labels = {name: getattr(memory, name) for name in ("category", "workspace", "context", "messages")}
    return {
        "content": orjson.loads(memory.content.reveal()) if memory.content else None,
        "keywords": memory.keywords.reveal() if memory.keywords else None,
        "platform": {name: value for name, value in labels.items() if value} if memory.category else None,
    }


def jsonl(row: Mapping[str, Any]) -> bytes:
    """One line.  Columns with None are left out."""
    said = {name: value for name, value in row.items() if value is not None}
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)


def csv_header() -> bytes:
    return _line(COLUMNS)


def csv_row(row: Mapping[str, Any]) -> bytes:
    return _line([_cell(row[name]) for name in COLUMNS])


def pieces(lines: Sequence[bytes], size: int) -> Iterator[bytes]:
    """Join the lines and split them into pieces of at most this size."""
    whole = b"".join(lines)
    for start in range(0, len(whole), size):
        yield whole[start : start + size]


def _line(cells: Sequence[str]) -> bytes:
    held = io.StringIO()
    csv.writer(held, quoting=csv.QUOTE_ALL).writerow(cells)  # lines end in CR LF: RFC 4180, section 2
    return held.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        # A text could run as a formula: OWASP, CSV Injection.
        return f"'{value}" if value[:1] in _FORMULA or value.lstrip()[:1] in _FORMULA else value
    said = orjson.dumps(value).decode()  # numbers are safe; lists and objects begin with a bracket
    return said.strip('"')
