"""Creates, reads, wraps and unwraps the keys in the keyring, and the salts of spaces."""

import logging
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from django.conf import settings
from django.db import connection

from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_kms
from apps.adapters.kms.base import Wrapped
from apps.core.errors import Conflict, NotFound, Unavailable
from apps.core.locks import TransactionRequired
from apps.core.queries import fetch_one
from apps.core.scoping import tenant_transaction
from apps.crypto import aead
from apps.crypto.models import KeyKind, KeyState, ServiceKey, SpaceSecret, TenantKey, TenantKeyState, WrappedKey

logger = logging.getLogger(__name__)

SALT_BYTES: Final = 32


class KeysMissing(Unavailable):
    """The encryption keys that this needs do not exist."""


class KeysUnavailable(Unavailable):
    """The encryption keys cannot be reached now; try again later."""


class KeysExist(Conflict):
    """This tenant has its encryption keys already."""


class SpaceShredded(NotFound):
    """What this space held was erased and cannot be read again."""


class TenantLike(Protocol):
    @property
    def id(self) -> int: ...

    @property
    def uid(self) -> uuid.UUID: ...


@dataclass(frozen=True, slots=True)
class TenantId:
    """A tenant by its id only, which is all that ``tenant_transaction`` needs."""

    tenant_id: int


@dataclass(frozen=True, slots=True)
class Versions:
    """A tenant's key state.  identity: version of the identity key for the tenant's own lookups."""

    active: int
    live: tuple[int, ...]
    epoch: int
    identity: int


def versions(tenant: TenantLike, *, lock: bool = False) -> Versions:
    """Return the key versions in use now.  Raises KeysMissing.

    lock: lock the row FOR SHARE until the caller's transaction ends, so that a key rotation waits for its writes.
    Raises TransactionRequired outside a transaction.
    """
    if lock and not connection.in_atomic_block:
        raise TransactionRequired("key state")
    # Inside the tenant's own transaction one query is enough.  Elsewhere row-level security hides the row.
    found = _read_versions(tenant, lock=lock) if connection.in_atomic_block else None
    if found is None:
        with tenant_transaction(TenantId(tenant.id)):
            found = _read_versions(tenant, lock=lock)
    if found is None:
        raise KeysMissing
    return found


def create_tenant_keys(tenant: TenantLike, *, now: datetime) -> None:
    """Create the first root and identity key of a new tenant.  Raises KeysExist, KeysUnavailable.

    The keyring commits separately.  If the caller's transaction fails, the keys remain, and a retry for the same tenant
    uses them.
    """
    for kind in KeyKind:
        key = secrets.token_bytes(aead.KEY_BYTES)
        row = TenantKey(
            tenant_uid=tenant.uid, kind=kind, version=1, state=KeyState.ACTIVE, created_at=now, activated_at=now
        )
        wrap_into(row, key)
        TenantKey.objects.bulk_create([row], ignore_conflicts=True)
    with tenant_transaction(TenantId(tenant.id)):
        if _read_versions(tenant, lock=False) is not None:
            raise KeysExist
        TenantKeyState(tenant_id=tenant.id, live_versions=[1], created_at=now).save(force_insert=True)


def space_salt(tenant_uid: uuid.UUID, space_uid: uuid.UUID) -> bytes:
    """Return the space's salt, created on first use.  Concurrent callers get the same salt.  Raises SpaceShredded."""
    secret = SpaceSecret.objects.filter(space_uid=space_uid).first()
    if secret is None:
        fresh = SpaceSecret(space_uid=space_uid, tenant_uid=tenant_uid, salt=secrets.token_bytes(SALT_BYTES))
        SpaceSecret.objects.bulk_create([fresh], ignore_conflicts=True)
        secret = SpaceSecret.objects.get(space_uid=space_uid)
    if secret.tenant_uid != tenant_uid:
        raise KeysMissing
    if secret.salt is None:
        raise SpaceShredded
    return bytes(secret.salt)


def _read_versions(tenant: TenantLike, *, lock: bool) -> Versions | None:
    # Plain SQL because Django's ORM has FOR UPDATE but no FOR SHARE, and writers must not wait for each other.
    table = TenantKeyState._meta.db_table
    columns = "active_version, live_versions, key_epoch, identity_version"
    query = f"select {columns} from {table} where tenant_id = %s"  # noqa: S608 -- our own names
    row = fetch_one(query + (" for share" if lock else ""), [tenant.id], prepared=True)
    return Versions(active=row[0], live=tuple(row[1]), epoch=row[2], identity=row[3]) if row else None


def wrap_into(row: TenantKey | ServiceKey, key: bytes) -> None:
    """Set the row's wrapped key and its check value.  Raises KeysUnavailable."""
    try:
        wrapped = get_kms().wrap(key, ctx_of(row))
    except AdapterError as error:
        raise KeysUnavailable from error
    set_wrapped(row, wrapped)
    row.check_value = _check_value(key)


def unwrap(row: TenantKey | ServiceKey) -> bytearray:
    """Unwrap the row's key.  Raises KeysUnavailable, also if the key does not match the row's check value."""
    try:
        key = get_kms().unwrap(wrapped_of(row), ctx_of(row))
    except AdapterError as error:
        logger.error("a key does not unwrap", extra={"key_id": row.pk, "permanent": error.permanent})
        raise KeysUnavailable from error
    if not aead.equal(_check_value(key), bytes(row.check_value)):
        logger.error("a key is not the one its row is for", extra={"key_id": row.pk})
        raise KeysUnavailable
    return key


def _check_value(key: bytes | bytearray) -> bytes:
    return aead.expand(aead.extract(b"", key), b"mem/1|check", 16)


def wrapped_of(row: WrappedKey) -> Wrapped:
    return Wrapped(row.kek_provider, row.kek_ref, row.kek_version, bytes(row.wrapped or b""))


def set_wrapped(row: WrappedKey, wrapped: Wrapped) -> None:
    row.wrapped, row.kek_provider = wrapped.blob, wrapped.provider
    row.kek_ref, row.kek_version = wrapped.ref, wrapped.version


def ctx_of(row: TenantKey | ServiceKey) -> dict[str, str]:
    """Return the KMS context of the wrapping: purpose, tenant, version and deployment.  Any other context fails."""
    if isinstance(row, TenantKey):
        purpose, tenant = f"tenant-{row.kind}", str(row.tenant_uid)
    else:
        purpose, tenant = f"service-{row.name}", ""
    return {"p": purpose, "t": tenant, "v": str(row.version), "d": settings.DEPLOYMENT_ID}
