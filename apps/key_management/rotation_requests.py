"""Requests for key rotations and rewraps, stored as rows.  No access to keys, so the admin may use it too.

A worker starts the requested work within a minute.
"""

from datetime import datetime, timedelta

from django.db import IntegrityError

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict
from apps.core.scoping import tenant_transaction
from apps.crypto.models import COMPROMISED, READING_WINDOW
from apps.key_management.models import OPEN, KeyRewrap, KeyRotation, RotationState
from apps.projects.scope import Principal, Scope


class RotationUnderway(Conflict):
    """This tenant's key is being rotated already; `memsync keys status` shows the progress."""

    code = "KEY_ROTATION_UNDERWAY"


def ask_for_rotation(
    scope: Scope,
    *,
    reason: str,
    is_compromise: bool = False,
    window: timedelta = READING_WINDOW,
    now: datetime,
) -> KeyRotation:
    """Request a new root key and the re-encryption of every row under it.

    window: how long the previous key may be read if rows are still under it.  is_compromise: no window, also replaces
    the identity key, and takes over the remaining rows of a running rotation.  Raises RotationUnderway.
    """
    try:
        with tenant_transaction(scope):
            if is_compromise:
                mine = KeyRotation.objects.filter(tenant_id=scope.tenant_id, state__in=OPEN, is_compromise=False)
                mine.update(state=RotationState.OVERTAKEN, finished_at=now)
            rotation = KeyRotation.objects.create(
                tenant_id=scope.tenant_id,
                actor=scope.principal.label,
                reason=COMPROMISED if is_compromise else reason,
                is_compromise=is_compromise,
                window=timedelta(0) if is_compromise else window,
                created_at=now,
            )
            record(scope, actor=scope.principal.label, action=AuditAction.KEY_ASK, reason=rotation.reason, now=now)
    except IntegrityError:
        raise RotationUnderway from None
    return rotation


def ask_for_rewrap(principal: Principal, *, now: datetime) -> KeyRewrap:
    """Request a rewrap of every key, or return the request that is already open."""
    waiting = KeyRewrap.objects.filter(finished_at=None).order_by("pk").first()
    return waiting or KeyRewrap.objects.create(actor=principal.label, created_at=now)
