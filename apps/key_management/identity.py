"""Replacing a tenant's identity key after a compromise: recomputes the keyed hashes of one space after the other."""

from django.db.models import QuerySet

from apps.crypto.models import TenantKeyState
from apps.memories import reencryption
from apps.projects.models import Space
from apps.projects.scope import Scope


def rekey_some(scope: Scope, version: int) -> int:
    """Rekey the tenant's own rows or one space, in this transaction.

    Returns the number of recomputed hashes plus 1, or 0 if every space is done or locked.  The tenant's own rows come
    first: new spaces then start under the new key, so the work ends.
    """
    if TenantKeyState.objects.within(scope).filter(identity_version__lt=version).exists():
        return 1 + reencryption.rekey_identity_of_tenant(scope, version)
    space = _behind(scope, version).select_for_update(no_key=True, skip_locked=True).first()
    return 1 + reencryption.rekey_identity_of_space(scope, space.ref) if space else 0


def is_done(scope: Scope, version: int) -> bool:
    state = TenantKeyState.objects.within(scope).filter(identity_version__gte=version)
    return state.exists() and not _behind(scope, version).exists()


def _behind(scope: Scope, version: int) -> QuerySet[Space]:
    """Without branches, which are rekeyed with their origin."""
    return Space.objects.within(scope).filter(identity_version__lt=version, origin_uid=None).order_by("pk")
