"""The ciphertext's byte layout, suite 1: a fresh key for every message, committing to key and context.

::

    0      1        2               6          30           62               62+n     78+n
    format | suite  | key version   | salt     | commitment | ciphertext     | tag    |
    1      | 1      | 4, big-endian | 24       | 32         | n              | 16     |
    '------ header, 6 bytes --------'

    A          = header || context
    okm        = HKDF-Expand-SHA512(key, "mem/1/msg" || salt || SHA-256(A), 64)
    message key, commitment = okm[:32], okm[32:]
    ciphertext || tag = AES-256-GCM(message key, nonce = 0^96, padded text, associated = A)

A message key is used once, so the nonce may be constant.  The commitment is compared first: one blob cannot be made
to open under two keys.  The context is in the derivation and in the associated data, so a moved blob fails twice.

The context is eight parts, each behind its length in two bytes: "mem/1", deployment, tenant (16), environment (1),
space (16), field, record id (8), revision (8); numbers big-endian.

The text is padded with 0x80 and zeros to a multiple of 64 up to 512 bytes, above that to PADME's sizes (Nikitin et
al. 2019, section 4), so that its length reveals little.
"""

import os
import struct
import uuid
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, final

from apps.core.errors import TooLarge, Unavailable
from apps.crypto import aead

FORMAT: Final = 1
SUITE: Final = 1
OVERHEAD_BYTES: Final = 78
KEY_BYTES: Final = 64
# The API takes texts of one million characters, up to 4 bytes each.  They are sealed in one piece, which costs their
# size in memory a few times over; more than this would need chunks, each with its place in the context.
MAX_PLAINTEXT_BYTES: Final = 4 * 1024 * 1024

# One byte each; "" stands for what belongs to a whole tenant.  Never renumber: the byte is in every ciphertext.
ENVIRONMENTS: Final = {"": 0, "development": 1, "staging": 2, "production": 3}

_LABEL: Final = b"mem/1"
_MESSAGE: Final = b"mem/1/msg"
_NONCE: Final = bytes(aead.NONCE_BYTES)
_HEADER: Final = struct.Struct(">BBI")
_RECORD: Final = struct.Struct(">HQHQ")
_SALT_BYTES: Final = 24
_SALT_ENDS: Final = _HEADER.size + _SALT_BYTES
_COMMITMENT_ENDS: Final = _SALT_ENDS + 32


class DecryptError(Unavailable):
    """This record cannot be opened."""

    def __init__(self, reason: str) -> None:
        """reason: a short code for the audit, never for a caller, to whom all failures look alike."""
        super().__init__()
        self.reason = reason


class PlaintextTooLarge(TooLarge):
    """The text is too large to be sealed in one piece: 4 MiB is the most."""


@dataclass(frozen=True, slots=True)
class Context:
    """Where a sealed value belongs.  It opens there and nowhere else.

    field: ``"table.column"``.  revision: counts the values that one column of one record has had, where they change.
    """

    deployment: str
    tenant: uuid.UUID
    environment: str
    space: uuid.UUID
    field: str
    record_id: int
    revision: int = 0

    def to_bytes(self) -> bytes:
        return (
            _owner(self.deployment, self.tenant, self.environment, self.space)
            + _prefixed(self.field.encode())
            + _RECORD.pack(8, self.record_id, 8, self.revision)
        )


def seal(key: bytes, context: Context, plaintext: bytes, *, key_version: int) -> bytes:
    """The sealed form of ``plaintext``.  key: 64 bytes.  Raises PlaintextTooLarge."""
    return _seal(_message_keys(key), context.to_bytes(), plaintext, key_version, os.urandom(_SALT_BYTES))


def open_sealed(key: bytes, context: Context, blob: bytes) -> bytes:
    """What was sealed under this key for this context.  Raises DecryptError for anything else."""
    _check_numbers(context.record_id, context.revision)
    return _open(_message_keys(key), context.to_bytes(), blob)


def key_version_of(blob: bytes) -> int:
    """The key version that a blob says it was sealed under.  Raises DecryptError if it is no blob of ours.

    It chooses the key and proves nothing: opening does.
    """
    if len(blob) < OVERHEAD_BYTES:
        raise DecryptError("truncated")
    layout, suite, version = _HEADER.unpack_from(blob)
    if (layout, suite) != (FORMAT, SUITE):
        raise DecryptError("unknown_suite")
    return int(version)


