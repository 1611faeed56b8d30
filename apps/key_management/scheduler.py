"""Scheduled key maintenance: start due rotations, continue open ones, retire and destroy keys."""

import logging
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.conf import settings

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import DomainError
from apps.core.scoping import tenant_transaction
from apps.crypto import lifecycle
from apps.crypto.models import KeyKind
from apps.key_management import keys, rotation
from apps.key_management.models import OPEN, KeyRotation, RotationState
from apps.key_management.rotation_requests import RotationUnderway
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope
from apps.tenants.models import Tenant

logger = logging.getLogger(__name__)

HURRY_AFTER: Final = timedelta(days=7)  # after this, a rotation gets twice as many workers
WARN_AFTER: Final = timedelta(days=20)
ALARM_AFTER: Final = timedelta(days=25)
SAY_AGAIN_AFTER: Final = timedelta(days=1)
EXTENSION: Final = timedelta(days=7)
# Longer than any request or task: a transaction with an old snapshot still needs the old key.
SETTLING: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """An open rotation, and the number of workers that may process it concurrently."""

    rotation_id: int
    workers: int


def run_due_key_work(*, now: datetime) -> list[Due]:
    """Do the due maintenance and return the open rotations.  Runs once a minute; more often does no harm.

    A failure for one tenant is logged and does not block other tenants.
    """
    _each(_due_by_age(now=now), partial(_start, now=now), "rotation")
    for uid, kind, version in lifecycle.due_for_retirement(now=now):
        _each([uid], partial(_retire, kind=kind, version=version, now=now), "retirement")
    for uid, kind, version in _due_for_destruction(now=now):
        _each([uid], partial(keys.destroy, kind=kind, version=version, now=now), "destruction")
    return list(_open_rotations(now=now))


def workers_for(one: KeyRotation, *, now: datetime) -> int:
    """Return how many workers may process the rotation concurrently."""
    usual: int = settings.ROTATION_WORKERS
    return 2 * usual if now - (one.started_at or one.created_at) > HURRY_AFTER else usual


def _open_rotations(*, now: datetime) -> Iterator[Due]:
    for one in KeyRotation.objects.filter(state__in=OPEN).order_by("pk"):
        _say_how_late(one, now=now)
        yield Due(rotation_id=one.pk, workers=workers_for(one, now=now))


def _say_how_late(one: KeyRotation, *, now: datetime) -> None:
    age = now - (one.started_at or one.created_at)
    if age < WARN_AFTER or (one.warned_at and now - one.warned_at < SAY_AGAIN_AFTER):
        return
    extra = {"tenant": one.tenant_id, "job_id": one.pk, "seconds": int(age.total_seconds())}
    if age >= ALARM_AFTER:
        logger.error("a key rotation is very late", extra=extra)
    else:
        logger.warning("a key rotation is late", extra=extra)
    KeyRotation.objects.filter(pk=one.pk).update(warned_at=now)


# --- single tasks ---------------------------------------------------------------------------------------------------


def _due_by_age(*, now: datetime) -> list[uuid.UUID]:
    return lifecycle.due_for_rotation(
        max_age=timedelta(days=settings.KEY_MAX_AGE_DAYS), max_seals=settings.KEY_MAX_USES, now=now
    )


def _start(scope: Scope, *, now: datetime) -> None:
    try:
        rotation.rotate(scope, reason="scheduled", now=now)
    except RotationUnderway:
        return  # the running rotation moves the rows to a newer key anyway


def _retire(scope: Scope, *, kind: KeyKind, version: int, now: datetime) -> None:
    """Retire the key.  If rows are still under it, extend its time and log an error instead of losing rows."""
    newest = KeyRotation.objects.filter(tenant_id=scope.tenant_id).exclude(state=RotationState.OVERTAKEN)
    last = newest.order_by("-pk").first()
    if last is None or last.state in OPEN or rotation.reseal(scope, now=now):
        if last is None or last.window:  # without a window there is no date to miss: retry at the next run
            _extend(scope, kind, version, now=now)
    elif last.finished_at is None or now - last.finished_at >= SETTLING:
        keys.retire(scope, version, kind=kind, now=now)


def _extend(scope: Scope, kind: KeyKind, version: int, *, now: datetime) -> None:
    lifecycle.extend(scope, version, kind=kind, until=now + EXTENSION)
    logger.error("a key cannot be retired: rows are under it", extra={"tenant": scope.tenant_id, "kind": kind})
    with tenant_transaction(scope):
        record(scope, actor=scope.principal.label, action=AuditAction.KEY_EXTEND, target=f"key:{version}", now=now)


def _due_for_destruction(*, now: datetime) -> list[tuple[uuid.UUID, KeyKind, int]]:
    days: int = settings.KEY_DESTROY_AFTER_DAYS
    return lifecycle.due_for_destruction(retired_before=now - timedelta(days=days)) if days else []


def _each(uids: list[uuid.UUID], do: Callable[[Scope], None], what: str) -> None:
    for tenant_id in Tenant.objects.filter(uid__in=uids, closed_at=None).order_by("pk").values_list("pk", flat=True):
        scope = find_system_scope(tenant_id)
        if scope is None:
            continue
        try:
            do(scope)
        except DomainError as error:
            logger.error(
                "a key could not be tended", extra={"tenant": tenant_id, "kind": what, "error": type(error).__name__}
            )
