"""Rows bound to what they grant: a keyed hash in the row, over the columns that say who may do what.

A person who can write to the database, and has no secret of the host, cannot make the hash of a row that he changed or
added.  A row whose hash does not fit grants nothing.  What he can still do is delete a row, or put an old one back
whole, with the hash it had.

The key is handed over when Django is ready, as the pepper is: the admin writes such rows too, and nothing that it
imports may reach the keyring (``apps.apikeys.pepper``).
"""

import hashlib
import hmac
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final, Protocol

from django.db import models

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION_BYTES, _MAC_BYTES = 4, 32
ROW_MAC_BYTES: Final = _VERSION_BYTES + _MAC_BYTES


class RowKey(Protocol):
    """32 bytes.  version is stored in front of each hash, so that a new key leaves rows of an older one valid."""

    @property
    def version(self) -> int: ...

    @property
    def key(self) -> bytes: ...


class RowKeyNotConnected(RuntimeError):
    """Django has not finished starting: the key is connected when the apps are ready."""


_source: Callable[[int | None], RowKey] | None = None


def connect(source: Callable[[int | None], RowKey]) -> None:
    """source: gives the key of a version, or the active one for None; raises LookupError for a version that is none."""
    global _source
    _source = source


class BoundModel(models.Model):
    """A row with a hash over ``bound_fields``.  Code that writes one of these fields calls ``bind`` and saves
    ``row_mac`` as well; code that relies on them asks ``is_bound`` before.

    bound_as: the name of the kind, in the hash.  bound_fields: names of attributes, in an order that stays.
    """

    bound_as: ClassVar[str]
    bound_fields: ClassVar[tuple[str, ...]]

    # Four bytes of the key's version, then HMAC-SHA256.  None: written before there was a key, and good for nothing.
    row_mac = models.BinaryField(max_length=ROW_MAC_BYTES, null=True, editable=False)

    class Meta:
        abstract = True

    def bind(self, *, version: int | None = None) -> None:
        """Set ``row_mac`` to what the fields say now, under the active key or that of a version.  Raises what the
        keyring raises."""
        self.row_mac = row_mac(self.bound_as, self._bound_values(), version=version)

    def is_bound(self) -> bool:
        """Whether the fields are those that the service wrote.  Raises what the keyring raises when it is away."""
        return is_row_mac(self.row_mac, self.bound_as, self._bound_values())

    def _bound_values(self) -> list[Any]:
        return [getattr(self, name) for name in self.bound_fields]


def row_mac(kind: str, values: Sequence[Any], *, version: int | None = None) -> bytes:
    """36 bytes: the key's version and the HMAC-SHA256 of these values as a row of this kind."""
    key = _key(version)
    return key.version.to_bytes(_VERSION_BYTES, "big") + _mac(key.key, kind, values)


def is_row_mac(stored: bytes | memoryview | None, kind: str, values: Sequence[Any]) -> bool:
    """Whether this is the hash of these values, under whichever key it names."""
    raw = bytes(stored or b"")
    if len(raw) != ROW_MAC_BYTES:
        return False
    try:
        key = _key(int.from_bytes(raw[:_VERSION_BYTES], "big")).key
    except LookupError:
        return False
    return hmac.compare_digest(raw[_VERSION_BYTES:], _mac(key, kind, values))


def canonical(kind: str, values: Sequence[Any]) -> bytes:
    """Bytes that stand for exactly these values in this order: each with its type, after its length in four bytes.

    values: None, bool, int, str, bytes, UUID, aware datetime to the microsecond, or a list of such.  Raises TypeError.
    """
    return _sized(b"mem/1|row|" + kind.encode()) + _encoded(list(values))


def _key(version: int | None) -> RowKey:
    if _source is None:
        raise RowKeyNotConnected
    return _source(version)


def _mac(key: bytes, kind: str, values: Sequence[Any]) -> bytes:
    return hmac.digest(key, canonical(kind, values), hashlib.sha256)


def _encoded(value: Any) -> bytes:
    if value is None:
        return _sized(b"n")
    if isinstance(value, bool):
        return _sized(b"o1" if value else b"o0")
    if isinstance(value, int):
        return _sized(b"i" + str(value).encode())
    if isinstance(value, str):
        return _sized(b"s" + str(value).encode())
    if isinstance(value, (bytes, memoryview)):
        return _sized(b"b" + bytes(value))
    if isinstance(value, uuid.UUID):
        return _sized(b"u" + value.bytes)
    if isinstance(value, datetime):
        return _sized(b"t" + str((value - _EPOCH) // timedelta(microseconds=1)).encode())
    if isinstance(value, (list, tuple)):
        return _sized(b"l" + b"".join(_encoded(one) for one in value))
    raise TypeError(f"no canonical form for {type(value).__name__}")


def _sized(raw: bytes) -> bytes:
    return len(raw).to_bytes(4, "big") + raw
