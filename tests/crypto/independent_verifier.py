"""Suite 1 a second time, from its description alone: from a root key and a salt to the text, and back.

Imports nothing of the product: the standard library, and AES from ``cryptography``.  Run by itself it opens every
frozen envelope in tests/vectors and prints how many: ``python tests/crypto/independent_verifier.py``.
"""

import hmac
import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VECTORS = Path(__file__).parent.parent / "vectors"
ENVIRONMENTS = ("", "development", "staging", "production")
Where = dict[str, str]  # deployment, tenant, environment, space


def key_of(purpose: str, secret: bytes, salt: bytes, where: Where, size: int = 32) -> bytes:
    """HKDF-SHA512 (RFC 5869) of a root or identity key under the salt of a space; at most 64 bytes, one block."""
    info = "|".join(("mem/1", purpose, where["deployment"], where["tenant"], where["environment"], where["space"]))
    return hmac.digest(hmac.digest(salt, secret, "sha512"), info.encode() + b"\x01", "sha512")[:size]


def context_of(where: Where, field: str, record_id: int, revision: int) -> bytes:
    parts = (b"mem/1", where["deployment"].encode(), UUID(where["tenant"]).bytes,
             bytes([ENVIRONMENTS.index(where["environment"])]), UUID(where["space"]).bytes, field.encode(),
             record_id.to_bytes(8, "big"), revision.to_bytes(8, "big"))  # fmt: skip
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def seal(key: bytes, context: bytes, text: bytes, key_version: int, salt: bytes) -> bytes:
    size = len(text) + 1
    step = 64
    if size > 512:  # PADME: keep as many leading bits as the exponent has
        exponent = size.bit_length() - 1
        step = 2 ** (exponent - exponent.bit_length())
    padded = text + b"\x80" + bytes(-size % step)
    header = b"\x01\x01" + key_version.to_bytes(4, "big")
    message_key, commitment = _message_key(key, salt, header + context)
    return header + salt + commitment + AESGCM(message_key).encrypt(bytes(12), padded, header + context)


def open_sealed(key: bytes, context: bytes, blob: bytes) -> bytes:
    """Raises ValueError or InvalidTag for what was not sealed under this key for this context."""
    header, salt, commitment, ciphertext = blob[:6], blob[6:30], blob[30:62], blob[62:]
    message_key, expected = _message_key(key, salt, header + context)
    if header[:2] != b"\x01\x01" or not hmac.compare_digest(commitment, expected):
        raise ValueError("not suite 1, or not under this key in this place")
    text, marker, zeros = AESGCM(message_key).decrypt(bytes(12), ciphertext, header + context).rpartition(b"\x80")
    if not marker or zeros.strip(b"\x00"):
        raise ValueError("no padding")
    return text


def _message_key(key: bytes, salt: bytes, associated: bytes) -> tuple[bytes, bytes]:
    okm = hmac.digest(key, b"mem/1/msg" + salt + sha256(associated).digest() + b"\x01", "sha512")
    return okm[:32], okm[32:]


def main() -> None:
    opened = 0
    for case in json.loads((VECTORS / "envelope_suite1.json").read_text(encoding="utf-8")):
        opened += open_frozen(case, bytes.fromhex(case["key"])) == bytes.fromhex(case["text"])
    for case in json.loads((VECTORS / "space_suite1.json").read_text(encoding="utf-8")):
        key = key_of("content", bytes.fromhex(case["root"]), bytes.fromhex(case["salt"]), case["where"], 64)
        for one in case["envelopes"]:
            opened += open_frozen({**one, "context": {**case["where"], **one}}, key) == one["text"].encode()
    print(f"{opened} frozen envelopes opened")  # noqa: T201


def open_frozen(case: dict[str, Any], key: bytes) -> bytes:
    where = case["context"]
    context = context_of(where, where["field"], where["record_id"], where["revision"])
    return open_sealed(key, context, bytes.fromhex(case["blob"]))


if __name__ == "__main__":
    main()
