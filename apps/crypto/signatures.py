"""Ed25519 signatures, RFC 8032.  In this app, only this file and ``aead`` import ``cryptography``."""

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64


def sign(private: bytes, message: bytes) -> bytes:
    """Return the 64-byte signature.  private: a 32-byte seed."""
    return Ed25519PrivateKey.from_private_bytes(private).sign(message)


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of this public key signed this message.  False also for a malformed key or signature."""
    if len(public) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def public_of(private: bytes) -> bytes:
    """Return the 32-byte public key of a 32-byte seed."""
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
