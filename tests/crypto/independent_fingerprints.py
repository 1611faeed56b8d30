"""Tokens, macs, public ids and the rotation of vectors a second time, from their descriptions alone.

Imports nothing of the product.  The keys come from ``independent_verifier.key_of``.
"""

import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def token(key: bytes, field: str, term: str) -> int:
    return int.from_bytes(hmac.digest(key, f"{field}\x1f{term}".encode(), "sha256")[:8], "big", signed=True)


def mac(key: bytes, *parts: bytes) -> str:
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return hmac.digest(key, message, "sha256")[:16].hex()


def public_id(key: bytes, *parts: str) -> str:
    return "mem_" + hmac.digest(key, "\0".join(parts).encode(), "sha256")[:16].hex()


def rotate(key: bytes, vector: list[float]) -> list[float]:
    """Three rounds of sign flip, permutation and block Hadamard; the coins and the order from AES-256-CTR."""
    size = len(vector)
    block = min(size & -size, 128)
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(27 * size))
    for turn in range(3):
        numbers = [
            int.from_bytes(stream[at : at + 8], "little") for at in range(turn * 8 * size, (turn + 1) * 8 * size, 8)
        ]
        coins = stream[(24 + turn) * size :]
        flipped = [-value if not coins[at] & 1 else value for at, value in enumerate(vector)]
        mixed = [flipped[at] for at in sorted(range(size), key=numbers.__getitem__)]
        vector = [
            sum(mixed[at - at % block + other] * (-1) ** (at % block & other).bit_count() for other in range(block))
            / block**0.5
            for at in range(size)
        ]
    return vector
