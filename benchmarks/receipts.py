"""Time to verify a receipt, by size of its log.  Pure: uses no database and no instance."""

import json
import statistics
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from apps.core import merkle
from apps.crypto import signatures
from apps.transparency.receipts import (
    FORMAT,
    NO_HASH,
    KeySet,
    PublicKey,
    canonical,
    commitment,
    key_id_of,
    origin_of,
    signed_bytes,
    verify,
)
from apps.transparency.signed_notes import sign_note

KEY = b"\x01" * 32
NONCE = b"\x02" * 32
WHEN = datetime(2026, 11, 22, tzinfo=UTC)


def run(*, sizes: tuple[int, ...] = (1, 1_000, 100_000), runs: int = 200) -> list[dict[str, Any]]:
    """For each size: bytes of the file, milliseconds to verify it (median and p99), and to build the log."""
    return [_measure(size, runs) for size in sizes]


def _measure(size: int, runs: int) -> dict[str, Any]:
    public = signatures.public_of(KEY)
    target = {"kind": "memories", "tenant": "t", "memory_ids": list(range(1, 11))}
    said: dict[str, Any] = {
        "v": 1, "receipt": "rcp_0", "erasure": "ers_0", "phase": "deleted", "log_index": size // 2,
        "deployment": "here", "tenant": "ab" * 16, "environment": "production",
        "target": {"kind": "memories", "commitment": commitment(NONCE, target)},
        "counts": {"memories": 10, "vectors": 10, "terms": 80}, "phases": {"deleted": {"at": "t", "db_lsn": "0/1"}},
        "authorised": {"principal": "cd" * 16, "method": "session+webauthn", "step_up_age_s": 41},
        "probe": {"by_id": "404", "recall_hits": 0, "asked": 5}, "first": None, "prev": NO_HASH,
        "key_id": key_id_of(public), "issued_at": WHEN.isoformat(),
    }  # fmt: skip
    said["sig"] = signatures.sign(KEY, signed_bytes(said)).hex()
    leaves = [merkle.leaf(str(number).encode()) for number in range(size)]
    leaves[size // 2] = merkle.leaf(canonical(said))
    began = time.perf_counter()
    root = merkle.root(leaves)
    built = (time.perf_counter() - began) * 1000
    note = sign_note(origin_of("here"), size, root, public=public, sign=partial(signatures.sign, KEY))
    path = [one.hex() for one in merkle.path(leaves, size // 2)]
    file = json.dumps(
        {
            "format": FORMAT,
            "receipt": said,
            "log": {"index": size // 2, "path": path, "checkpoint": note.text},
            "disclosure": {"nonce": NONCE.hex(), "target": target},
        }
    ).encode()
    keys = KeySet(deployment="here", keys=(PublicKey(public=public, not_before=WHEN - timedelta(days=1)),))
    took = []
    for _ in range(runs):
        began = time.perf_counter()
        verify(file, keys)
        took.append((time.perf_counter() - began) * 1000)
    return {
        "receipts": size,
        "file_bytes": len(file),
        "verify_ms_p50": round(statistics.median(took), 2),
        "verify_ms_p99": round(sorted(took)[int(0.99 * (runs - 1))], 2),
        "root_ms": round(built, 1),
    }
