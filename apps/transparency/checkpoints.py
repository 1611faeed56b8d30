"""Signed checkpoints of the heads of all audit chains, stored in the database and written to files for other hosts.

An attacker who can change the database can rebuild a chain from any row on, and the result is consistent.  A checkpoint
on another host proves what the chain was.  The signing key is wrapped like every other key and is not in the database.
"""

import json
import logging
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction

from apps.audit.checkpoint_statement import Head, NotACheckpoint, Proof, Signed, Statement, prove, root_of, state
from apps.audit.models import Checkpoint, CheckpointHead
from apps.core.locks import lock
from apps.core.queries import fetch_all
from apps.crypto import signatures
from apps.crypto.models import ServiceName
from apps.crypto.services import KeysMissing, service_key

logger = logging.getLogger(__name__)

AFTER: Final = timedelta(minutes=1)
AFTER_ROWS: Final = 1_000
FILES: Final = "checkpoints-*.jsonl"


def take_checkpoint(*, now: datetime, at_once: bool = False) -> Signed | None:
    """Sign the heads of all chains, if one has grown and a minute has passed, or sooner after many rows.

    at_once: do not wait.  The file is written after the commit; after a crash or with a full disk, the missing lines
    are written with the next checkpoint.  Returns None if nothing is due.  Raises KeysUnavailable.
    """
    with transaction.atomic():
        lock("audit checkpoint")
        before, standing = find_newest(), _standing()
        heads, moved = [head for head, _ in standing], [head for head, has_moved in standing if has_moved]
        if not moved or not (at_once or _is_due(before, heads, now=now)):
            return None
        key = service_key(ServiceName.AUDIT)
        statement = state(
            deployment=settings.DEPLOYMENT_ID,
            heads=heads,
            moved=moved,
            before=before.statement if before else None,
            key_version=key.version,
            now=now,
        )
        signed = Signed(
            statement=statement, signature=signatures.sign(key.key, statement.signed).hex(), heads=tuple(moved)
        )
        _store(signed, now=now)
    ship(signed)
    return signed


def find_newest() -> Signed | None:
    row = Checkpoint.objects.order_by("-number").first()
    return _signed(row, _heads_of(row)) if row else None


def stored(*, using: str = "default") -> Iterator[Signed]:
    """Yield all checkpoints of this database, oldest first.  They are not verified: see ``is_signed``."""
    for row in Checkpoint.objects.using(using).prefetch_related("heads").order_by("number").iterator(chunk_size=1_000):
        yield _signed(row, sorted(Head(head.chain, head.seq, head.hash) for head in row.heads.all()))


def listing(chain: int, *, most: int) -> list[Signed]:
    """Return the newest checkpoints that list this chain, newest first.  They are not verified: see ``is_signed``."""
    numbers = CheckpointHead.objects.filter(chain=chain).order_by("-checkpoint_id").values("checkpoint_id")[:most]
    rows = Checkpoint.objects.filter(number__in=numbers).prefetch_related("heads").order_by("-number")
    return [_signed(row, sorted(Head(head.chain, head.seq, head.hash) for head in row.heads.all())) for row in rows]


def heads_at(said: Statement, *, using: str = "default") -> list[Head] | None:
    """Return the heads of all chains at a checkpoint, from the stored heads of this and earlier checkpoints.

    Returns None if they do not match the root that the checkpoint signs.
    """
    rows = CheckpointHead.objects.using(using).filter(checkpoint_id__lte=said.number)
    newest = rows.order_by("chain", "-checkpoint_id").distinct("chain").values_list("chain", "seq", "hash")
    heads = [Head(*values) for values in newest]
    return heads if root_of(heads) == said.root else None


def proof_for(chain: int) -> Proof | None:
    """Return the proof that the newest checkpoint signs this chain's head.  It reveals no other chain."""
    newest = find_newest()
    heads = heads_at(newest.statement) if newest else None
    if not newest or not heads or chain not in {head.chain for head in heads}:
        return None
    return prove(newest, heads, chain)


