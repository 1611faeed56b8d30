"""Replacing a tenant's identity key after a compromise: handles recomputed, one space after the other."""

from datetime import datetime

from django.db.models import QuerySet

from apps.crypto.models import TenantKeyState
from apps.memories import reencryption
from apps.projects.models import Space
from apps.projects.scope import Scope


def rekey_some(scope: Scope, version: int, *, now: datetime) -> int:
    """How many handles were recomputed in this transaction; 0 when nothing is left that is not locked.

    The tenant's own lookups come first: from then on new spaces begin under the new key, so that an end comes.
    """
    if TenantKeyState.objects.within(scope).filter(identity_version__lt=version).exists():
        return 1 + reencryption.rekey_identity_of_tenant(scope, version, now=now)
    space = _behind(scope, version).select_for_update(no_key=True, skip_locked=True).first()
    return 1 + reencryption.rekey_identity_of_space(scope, space.ref, now=now) if space else 0


def is_done(scope: Scope, version: int) -> bool:
    state = TenantKeyState.objects.within(scope).filter(identity_version__gte=version)
    return state.exists() and not _behind(scope, version).exists()


def _behind(scope: Scope, version: int) -> QuerySet[Space]:
    return Space.objects.within(scope).filter(identity_version__lt=version).order_by("pk")
