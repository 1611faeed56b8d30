"""Signatures with Ed25519, RFC 8032.  Beside ``aead``, the only file of this app that imports ``cryptography``."""

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64


def sign(private: bytes, message: bytes) -> bytes:
    """64 bytes.  private: a 32-byte seed."""
    return Ed25519PrivateKey.from_private_bytes(private).sign(message)


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of this public key signed this message.  Whatever is no key or no signature did not."""
    if len(public) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def public_of(private: bytes) -> bytes:
    """The public key, 32 bytes, that goes with a seed."""
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