def read(path: Path) -> Iterator[Signed]:
    """Yield the checkpoints of a file, or of all files of ``ship`` in a directory.  Raises NotACheckpoint, OSError."""
    for file in sorted(path.glob(FILES)) if path.is_dir() else [path]:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                yield from_line(line)


def from_line(line: str) -> Signed:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise NotACheckpoint from error
    return Signed.from_json(record if isinstance(record, dict) else {})


def is_signed(one: Signed, public: bytes | None = None) -> bool:
    """Verify the signature.  public: use this key instead of the deployment's own.  Raises KeysUnavailable."""
    try:
        key = public if public is not None else public_key(one.statement.key_version)
    except KeysMissing:
        return False
    return signatures.verify(key, one.statement.signed, bytes.fromhex(one.signature))


def public_key(version: int | None = None) -> bytes:
    """Return the 32-byte public key that verifies checkpoints on any host.  Raises KeysMissing, KeysUnavailable."""
    return signatures.public_of(service_key(ServiceName.AUDIT, version).key)


def ship(newest: Signed) -> None:
    """Append the checkpoints that are in no file yet to today's file.  After an error the next call retries."""
    directory = Path(settings.AUDIT_CHECKPOINT_DIR)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for one in _unshipped(directory, newest):
            _append(directory / f"checkpoints-{one.statement.made_at[:10]}.jsonl", one)
    except (OSError, NotACheckpoint) as error:
        logger.error("a checkpoint was not written to its file", extra={"error": type(error).__name__})


def _unshipped(directory: Path, newest: Signed) -> list[Signed]:
    files = sorted(directory.glob(FILES))
    lines = files[-1].read_text(encoding="utf-8").splitlines() if files else []
    last = from_line(lines[-1]).statement.number if lines else 0
    rows = Checkpoint.objects.filter(number__gt=last, number__lt=newest.statement.number).order_by("number")
    return [*(_signed(row, _heads_of(row)) for row in rows), newest]


def _append(file: Path, one: Signed) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as target:
        target.write(json.dumps(one.to_json(), separators=(",", ":")) + "\n")
        target.flush()
        os.fsync(target.fileno())


def _is_due(before: Signed | None, heads: list[Head], *, now: datetime) -> bool:
    if before is None:
        return True
    rows = sum(head.seq for head in heads) - before.statement.rows
    return rows >= AFTER_ROWS or now - datetime.fromisoformat(before.statement.made_at) >= AFTER


def _standing() -> list[tuple[Head, bool]]:
    """Return each chain's head, and whether it has moved since the last checkpoint.  One statement: one snapshot."""
    rows = fetch_all(
        "select h.chain, h.seq, h.hash, last.seq is distinct from h.seq from audit_chainhead h left join lateral ("
        "  select seq from audit_checkpointhead c where c.chain = h.chain order by c.checkpoint_id desc limit 1"
        ") last on true order by h.chain"
    )
    return [(Head(chain, seq, hash_), has_moved) for chain, seq, hash_, has_moved in rows]


def _store(signed: Signed, *, now: datetime) -> None:
    said = signed.statement
    row = Checkpoint.objects.create(
        number=said.number,
        made_at=now,
        deployment=said.deployment,
        key_version=said.key_version,
        chains=said.chains,
        rows=said.rows,
        root=said.root,
        moved=said.moved,
        previous=said.previous,
        signature=signed.signature,
    )
    CheckpointHead.objects.bulk_create(
        CheckpointHead(checkpoint=row, chain=head.chain, seq=head.seq, hash=head.hash) for head in signed.heads
    )


def _heads_of(row: Checkpoint) -> list[Head]:
    return [Head(*values) for values in row.heads.order_by("chain").values_list("chain", "seq", "hash")]


def _signed(row: Checkpoint, heads: list[Head]) -> Signed:
    return Signed(
        statement=Statement(
            deployment=row.deployment,
            number=row.number,
            made_at=row.made_at.isoformat(),
            key_version=row.key_version,
            chains=row.chains,
            rows=row.rows,
            root=row.root,
            moved=row.moved,
            previous=row.previous,
        ),
        signature=row.signature,
        heads=tuple(heads),
    )
