"""Destroying salts and keys, after which what was sealed with them cannot be read.

Rows stay as evidence without their bytes.  Everything here may be run again: what is destroyed stays destroyed.  The
keyring commits by itself, so a caller orders these steps; ``drop_cached_keys`` comes after them.
"""

import logging
import uuid
from datetime import datetime

from django.db import connection

from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_kms
from apps.core.scoping import tenant_transaction
from apps.crypto.keyring import KeysUnavailable, TenantId, TenantLike
from apps.crypto.models import KeyKind, KeyState, ServiceKey, SpaceSecret, TenantKey, TenantKeyState

logger = logging.getLogger(__name__)


def destroy_salt(tenant_uid: uuid.UUID, space_uid: uuid.UUID, *, now: datetime) -> bool:
    """Make a space unreadable; whether it was readable until now.  A space without a salt will never get one."""
    none_ever = SpaceSecret(space_uid=space_uid, tenant_uid=tenant_uid, salt=None, destroyed_at=now)
    SpaceSecret.objects.bulk_create([none_ever], ignore_conflicts=True)
    living = SpaceSecret.objects.filter(space_uid=space_uid, tenant_uid=tenant_uid, salt__isnull=False)
    return living.update(salt=None, destroyed_at=now) > 0


def destroy_all_salts(tenant_uid: uuid.UUID, *, now: datetime) -> int:
    """As ``destroy_salt``, for every space of a tenant and for what belongs to no space; how many there were."""
    living = SpaceSecret.objects.filter(tenant_uid=tenant_uid, salt__isnull=False)
    return living.update(salt=None, destroyed_at=now)


def destroy_tenant_keys(tenant_uid: uuid.UUID, *, reason: str, now: datetime) -> int:
    """Every version of the tenant's root and identity keys, whatever its state; how many there were."""
    living = TenantKey.objects.filter(tenant_uid=tenant_uid).exclude(state=KeyState.DESTROYED)
    return living.update(state=KeyState.DESTROYED, wrapped=None, destroyed_at=now, reason=reason)


def destroy_own_keks(tenant_uid: uuid.UUID) -> int:
    """The provider's keys that wrapped no other tenant's data keys, where the provider has such; how many.

    Raises KeysUnavailable when the provider cannot be reached: run it again.
    """
    provider = get_kms()
    mine = TenantKey.objects.filter(kek_provider=provider.name)
    others = set(mine.exclude(tenant_uid=tenant_uid).values_list("kek_ref", flat=True))
    others |= set(ServiceKey.objects.filter(kek_provider=provider.name).values_list("kek_ref", flat=True))
    own = set(mine.filter(tenant_uid=tenant_uid).values_list("kek_ref", flat=True)) - others
    return sum(_is_destroyed(ref) for ref in sorted(own))


def drop_cached_keys(tenant: TenantLike) -> None:
    """Make every process drop the tenant's keys at its next transaction.

    Waits for transactions that write under them, so that what is deleted after this is all there is.
    """
    with tenant_transaction(TenantId(tenant.id)), connection.cursor() as cursor:
        table = TenantKeyState._meta.db_table
        cursor.execute(f"update {table} set key_epoch = key_epoch + 1 where tenant_id = %s", [tenant.id])  # noqa: S608


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
        if error.permanent:  # the provider's key is there for new tenants too
            return False
        raise KeysUnavailable from error
    return True


def follow_keyring(tenant: TenantLike, *, now: datetime) -> None:
    """Name in the main database, which came from a backup, the key versions that the keyring says are in use.

    The epoch becomes one that no process has seen: the backup's may be lower than what was in use since.
    """
    roots = TenantKey.objects.filter(tenant_uid=tenant.uid, kind=KeyKind.ROOT)
    live = sorted(roots.filter(state__in=(KeyState.ACTIVE, KeyState.READ_ONLY)).values_list("version", flat=True))
    active = roots.filter(state=KeyState.ACTIVE).values_list("version", flat=True).first()
    if active is None:
        return
    with tenant_transaction(TenantId(tenant.id)), connection.cursor() as cursor:
        table = TenantKeyState._meta.db_table
        cursor.execute(
            f"update {table} set active_version = %s, live_versions = %s, "  # noqa: S608
            "key_epoch = greatest(key_epoch + 1, %s) where tenant_id = %s",
            [active, live, int(now.timestamp()), tenant.id],
        )


def loadable_versions(tenant_uid: uuid.UUID) -> set[int]:
    """Versions of the root key that requests may read under."""
    states = (KeyState.ACTIVE, KeyState.READ_ONLY)
    roots = TenantKey.objects.filter(tenant_uid=tenant_uid, kind=KeyKind.ROOT, state__in=states)
    return set(roots.values_list("version", flat=True))
