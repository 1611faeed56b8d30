"""Crypto-shredding: destroy salts and keys, so that data encrypted with them cannot be read.

Rows of destroyed salts and keys stay as evidence, without the bytes.  Every function may be repeated.  The keyring
commits separately, so the caller orders these steps and calls ``drop_cached_keys`` after them.
"""

import logging
import uuid
from datetime import datetime

from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_kms
from apps.core.queries import execute
from apps.core.scoping import tenant_transaction
from apps.crypto.keyring import KeysUnavailable, TenantId, TenantLike
from apps.crypto.models import KeyKind, KeyState, ServiceKey, SpaceSecret, TenantKey, TenantKeyState

logger = logging.getLogger(__name__)


def destroy_salt(tenant_uid: uuid.UUID, space_uid: uuid.UUID, *, now: datetime) -> bool:
    """Make a space unreadable.  Return whether it was readable.  A space without a salt will never get one."""
    none_ever = SpaceSecret(space_uid=space_uid, tenant_uid=tenant_uid, salt=None, destroyed_at=now)
    SpaceSecret.objects.bulk_create([none_ever], ignore_conflicts=True)
    living = SpaceSecret.objects.filter(space_uid=space_uid, tenant_uid=tenant_uid, salt__isnull=False)
    return living.update(salt=None, destroyed_at=now) > 0


def destroy_all_salts(tenant_uid: uuid.UUID, *, now: datetime) -> int:
    """Destroy every salt of a tenant, its own included, and return their number."""
    living = SpaceSecret.objects.filter(tenant_uid=tenant_uid, salt__isnull=False)
    return living.update(salt=None, destroyed_at=now)


def destroy_tenant_keys(tenant_uid: uuid.UUID, *, reason: str, now: datetime) -> int:
    """Destroy every version of the tenant's root and identity keys, in any state, and return their number."""
    living = TenantKey.objects.filter(tenant_uid=tenant_uid).exclude(state=KeyState.DESTROYED)
    return living.update(state=KeyState.DESTROYED, wrapped=None, destroyed_at=now, reason=reason)


def destroy_own_keks(tenant_uid: uuid.UUID) -> int:
    """Destroy the provider's keys that wrapped only this tenant's data keys, if any, and return their number.

    Raises KeysUnavailable when the provider cannot be reached: call it again.
    """
    provider = get_kms()
    mine = TenantKey.objects.filter(kek_provider=provider.name)
    others = set(mine.exclude(tenant_uid=tenant_uid).values_list("kek_ref", flat=True))
    others |= set(ServiceKey.objects.filter(kek_provider=provider.name).values_list("kek_ref", flat=True))
    own = set(mine.filter(tenant_uid=tenant_uid).values_list("kek_ref", flat=True)) - others
    return sum(_is_destroyed(ref) for ref in sorted(own))


def drop_cached_keys(tenant: TenantLike) -> None:
    """Make every process drop the tenant's keys at its next transaction.

    Waits for transactions that write under these keys, so that a later deletion misses no row.
    """
    with tenant_transaction(TenantId(tenant.id)):
        table = TenantKeyState._meta.db_table
        execute(f"update {table} set key_epoch = key_epoch + 1 where tenant_id = %s", [tenant.id])  # noqa: S608


def has_salt(tenant_uid: uuid.UUID, space_uid: uuid.UUID) -> bool:
    return SpaceSecret.objects.filter(tenant_uid=tenant_uid, space_uid=space_uid, salt__isnull=False).exists()


def living_salts(tenant_uid: uuid.UUID) -> int:
    return SpaceSecret.objects.filter(tenant_uid=tenant_uid, salt__isnull=False).count()


def living_keys(tenant_uid: uuid.UUID) -> int:
    return TenantKey.objects.filter(tenant_uid=tenant_uid).exclude(state=KeyState.DESTROYED).count()


def _is_destroyed(ref: str) -> bool:
    try:
        get_kms().destroy(ref)
    except AdapterError as error:
        if error.permanent:  # the provider's key is also used for new tenants
            return False
        raise KeysUnavailable from error
    return True


def follow_keyring(tenant: TenantLike, *, now: datetime) -> None:
    """After a restore of the main database, copy the key versions in use from the keyring to it.

    The epoch gets a value that no process has seen, because the backup's epoch may be lower than cached ones.
    """
    roots = TenantKey.objects.filter(tenant_uid=tenant.uid, kind=KeyKind.ROOT)
    live = sorted(roots.filter(state__in=(KeyState.ACTIVE, KeyState.READ_ONLY)).values_list("version", flat=True))
    active = roots.filter(state=KeyState.ACTIVE).values_list("version", flat=True).first()
    if active is None:
        return
    with tenant_transaction(TenantId(tenant.id)):
        table = TenantKeyState._meta.db_table
        execute(
            f"update {table} set active_version = %s, live_versions = %s, "  # noqa: S608
            "key_epoch = greatest(key_epoch + 1, %s) where tenant_id = %s",
            [active, live, int(now.timestamp()), tenant.id],
        )


def loadable_versions(tenant_uid: uuid.UUID) -> set[int]:
    """Return the versions of the root key that requests may read under."""
    states = (KeyState.ACTIVE, KeyState.READ_ONLY)
    roots = TenantKey.objects.filter(tenant_uid=tenant_uid, kind=KeyKind.ROOT, state__in=states)
    return set(roots.values_list("version", flat=True))