@final
class Box:
    """The envelope for many fields of one space: seals and opens the same bytes as ``seal`` and ``open_sealed``.

    The key and the owner's part of the context are prepared once, which halves the time of a field.
    """

    __slots__ = ("_fields", "_keys", "_owner", "key_version")

    def __init__(
        self, key: bytes, *, key_version: int, deployment: str, tenant: uuid.UUID, environment: str, space: uuid.UUID
    ) -> None:
        self.key_version: Final = key_version
        self._keys: Final = _message_keys(key)
        self._owner: Final = _owner(deployment, tenant, environment, space)
        self._fields: Final[dict[str, bytes]] = {}

    def seal(self, field: str, record_id: int, plaintext: bytes, *, revision: int = 0) -> bytes:
        context = self._context(field, record_id, revision)
        return _seal(self._keys, context, plaintext, self.key_version, os.urandom(_SALT_BYTES))

    def open(self, field: str, record_id: int, blob: bytes, *, revision: int = 0) -> bytes:
        _check_numbers(record_id, revision)
        return _open(self._keys, self._context(field, record_id, revision), blob)

    def _context(self, field: str, record_id: int, revision: int) -> bytes:
        start = self._fields.get(field)
        if start is None:
            # Field names are columns of the schema, a few dozen in all, so this never grows.
            start = self._fields[field] = self._owner + _prefixed(field.encode())
        return start + _RECORD.pack(8, record_id, 8, revision)


def padded_size(size: int) -> int:
    """The sealed length, less the overhead, of a text of ``size`` bytes."""
    marked = size + 1
    if marked <= 512:
        return (marked + 63) & ~63
    exponent = marked.bit_length() - 1
    kept_bits = exponent.bit_length()
    mask = (1 << (exponent - kept_bits)) - 1
    return (marked + mask) & ~mask


def _seal(keys: aead.Mac, context: bytes, plaintext: bytes, key_version: int, salt: bytes) -> bytes:
    """``seal`` with the salt chosen by the caller, so that known answers can be tested.  Never give a salt twice."""
    if len(plaintext) > MAX_PLAINTEXT_BYTES:
        raise PlaintextTooLarge
    header = _HEADER.pack(FORMAT, SUITE, key_version)
    associated = header + context
    padded = (plaintext + b"\x80").ljust(padded_size(len(plaintext)), b"\x00")
    okm = _derive(keys, salt, associated)
    return header + salt + okm[32:] + aead.seal(okm[:32], _NONCE, padded, associated)


def _open(keys: aead.Mac, context: bytes, blob: bytes) -> bytes:
    key_version_of(blob)
    associated = blob[: _HEADER.size] + context
    okm = _derive(keys, blob[_HEADER.size : _SALT_ENDS], associated)
    if not aead.equal(okm[32:], blob[_SALT_ENDS:_COMMITMENT_ENDS]):
        raise DecryptError("commitment")
    try:
        padded = aead.open_sealed(okm[:32], _NONCE, blob[_COMMITMENT_ENDS:], associated)
    except aead.TagError:
        raise DecryptError("tag") from None
    marked = padded.rstrip(b"\x00")
    if not marked.endswith(b"\x80"):
        raise DecryptError("padding")
    return marked[:-1]


def _check_numbers(record_id: int, revision: int) -> None:
    """Raise DecryptError for numbers that have no bytes: a row is read with its own, which someone may have changed."""
    if not (0 <= record_id < 2**64 and 0 <= revision < 2**64):
        raise DecryptError("context")


def _message_keys(key: bytes) -> aead.Mac:
    # HKDF-Expand wants a pseudorandom key at least as long as the hash (RFC 5869 section 2.3).
    if len(key) != KEY_BYTES:
        raise ValueError("an envelope key has 64 bytes")
    return aead.Mac(key, "sha512")


def _derive(keys: aead.Mac, salt: bytes, associated: bytes) -> bytes:
    # HKDF-Expand to exactly one hash length is its first block: one HMAC, with the block's number at the end.
    return keys(_MESSAGE + salt + sha256(associated).digest() + b"\x01")


def _owner(deployment: str, tenant: uuid.UUID, environment: str, space: uuid.UUID) -> bytes:
    parts = (_LABEL, deployment.encode(), tenant.bytes, bytes((ENVIRONMENTS[environment],)), space.bytes)
    return b"".join(map(_prefixed, parts))


def _prefixed(part: bytes) -> bytes:
    return len(part).to_bytes(2, "big") + part
