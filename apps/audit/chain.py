"""Byte format and hash of an audit log row.

::

    hash  = SHA-256(0x00 || row || prev_hash)        prev_hash: 32 bytes; zeros before the first row
    row   = field("memsync audit 1") field(id) field(tenant_id) field(seq) field(created_at) field(actor) field(action)
            field(target) field(outcome) field(reason) field(request_id) field(count) field(network)
            field(code_version)
    field = length of the value (4 bytes, big-endian) || value; ff ff ff ff for none

Numbers are 8 bytes, big-endian and signed; times are microseconds since 1970 UTC; text is UTF-8.  The database computes
the same hash when it commits a row (``audit_digest`` in the migrations); this module verifies it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

FORMAT: Final = "memsync audit 1"
NO_HASH: Final = "0" * 64
_NONE: Final = b"\xff\xff\xff\xff"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class NotAnEntry(ValueError):
    """A record does not have the fields of an audit log row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One stored row.  Hashes are in hex; seq is None only before the row's transaction commits."""

    id: int
    tenant_id: int | None
    seq: int | None
    created_at: datetime
    actor: str
    action: str
    target: str
    outcome: str
    reason: str
    request_id: str
    count: int
    network: str
    code_version: str
    prev_hash: str
    hash: str

    @property
    def chain(self) -> int:
        return self.tenant_id or 0

    @property
    def is_whole(self) -> bool:
        """Whether the hash matches the row and the previous hash."""
        return _digest_or_none(self) == self.hash

    def would_belong_at(self, other: "Entry") -> bool:
        """Whether this row was moved: with the other row's number, its content matches its own or the other's hash."""
        content = replace(self, seq=other.seq)
        return (
            _digest_or_none(content) == self.hash
            or _digest_or_none(replace(content, prev_hash=other.prev_hash)) == other.hash
        )

    def to_json(self) -> dict[str, Any]:
        return {
            name: value.astimezone(UTC).isoformat() if isinstance(value := getattr(self, name), datetime) else value
            for name in NAMES
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Parse a record of ``to_json``.  Raises NotAnEntry."""
        try:
            values = {name: record[name] for name in NAMES}
            entry = cls(**values | {"created_at": datetime.fromisoformat(values["created_at"])})
            digest(entry)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise NotAnEntry from error
        return entry


NAMES: Final = tuple(field.name for field in fields(Entry))


def digest(entry: Entry) -> str:
    """Return the hash that the row should have."""
    return hashlib.sha256(b"\x00" + canonical(entry) + bytes.fromhex(entry.prev_hash)).hexdigest()


def _digest_or_none(entry: Entry) -> str | None:
    try:
        return digest(entry)
    except ValueError:  # the stored previous hash is not a hash
        return None


def canonical(entry: Entry) -> bytes:
    return b"".join(
        (
            _text(FORMAT),
            _number(entry.id),
            _number(entry.tenant_id),
            _number(entry.seq),
            _number((entry.created_at - _EPOCH) // _MICROSECOND),
            _text(entry.actor),
            _text(entry.action),
            _text(entry.target),
            _text(entry.outcome),
            _text(entry.reason),
            _text(entry.request_id),
            _number(entry.count),
            _text(entry.network),
            _text(entry.code_version),
        )
    )


def _number(value: int | None) -> bytes:
    return _NONE if value is None else b"\x00\x00\x00\x08" + value.to_bytes(8, "big", signed=True)


def _text(value: str) -> bytes:
    raw = value.encode()
    return len(raw).to_bytes(4, "big") + raw
