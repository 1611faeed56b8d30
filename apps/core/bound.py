"""Rows with a keyed hash over the columns that grant access ("bound" rows).

An attacker who can write to the database, but has no secret of the host, cannot compute the hash of a changed or new
row, and a row with a wrong hash grants nothing.  They can still delete a row, or restore an old row with its old hash.

The key is passed in when Django is ready, like the pepper (``apps.apikeys.pepper``): the admin also writes such rows,
and nothing that the admin imports may reach the keyring.
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
    """A 32-byte key.  version: stored in front of each hash, so that older rows stay valid under a new key."""

    @property
    def version(self) -> int: ...

    @property
    def key(self) -> bytes: ...


class RowKeyNotConnected(RuntimeError):
    """Django has not finished starting: the key is connected when the apps are ready."""


_source: Callable[[int | None], RowKey] | None = None


def connect(source: Callable[[int | None], RowKey]) -> None:
    """source: returns the key of a version, or the active one for None; raises LookupError for an unknown version."""
    global _source
    _source = source


class BoundModel(models.Model):
    """A row with a hash over ``bound_fields``.

    Code that writes one of these fields must call ``bind`` and save ``row_mac`` too.  Code that relies on them must
    check ``is_bound`` first.

    bound_as: name of the kind, part of the hash.  bound_fields: attribute names; their order must not change.
    later_fields: of columns that are younger than the kind; an empty value is not part of the hash, so that hashes from
    before the column stay valid.
    """

    bound_as: ClassVar[str]
    bound_fields: ClassVar[tuple[str, ...]]
    later_fields: ClassVar[tuple[str, ...]] = ()

    # Key version (4 bytes), then HMAC-SHA256.  None: written before there was a key; such a row grants nothing.
    row_mac = models.BinaryField(max_length=ROW_MAC_BYTES, null=True, editable=False)

    class Meta:
        abstract = True

    def bind(self, *, version: int | None = None) -> None:
        """Set ``row_mac`` to the hash of the current values, under the active key or the given version.

        Raises the keyring's errors.
        """
        self.row_mac = row_mac(self.bound_as, self._bound_values(), version=version)

    def is_bound(self) -> bool:
        """Whether the hash matches the fields.  Raises the keyring's errors when it is unavailable."""
        return is_row_mac(self.row_mac, self.bound_as, self._bound_values())

    def _bound_values(self) -> list[Any]:
        later = [[name, value] for name in self.later_fields if (value := getattr(self, name))]
        return [*(getattr(self, name) for name in self.bound_fields), *later]


def row_mac(kind: str, values: Sequence[Any], *, version: int | None = None) -> bytes:
    """Return 36 bytes: the key version and the HMAC-SHA256 of these values for this kind of row."""
    key = _key(version)
    return key.version.to_bytes(_VERSION_BYTES, "big") + _mac(key.key, kind, values)


def is_row_mac(stored: bytes | memoryview | None, kind: str, values: Sequence[Any]) -> bool:
    """Whether this is the hash of these values, under the key version that it names."""
    raw = bytes(stored or b"")
    if len(raw) != ROW_MAC_BYTES:
        return False
    try:
        key = _key(int.from_bytes(raw[:_VERSION_BYTES], "big")).key
    except LookupError:
        return False
    return hmac.compare_digest(raw[_VERSION_BYTES:], _mac(key, kind, values))


def canonical(kind: str, values: Sequence[Any]) -> bytes:
    """Encode exactly these values in this order: each with its type, prefixed with its four-byte length.

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
