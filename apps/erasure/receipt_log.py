"""The receipt log in the keyring database: appends receipts, and builds the receipt files for tenants.

Each entry is stored with a signed checkpoint of the log, in one transaction of the keyring database.
"""

import logging
import secrets
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
from django.conf import settings
from django.db import transaction

from apps.core import merkle
from apps.core.errors import NotFound
from apps.core.locks import lock
from apps.crypto import keyed_hashes, signatures
from apps.crypto.models import KeyState, ServiceKey, ServiceName
from apps.crypto.services import service_key
from apps.erasure.models import Erasure, Phase, Receipt, ReceiptCheckpoint
from apps.projects.scope import Scope
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
)
from apps.transparency.signed_notes import sign_note

logger = logging.getLogger(__name__)

KEYRING: Final = "keyring"
DATA_BACKUPS_LAST: Final = timedelta(days=35)  # as ``memsync backup --prune`` keeps them
KEYRING_BACKUPS_LAST: Final = timedelta(days=7)
CLOCKS_DIFFER: Final = timedelta(minutes=5)


class ReceiptNotFound(NotFound):
    """There is no such receipt."""

    code = "RECEIPT_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptFile:
    """A receipt as its tenant gets it.  file: self-contained, to verify offline.  index: position in the log."""

    id: str
    index: int
    erasure_id: str
    phase: Phase
    kind: str
    issued_at: datetime
    counts: Mapping[str, int]
    file: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name under which to save the file."""
        return f"{self.id}.json"

    def to_json(self) -> bytes:
        return orjson.dumps(self.file, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def append(
    erasure: Erasure, phase: Phase, phases: Mapping[str, Any], *, probe: Mapping[str, Any] | None = None, now: datetime
) -> Receipt:
    """Append the receipt of this phase to the log, or return the one that exists already.

    Call it inside the transaction of the keyring database that also changes the erasure's row.  Raises KeysUnavailable.
    """
    lock("receipts", using=KEYRING)
    there = Receipt.objects.filter(erasure_uid=erasure.uid, phase=phase).first()
    if there is not None:
        return there
    leaves = list(Receipt.objects.order_by("index").values_list("leaf", flat=True))
    key = service_key(ServiceName.RECEIPT)
    public = signatures.public_of(key.key)
    uid = uuid.uuid4()
    first = Receipt.objects.filter(erasure_uid=erasure.uid, phase=Phase.DELETED).values_list("leaf", flat=True).first()
    said: dict[str, Any] = {
        "v": 1,
        "receipt": f"rcp_{uid.hex}",
        "erasure": erasure_id(erasure.uid),
        "phase": str(phase),
        "log_index": len(leaves),
        "deployment": settings.DEPLOYMENT_ID,
        "tenant": _pseudonym("tenant", erasure.tenant_uid.hex),
        "environment": erasure.environment,
        "target": {"kind": erasure.kind, "commitment": commitment(bytes(erasure.nonce), erasure.target)},
        "counts": dict(erasure.counts),
        "phases": dict(phases),
        "authorised": {
            "principal": _pseudonym("principal", erasure.tenant_uid.hex, erasure.actor),
            "method": erasure.method,
            "step_up_age_s": erasure.step_up_age_seconds,
        },
        "probe": dict(probe) if probe is not None else None,
        "first": first,
        "prev": leaves[-1] if leaves else NO_HASH,
        "key_id": key_id_of(public),
        "issued_at": written(now),
    }
    said["sig"] = signatures.sign(key.key, signed_bytes(said)).hex()
    body = canonical(said)
    row = Receipt(
        index=len(leaves),
        receipt_uid=uid,
        tenant_uid=erasure.tenant_uid,
        erasure_uid=erasure.uid,
        phase=phase,
        issued_at=now,
        body=body.decode(),
        leaf=merkle.leaf(body).hex(),
    )
    row.save(force_insert=True)
    leaves.append(row.leaf)
    note = sign_note(
        origin_of(settings.DEPLOYMENT_ID),
        len(leaves),
        merkle.root([bytes.fromhex(one) for one in leaves]),
        public=public,
        sign=partial(signatures.sign, key.key),
    )
    ReceiptCheckpoint(size=note.size, note=note.text, made_at=now).save(force_insert=True)
    transaction.on_commit(partial(_ship, note.size, note.text), using=KEYRING)
    return row


def check_key() -> None:
    """Raise KeysUnavailable if no receipt could be issued.  Call it before an erasure starts."""
    service_key(ServiceName.RECEIPT)  # created on first use, so before the first receipt


def receipts_of(scope: Scope, *, limit: int = 100, before: int | None = None) -> list[ReceiptFile]:
    """Return the tenant's receipts, newest first.  before: only those before this position in the log."""
    rows = Receipt.objects.filter(tenant_uid=scope.tenant.uid)
    if before is not None:
        rows = rows.filter(index__lt=before)
    return _files(list(rows.order_by("-index")[:limit]))


