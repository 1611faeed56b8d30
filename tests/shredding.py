"""Shredding as an erasure does it, and nothing more: the ledger's entry, and then its steps.  No receipt."""

import uuid
from datetime import datetime

from apps.erasure import ledger, shredding
from apps.erasure.shredding import AlreadyShredded, Shredded
from apps.projects.scope import Scope
from apps.tenants.models import Tenant


def shred_space(scope: Scope, space_uid: uuid.UUID, *, now: datetime) -> Shredded:
    """Raises SpaceNotFound, AlreadyShredded."""
    shredding.get_space(scope, space_uid)
    ledger.note_space(scope.tenant.uid, space_uid, actor=scope.principal.label, request_id="", now=now)
    return shredding.finish_space(scope, space_uid, now=now)


def shred_tenant(scope: Scope, *, now: datetime) -> Shredded:
    """Raises AlreadyShredded."""
    if not shredding.plan_tenant(Tenant.objects.get(pk=scope.tenant_id)).rows:
        raise AlreadyShredded
    ledger.note_tenant(scope.tenant.uid, actor=scope.principal.label, request_id="", now=now)
    return shredding.finish_tenant(scope, now=now)
