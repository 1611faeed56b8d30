"""Rotation of a tenant's data key while the service runs.

A rotation is a row.  Its state determines the next step, and the remaining work is a count of rows.  Every step is a
short transaction and may be repeated, so any worker can continue after another one crashed.  The keys' own steps are
in ``apps.crypto.lifecycle``.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, QuerySet

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import fetch_value
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome, next_size
from apps.crypto import lifecycle
from apps.crypto.models import READING_WINDOW, KeyKind, TenantKeyState
from apps.key_management import identity
from apps.key_management.models import OPEN, KeyRotation, RotationState
from apps.key_management.rotation_requests import ask_for_rotation
from apps.memories import reencryption
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope

logger = logging.getLogger(__name__)

LARGEST_BATCH: Final = 200  # rows in one transaction
SMALLEST_BATCH: Final = 50

_SLOTS: Final = 7_213  # first key of the advisory locks that limit the workers per rotation


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """left: rows under earlier versions, without those in quarantine.  seconds_left: None before any row is done."""

    rotation: KeyRotation
    left: int
    seconds_left: float | None


# --- starting a rotation --------------------------------------------------------------------------------------------


def rotate(
    scope: Scope,
    *,
    reason: str,
    is_compromise: bool = False,
    window: timedelta = READING_WINDOW,
    now: datetime,
) -> KeyRotation:
    """Make writers use a new root key now, and request that every row is re-encrypted under it.

    As ``ask_for_rotation``, but starts immediately.  Raises RotationUnderway, KeysMissing, KeysUnavailable.
    """
    rotation = ask_for_rotation(scope, reason=reason, is_compromise=is_compromise, window=window, now=now)
    return begin(scope, rotation.pk, now=now)


def reseal(scope: Scope, *, now: datetime) -> KeyRotation | None:
    """Request re-encryption of rows under earlier versions, without a new key.

    Returns None if there are no such rows or a rotation is open.  Such rows come from a restored backup.
    """
    total = count_left(scope)
    if not total or _open(scope).exists():
        return None
    with tenant_transaction(scope):
        active = TenantKeyState.objects.within(scope).get().active_version
        return KeyRotation.objects.create(
            tenant_id=scope.tenant_id, actor=scope.principal.label, reason="rows remain", state=RotationState.RUNNING,
            window=timedelta(0), to_version=active, rows_total=total, started_at=now, created_at=now,
        )  # fmt: skip


def begin(scope: Scope, rotation_id: int, *, now: datetime) -> KeyRotation:
    """Create and activate the keys of a requested rotation, so that its rows can be re-encrypted.  May be repeated."""
    with transaction.atomic():
        rotation = _locked(rotation_id)
        if rotation.state == RotationState.ASKED and rotation.to_version is None:
            _make_keys(scope, rotation, now=now)
    with tenant_transaction(scope):
        rotation = _locked(rotation_id)
        if rotation.state != RotationState.ASKED:
            return rotation
        _put_to_use(scope, rotation, now=now)
    # Counted after the writers are unblocked: it takes a while for many rows.
    KeyRotation.objects.filter(pk=rotation_id).update(rows_total=F("rows_done") + count_left(scope))
    rotation.refresh_from_db()
    return rotation


def _make_keys(scope: Scope, rotation: KeyRotation, *, now: datetime) -> None:
    if rotation.is_compromise:
        lifecycle.mark_compromised(scope, now=now)
        rotation.identity_to = lifecycle.begin(scope, kind=KeyKind.IDENTITY, reason=rotation.reason, now=now)
    rotation.to_version = lifecycle.begin(scope, reason=rotation.reason, now=now)
    rotation.save(update_fields=["to_version", "identity_to"])


def _put_to_use(scope: Scope, rotation: KeyRotation, *, now: datetime) -> None:
    assert rotation.to_version is not None  # noqa: S101  (``_make_keys`` came first)
    lifecycle.promote(scope, rotation.to_version, window=rotation.window, now=now)
    if rotation.identity_to is not None:
        lifecycle.promote(scope, rotation.identity_to, kind=KeyKind.IDENTITY, window=rotation.window, now=now)
    rotation.from_version = TenantKeyState.objects.within(scope).get().active_version
    lifecycle.flip(scope, rotation.to_version, reason=rotation.reason, now=now)
    rotation.state, rotation.started_at = RotationState.RUNNING, now
    rotation.save(update_fields=["from_version", "state", "started_at"])


# --- re-encrypting rows ---------------------------------------------------------------------------------------------


def work(rotation_id: int, *, seconds: float, workers: int, clock: Callable[[], datetime]) -> SliceOutcome:
    """Re-encrypt rows under the new key for about ``seconds``.  workers: maximum number of concurrent workers."""
    rotation = KeyRotation.objects.filter(pk=rotation_id).first()
    scope = find_system_scope(rotation.tenant_id) if rotation else None
    if rotation is None or scope is None:
        return SliceOutcome.OVER
    if rotation.state == RotationState.ASKED:
        rotation = begin(scope, rotation_id, now=clock())
    if rotation.state != RotationState.RUNNING:
        return SliceOutcome.OVER
    deadline, size = time.monotonic() + seconds, LARGEST_BATCH
    while time.monotonic() < deadline:
        started = time.monotonic()
        done = _batch(scope, rotation, size, workers=workers, now=clock())
        if done is None:
            return SliceOutcome.BUSY
        if not done:
            return _finish(scope, rotation, now=clock())
        size = next_size(size, time.monotonic() - started, smallest=SMALLEST_BATCH, largest=LARGEST_BATCH)
    return SliceOutcome.MORE


def _batch(scope: Scope, rotation: KeyRotation, size: int, *, workers: int, now: datetime) -> int | None:
    """Process one batch in one transaction and return its row count; None if the maximum of workers is running."""
    with tenant_transaction(scope):
        if not _take_slot(rotation.pk, workers):
            return None
        resealed = reencryption.reseal_batch(scope, limit=size, now=now)
        done = resealed.done + resealed.quarantined
        if not done and rotation.identity_to is not None:
            done = identity.rekey_some(scope, rotation.identity_to)
        if done:
            # Last, so that this row lock makes other workers wait only for a commit.
            KeyRotation.objects.filter(pk=rotation.pk).update(
                rows_done=F("rows_done") + resealed.done,
                rows_quarantined=F("rows_quarantined") + resealed.quarantined,
            )
        return done


def _take_slot(rotation_id: int, workers: int) -> bool:
    """Whether this transaction got one of the worker slots.  The slot is released when the transaction ends."""
    for slot in range(workers):
        name = (rotation_id * 64 + slot) % 2**31
        if fetch_value("select pg_try_advisory_xact_lock(%s, %s)", [_SLOTS, name]):
            return True
    return False


def _finish(scope: Scope, rotation: KeyRotation, *, now: datetime) -> SliceOutcome:
    """Finish the rotation after an empty batch; BUSY if other workers hold the remaining rows."""
    if count_left(scope):
        return SliceOutcome.BUSY
    with tenant_transaction(scope):
        if rotation.identity_to is not None and not identity.is_done(scope, rotation.identity_to):
            return SliceOutcome.BUSY
        mine = KeyRotation.objects.filter(pk=rotation.pk, state=RotationState.RUNNING)
        if mine.update(state=RotationState.DONE, finished_at=now):
            rotation.refresh_from_db()
            record(
                scope, actor=scope.principal.label, action=AuditAction.KEY_RESEALED,
                target=f"key:{rotation.to_version}", count=rotation.rows_done, now=now,
            )  # fmt: skip
    return SliceOutcome.OVER


# --- progress -------------------------------------------------------------------------------------------------------


def count_left(scope: Scope) -> int:
    """Count the rows under other versions than the active one, without those in quarantine."""
    with tenant_transaction(scope):
        active = TenantKeyState.objects.within(scope).get().active_version
        return sum(rows for version, rows in reencryption.behind(scope).items() if version != active)


def progress(scope: Scope, *, now: datetime) -> Progress | None:
    """Return the progress of the tenant's newest rotation; None when there was none."""
    rotation = KeyRotation.objects.filter(tenant_id=scope.tenant_id).order_by("-pk").first()
    if rotation is None:
        return None
    left = count_left(scope) if rotation.state in OPEN else 0
    seconds = (now - rotation.started_at).total_seconds() if rotation.started_at else 0.0
    speed = rotation.rows_done / seconds if seconds > 0 else 0.0
    return Progress(rotation=rotation, left=left, seconds_left=left / speed if speed else None)


def _open(scope: Scope) -> QuerySet[KeyRotation]:
    return KeyRotation.objects.filter(tenant_id=scope.tenant_id, state__in=OPEN)


def _locked(rotation_id: int) -> KeyRotation:
    return KeyRotation.objects.select_for_update().get(pk=rotation_id)