def get_receipt(scope: Scope, receipt_id: str, *, since: int | None = None) -> ReceiptFile:
    """Return one receipt of the tenant.  Raises ReceiptNotFound.

    since: size of an earlier checkpoint; the file then proves that the log was only appended to since then.
    """
    uid = uid_of(receipt_id, "rcp_")
    row = Receipt.objects.filter(tenant_uid=scope.tenant.uid, receipt_uid=uid).first() if uid else None
    if row is None:
        raise ReceiptNotFound
    (file,) = _files([row], since=since)
    return file


def receipts_of_erasure(scope: Scope, erasure_uid: uuid.UUID) -> list[ReceiptFile]:
    """Return the erasure's receipts in the order of its phases."""
    return receipts_of_erasures(scope, [erasure_uid]).get(erasure_uid, [])


def receipts_of_erasures(scope: Scope, erasure_uids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[ReceiptFile]]:
    """As ``receipts_of_erasure``, of several erasures, by their uids."""
    rows = list(Receipt.objects.filter(tenant_uid=scope.tenant.uid, erasure_uid__in=erasure_uids).order_by("index"))
    found: dict[uuid.UUID, list[ReceiptFile]] = {}
    for row, file in zip(rows, _files(rows), strict=True):
        found.setdefault(row.erasure_uid, []).append(file)
    return found


def newest_checkpoint() -> str | None:
    """Return the newest checkpoint of the whole log; None if the log is empty.  It reveals no receipt."""
    newest = ReceiptCheckpoint.objects.order_by("-size").first()
    return newest.note if newest else None


def public_keys() -> KeySet:
    """Return the public keys that verify this deployment's receipts, retired ones included.  Raises KeysUnavailable."""
    service_key(ServiceName.RECEIPT)  # created on first use
    rows = ServiceKey.objects.filter(name=ServiceName.RECEIPT).exclude(state=KeyState.PENDING).order_by("version")
    made = [(row.version, row.created_at) for row in rows if row.wrapped is not None]
    ends = [created_at for _, created_at in made[1:]]
    keys = [
        PublicKey(
            public=signatures.public_of(service_key(ServiceName.RECEIPT, version).key),
            # Keys are dated by the database's clock, receipts by the process's clock.
            not_before=created_at - CLOCKS_DIFFER,
            not_after=end + CLOCKS_DIFFER if end else None,
        )
        for (version, created_at), end in zip(made, [*ends, None], strict=True)
    ]
    return KeySet(deployment=settings.DEPLOYMENT_ID, keys=tuple(keys))


def erasure_id(uid: uuid.UUID) -> str:
    return f"ers_{uid.hex}"


def new_nonce() -> bytes:
    return secrets.token_bytes(32)


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _ship(size: int, note: str) -> None:
    """Write the checkpoint to the directory of the audit checkpoints, from where they are copied elsewhere."""
    directory = Path(settings.AUDIT_CHECKPOINT_DIR)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (directory / f"receipts-{size:09d}.note").write_text(note, encoding="utf-8")
    except OSError as error:
        logger.error("a checkpoint of receipts was not written", extra={"error": type(error).__name__})


def _pseudonym(kind: str, *parts: str) -> str:
    """Return the pseudonym for receipts: stable while the key exists, and not linkable without the key."""
    return keyed_hashes.mac16(service_key(ServiceName.RECEIPT).key, f"receipt {kind}", *parts).hex()


def _files(rows: Sequence[Receipt], *, since: int | None = None) -> list[ReceiptFile]:
    """Build the files of these receipts, all with proofs against the newest checkpoint."""
    if not rows:
        return []
    with transaction.atomic(using=KEYRING):
        newest = ReceiptCheckpoint.objects.order_by("-size").first()
        if newest is None:
            return []
        hashes = Receipt.objects.filter(index__lt=newest.size).order_by("index").values_list("leaf", flat=True)
        leaves = [bytes.fromhex(one) for one in hashes]
    erasures = Erasure.objects.in_bulk({row.erasure_uid for row in rows})
    return [_file(row, erasures[row.erasure_uid], leaves, newest, since) for row in rows]


def _file(
    row: Receipt, erasure: Erasure, leaves: Sequence[bytes], newest: ReceiptCheckpoint, since: int | None
) -> ReceiptFile:
    receipt = orjson.loads(row.body)
    file: dict[str, Any] = {
        "format": FORMAT,
        "receipt": receipt,
        "log": {
            "index": row.index,
            "path": [one.hex() for one in merkle.path(leaves, row.index)],
            "checkpoint": newest.note,
        },
        "disclosure": {"nonce": bytes(erasure.nonce).hex(), "target": erasure.target},
    }
    if since is not None and 1 <= since <= len(leaves):
        file["growth"] = {"since": since, "path": [one.hex() for one in merkle.growth(leaves, since)]}
    return ReceiptFile(
        id=receipt["receipt"],
        index=row.index,
        erasure_id=receipt["erasure"],
        phase=Phase(row.phase),
        kind=erasure.kind,
        issued_at=row.issued_at,
        counts=receipt["counts"],
        file=file,
    )


def uid_of(text: str, prefix: str) -> uuid.UUID | None:
    """Parse a public id with this prefix; None if it is not one."""
    digits = text.removeprefix(prefix)
    if not text.startswith(prefix) or len(digits) != 32:
        return None
    try:
        return uuid.UUID(hex=digits)
    except ValueError:
        return None
