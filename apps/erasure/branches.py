"""Shreds branches whose time is over: their keys are destroyed, and their rows deleted.

No person confirms it, and there is no receipt: that it is temporary was said when the branch was made.  It is in the
ledger of erasures, so that no restore brings it back.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from apps.core.scoping import tenant_transaction
from apps.erasure import ledger, legal_holds
from apps.erasure.receipt_log import KEYRING
from apps.erasure.shredding import finish_space
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import SpaceNotFound
from apps.transfers.exports import files


def shred_ended(scope: Scope, *, now: datetime) -> int:
    """Shred the tenant's branches that have ended, and return their number.

    One under a legal hold stays, and so does one of an end user whose data is being exported: it is in the file.
    """
    with tenant_transaction(scope):
        ended = Space.objects.within(scope).filter(origin_uid__isnull=False, expires_at__lte=now)
        uids = list(ended.order_by("pk").values_list("uid", flat=True))
    return sum(_shred(scope, uid, now=now) for uid in uids)


def _shred(scope: Scope, uid: UUID, *, now: datetime) -> bool:
    with tenant_transaction(scope):
        legal_holds.hold_off(scope)
        space = Space.objects.within(scope).filter(uid=uid).first()
        if space is None or files.has_file(scope, space.owner_id, now=now):
            return False
        if legal_holds.cases_over(scope, memory_ids=(), space_ids=[space.pk]):
            return False
        with transaction.atomic(using=KEYRING):
            ledger.note_space(scope.tenant.uid, uid, actor=scope.principal.label, request_id="", now=now)
    try:
        finish_space(scope, uid, now=now)
    except SpaceNotFound:  # another worker has finished it
        return False
    return True
