"""The primitives: AES-256-GCM, HKDF-SHA512, HMAC, constant-time comparison.

Only this file and ``signatures`` import ``cryptography`` in this app.  It does not depend on tenants or memories.
"""

from typing import Final, Literal, final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import constant_time, hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12

_SHA256: Final = hashes.SHA256()
_SHA512: Final = hashes.SHA512()


class TagError(Exception):
    """The tag does not fit: another key, another context, or changed bytes.  Which of them cannot be known."""


def seal(key: bytes, nonce: bytes, text: bytes, associated: bytes) -> bytes:
    """Return AES-256-GCM ciphertext and its 16-byte tag.  The caller must never use the same (key, nonce) twice."""
    return _cipher(key, nonce).encrypt(nonce, text, associated)


def open_sealed(key: bytes, nonce: bytes, sealed: bytes, associated: bytes) -> bytes:
    """Return the text that ``seal`` encrypted with the same arguments.  Raises TagError for anything else."""
    try:
        return _cipher(key, nonce).decrypt(nonce, sealed, associated)
    except InvalidTag:
        raise TagError from None


def _cipher(key: bytes, nonce: bytes) -> AESGCM:
    # AESGCM itself also accepts shorter keys and other nonce sizes; this application must not use them.
    if len(key) != KEY_BYTES or len(nonce) != NONCE_BYTES:
        raise ValueError("AES-256-GCM here takes a 32-byte key and a 12-byte nonce")
    return AESGCM(key)


def extract(salt: bytes, secret: bytes | bytearray) -> bytes:
    """A 64-byte pseudorandom key.  HKDF-Extract with SHA-512, RFC 5869 section 2.2."""
    return HKDF.extract(_SHA512, salt, secret)


def expand(prk: bytes, info: bytes, length: int) -> bytes:
    """``length`` bytes (at most 16,320) bound to ``info``.  HKDF-Expand with SHA-512, RFC 5869 section 2.3."""
    return HKDFExpand(_SHA512, length, info).derive(prk)


def keystream(key: bytes, length: int) -> bytes:
    """Return the first ``length`` bytes of AES-256-CTR from block 0.  Each use needs its own key."""
    if len(key) != KEY_BYTES:
        raise ValueError("a keystream takes a 32-byte key")
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(length))


def equal(left: bytes, right: bytes) -> bool:
    """Compare in constant time: the duration does not reveal where the values differ."""
    return constant_time.bytes_eq(left, right)


@final
class Mac:
    """HMAC under one key, called with one message at a time.

    The key's block is hashed once; each call copies that state, which takes a third of the time of starting over.
    """

    __slots__ = ("_state",)

    def __init__(self, key: bytes, digest: Literal["sha256", "sha512"] = "sha256") -> None:
        self._state: Final = HMAC(key, _SHA256 if digest == "sha256" else _SHA512)

    def __call__(self, message: bytes) -> bytes:
        state = self._state.copy()
        state.update(message)
        return state.finalize()
