"""The log of receipts, in the keyring database: adding to it, and the files that are handed out of it.

Each entry comes with a signed checkpoint of the log that it makes, in one transaction of the keyring's.
"""

import logging
import secrets
import uuid
from collections.abc import Mapping, Sequence
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
    """A receipt as its tenant may have it.  file: complete in itself.  index: its place in the log."""

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
        """Of the file to save it as."""
        return f"{self.id}.json"

    def to_json(self) -> bytes:
        return orjson.dumps(self.file, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def append(
    erasure: Erasure, phase: Phase, phases: Mapping[str, Any], *, probe: Mapping[str, Any] | None = None, now: datetime
) -> Receipt:
    """The receipt of this phase, in the log; the one that is there already, if there is.

    In a transaction of the keyring's, in which the erasure's own row changes too.  Raises KeysUnavailable.
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
    """Nothing is begun of which no receipt could be issued.  Raises KeysUnavailable."""
    service_key(ServiceName.RECEIPT)  # made on first use, before what it signs


def receipts_of(scope: Scope, *, limit: int = 100, before: int | None = None) -> list[ReceiptFile]:
    """The tenant's receipts, newest first.  before: only those before this place in the log."""
    rows = Receipt.objects.filter(tenant_uid=scope.tenant.uid)
    if before is not None:
        rows = rows.filter(index__lt=before)
    return _files(list(rows.order_by("-index")[:limit]))


def get_receipt(scope: Scope, receipt_id: str, *, since: int | None = None) -> ReceiptFile:
    """One of the tenant's.  since: the size of a checkpoint that is held elsewhere; the file then shows that the log
    only grew since.  Raises ReceiptNotFound.
    """
    uid = uid_of(receipt_id, "rcp_")
    row = Receipt.objects.filter(tenant_uid=scope.tenant.uid, receipt_uid=uid).first() if uid else None
    if row is None:
        raise ReceiptNotFound
    (file,) = _files([row], since=since)
    return file


def receipts_of_erasure(scope: Scope, erasure_uid: uuid.UUID) -> list[ReceiptFile]:
    """In the order of its phases."""
    rows = Receipt.objects.filter(tenant_uid=scope.tenant.uid, erasure_uid=erasure_uid)
    return _files(list(rows.order_by("index")))


def newest_checkpoint() -> str | None:
    """Of the whole log; says nothing of anybody's receipts."""
    newest = ReceiptCheckpoint.objects.order_by("-size").first()
    return newest.note if newest else None


def public_keys() -> KeySet:
    """With which receipts of this deployment are checked, the retired ones among them.  Raises KeysUnavailable."""
    service_key(ServiceName.RECEIPT)  # made on first use
    rows = ServiceKey.objects.filter(name=ServiceName.RECEIPT).exclude(state=KeyState.PENDING).order_by("version")
    made = [(row.version, row.created_at) for row in rows if row.wrapped is not None]
    ends = [created_at for _, created_at in made[1:]]
    keys = [
        PublicKey(
            public=signatures.public_of(service_key(ServiceName.RECEIPT, version).key),
            # By the database's clock, and receipts by that of the process.
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
    """Into the directory of the trail's checkpoints, from where they are carried away."""
    directory = Path(settings.AUDIT_CHECKPOINT_DIR)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (directory / f"receipts-{size:09d}.note").write_text(note, encoding="utf-8")
    except OSError as error:
        logger.error("a checkpoint of receipts was not written", extra={"error": type(error).__name__})


def _pseudonym(kind: str, *parts: str) -> str:
    """Stands for a person in receipts: the same in all of them while the key exists, linked to no one without it."""
    return keyed_hashes.mac16(service_key(ServiceName.RECEIPT).key, f"receipt {kind}", *parts).hex()


def _files(rows: Sequence[Receipt], *, since: int | None = None) -> list[ReceiptFile]:
    """All against one checkpoint, the newest."""
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
    """Of an id as it is shown; None for what is no such id."""
    digits = text.removeprefix(prefix)
    if not text.startswith(prefix) or len(digits) != 32:
        return None
    try:
        return uuid.UUID(hex=digits)
    except ValueError:
        return None
