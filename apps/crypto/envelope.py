"""Envelope format of ciphertexts, suite 1: a new key for every message, with a commitment to key and context.

::

    0      1        2               6          30           62               62+n     78+n
    format | suite  | key version   | salt     | commitment | ciphertext     | tag    |
    1      | 1      | 4, big-endian | 24       | 32         | n              | 16     |
    '------ header, 6 bytes --------'

    A          = header || context
    okm        = HKDF-Expand-SHA512(key, "mem/1/msg" || salt || SHA-256(A), 64)
    message key, commitment = okm[:32], okm[32:]
    ciphertext || tag = AES-256-GCM(message key, nonce = 0^96, padded text, associated = A)

A message key is used once, so the nonce may be constant.  The commitment is compared first, so no one can build one
blob that decrypts under two keys.  The context is part of both the key derivation and the associated data, so a blob
copied to another row or column fails both checks.

The context has eight parts, each prefixed with its two-byte length: "mem/1", deployment, tenant (16 bytes),
environment (1), space (16), field, record id (8), revision (8).  Numbers are big-endian.

The text is padded with 0x80 and zeros, to a multiple of 64 bytes up to 512 bytes and to PADME's sizes above that
(Nikitin et al. 2019, section 4), so that the ciphertext's length reveals little.
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
# The API accepts texts of one million characters, up to 4 bytes each.  A text is encrypted in one piece, which needs a
# few times its size in memory.  Larger texts would need chunks, each with its position in the context.
MAX_PLAINTEXT_BYTES: Final = 4 * 1024 * 1024

# One byte each; "" is for values that belong to a whole tenant.  Never renumber: every envelope is bound to this byte.
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
        """reason: a short code for the audit log.  Callers never see it: all failures look the same to them."""
        super().__init__()
        self.reason = reason


class PlaintextTooLarge(TooLarge):
    """The text is too large to be sealed in one piece: 4 MiB is the most."""


@dataclass(frozen=True, slots=True)
class Context:
    """The deployment, tenant, space, field and record an envelope belongs to.  It decrypts only in this context.

    field: ``"table.column"``.  revision: number of the value, for a column whose value changes.
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
    """Encrypt ``plaintext`` into an envelope.  key: 64 bytes.  Raises PlaintextTooLarge."""
    return _seal(_message_keys(key), context.to_bytes(), plaintext, key_version, os.urandom(_SALT_BYTES))


def open_sealed(key: bytes, context: Context, blob: bytes) -> bytes:
    """Decrypt an envelope made with this key and context.  Raises DecryptError for anything else."""
    _check_numbers(context.record_id, context.revision)
    return _open(_message_keys(key), context.to_bytes(), blob)


def key_version_of(blob: bytes) -> int:
    """Return the key version in the envelope's header.  Raises DecryptError if the blob is not such an envelope.

    The version is only used to select the key.  It is not authenticated until the envelope is decrypted.
    """
    if len(blob) < OVERHEAD_BYTES:
        raise DecryptError("truncated")
    layout, suite, version = _HEADER.unpack_from(blob)
    if (layout, suite) != (FORMAT, SUITE):
        raise DecryptError("unknown_suite")
    return int(version)


@final
class Box:
    """Encrypts and decrypts many fields of one space, in the same format as ``seal`` and ``open_sealed``.

    The key and the tenant's and space's part of the context are prepared once, which halves the time per field.
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
            # Field names are columns of the schema, a few dozen in all, so this cache stays small.
            start = self._fields[field] = self._owner + _prefixed(field.encode())
        return start + _RECORD.pack(8, record_id, 8, revision)


def padded_size(size: int) -> int:
    """Return the padded length of a text of ``size`` bytes: the envelope's length without the overhead."""
    marked = size + 1
    if marked <= 512:
        return (marked + 63) & ~63
    exponent = marked.bit_length() - 1
    kept_bits = exponent.bit_length()
    mask = (1 << (exponent - kept_bits)) - 1
    return (marked + mask) & ~mask


def _seal(keys: aead.Mac, context: bytes, plaintext: bytes, key_version: int, salt: bytes) -> bytes:
    """``seal`` with a salt from the caller, so that tests can use known answers.  Never use a salt twice."""
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
    """Raise DecryptError for numbers that do not fit 8 bytes: someone may have changed them in the row."""
    if not (0 <= record_id < 2**64 and 0 <= revision < 2**64):
        raise DecryptError("context")


def _message_keys(key: bytes) -> aead.Mac:
    # HKDF-Expand needs a pseudorandom key at least as long as the hash (RFC 5869 section 2.3).
    if len(key) != KEY_BYTES:
        raise ValueError("an envelope key has 64 bytes")
    return aead.Mac(key, "sha512")


def _derive(keys: aead.Mac, salt: bytes, associated: bytes) -> bytes:
    # HKDF-Expand to exactly one hash length is one HMAC over its input and the block number 1.
    return keys(_MESSAGE + salt + sha256(associated).digest() + b"\x01")


def _owner(deployment: str, tenant: uuid.UUID, environment: str, space: uuid.UUID) -> bytes:
    parts = (_LABEL, deployment.encode(), tenant.bytes, bytes((ENVIRONMENTS[environment],)), space.bytes)
    return b"".join(map(_prefixed, parts))


def _prefixed(part: bytes) -> bytes:
    return len(part).to_bytes(2, "big") + part
