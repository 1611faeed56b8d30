"""Unwrapped keys, kept briefly in this process, and the keys derived from them for each space.

::

    PRK            = HKDF-Extract(salt of the space, root key of the tenant and version)
    key of purpose = HKDF-Expand(PRK, "mem/1|" purpose "|" deployment "|" tenant "|" environment "|" space, size)

Purposes under the root key: content (64 bytes), term, tag, vector (32).  Under the identity key: id (32).
What belongs to a whole tenant has the tenant's uid for a space and no environment.

What a process holds can be read from its memory for as long as it holds it; Python cannot promise to erase it.  So it
is little and short: the least used tenants go, everyone's keys go after five minutes, a raised epoch drops a tenant's
keys at once, and a forked child starts with none.
"""

import logging
import os
import secrets
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol, final

from django.conf import settings
from django.db import connection

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import Wrapped
from apps.adapters.registry import get_kms
from apps.core.errors import Conflict, NotFound, Unavailable
from apps.core.locks import TransactionRequired
from apps.core.scoping import tenant_transaction
from apps.crypto import aead
from apps.crypto.envelope import KEY_BYTES, Box
from apps.crypto.models import (
    KeyKind,
    KeyState,
    ServiceKey,
    ServiceName,
    SpaceSecret,
    TenantKey,
    TenantKeyState,
    WrappedKey,
)
from apps.crypto.vectors import Rotation

logger = logging.getLogger(__name__)

MAX_TENANTS: Final = 1_024
MAX_SPACES: Final = 4_096  # of all tenants together; a space's derived keys and rotation take some 20 kB
KEEP_SECONDS: Final = 300.0
SALT_BYTES: Final = 32

# Read rows may be under any of these; pending ones are held so that promoting one needs no new unwrapping.
_LOADED: Final = (KeyState.PENDING, KeyState.ACTIVE, KeyState.READ_ONLY)


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


class SpaceLike(Protocol):
    @property
    def uid(self) -> uuid.UUID: ...

    @property
    def environment(self) -> str: ...


@dataclass(frozen=True, slots=True)
class UnwrappedKey:
    """A key of the whole deployment, 32 bytes, and its version, to be stored beside what is made with it."""

    version: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Versions:
    """A tenant's row of key state."""

    active: int
    live: tuple[int, ...]
    epoch: int


@final
class SpaceKeys:
    """Everything derived for one space under one version of the root key, ready to use."""

    __slots__ = ("_rotations", "_vector_key", "box", "identity", "tag", "term", "version")

    def __init__(
        self, *, version: int, root: bytearray, identity: bytearray, salt: bytes, tenant: uuid.UUID, space: SpaceLike
    ) -> None:
        deployment, environment = settings.DEPLOYMENT_ID, space.environment
        derive = partial(_derive, deployment=deployment, tenant=tenant, environment=environment, space=space.uid)
        prk = aead.extract(salt, root)
        self.version: Final = version
        self.box: Final = Box(
            derive(prk, "content", KEY_BYTES),
            key_version=version,
            deployment=deployment,
            tenant=tenant,
            environment=environment,
            space=space.uid,
        )
        self.term: Final = aead.Mac(derive(prk, "term"))
        self.tag: Final = aead.Mac(derive(prk, "tag"))
        self.identity: Final = aead.Mac(derive(aead.extract(salt, identity), "id"))
        self._vector_key: Final = derive(prk, "vector")
        self._rotations: Final[dict[int, Rotation]] = {}

    def rotation(self, dimensions: int) -> Rotation:
        rotation = self._rotations.get(dimensions)
        if rotation is None:
            rotation = self._rotations[dimensions] = Rotation.from_key(self._vector_key, dimensions)
        return rotation


@dataclass(slots=True, eq=False)
class _TenantKeys:
    """One tenant's unwrapped keys."""

    epoch: int
    expires: float
    roots: dict[int, bytearray] = field(repr=False)
    identity: bytearray = field(repr=False)

    def __del__(self) -> None:
        # Not sooner: another thread may be deriving from them, and would do so from zeros.
        for key in (*self.roots.values(), self.identity):
            key[:] = bytes(len(key))


@final
class _Cache:
    """What this process holds.  Loading happens outside the lock: two threads may load the same, and one load stays."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        # A new lock as well: in a forked child the old one may be held by a thread that does not exist there.
        self._lock = threading.Lock()
        self._tenants: OrderedDict[uuid.UUID, _TenantKeys] = OrderedDict()
        self._spaces: OrderedDict[tuple[uuid.UUID, uuid.UUID, str, int], tuple[_TenantKeys, SpaceKeys]] = OrderedDict()
        self._services: dict[tuple[str, int | None], tuple[float, UnwrappedKey]] = {}

    def tenant(self, uid: uuid.UUID, epoch: int) -> _TenantKeys:
        with self._lock:
            held = self._tenants.get(uid)
            if held is not None and held.epoch == epoch and held.expires > self._clock():
                self._tenants.move_to_end(uid)
                return held
            self._drop(uid)
        loaded = _load_tenant(uid, epoch, expires=self._expiry())
        with self._lock:
            self._drop(uid)
            self._tenants[uid] = loaded
            while len(self._tenants) > MAX_TENANTS:
                self._drop(next(iter(self._tenants)))
        return loaded

    def space(self, tenant: uuid.UUID, space: SpaceLike, version: int, epoch: int) -> SpaceKeys:
        keys = self.tenant(tenant, epoch)
        name = (tenant, space.uid, space.environment, version)
        with self._lock:
            held = self._spaces.get(name)
            if held is not None and held[0] is keys:
                self._spaces.move_to_end(name)
                return held[1]
        root = keys.roots.get(version)
        if root is None:
            raise KeysMissing
        derived = SpaceKeys(
            version=version,
            root=root,
            identity=keys.identity,
            salt=space_salt(tenant, space.uid),
            tenant=tenant,
            space=space,
        )
        with self._lock:
            # Only beside the keys it came from: they may have been dropped meanwhile.
            if self._tenants.get(tenant) is keys:
                self._spaces[name] = (keys, derived)
                while len(self._spaces) > MAX_SPACES:
                    self._spaces.popitem(last=False)
        return derived

    def service(self, name: ServiceName, version: int | None) -> UnwrappedKey:
        held = self._services.get((name, version))
        if held is not None and held[0] > self._clock():
            return held[1]
        loaded = _load_service(name, version)
        self._services[name, version] = (self._expiry(), loaded)
        return loaded

    def _drop(self, uid: uuid.UUID) -> None:
        if self._tenants.pop(uid, None) is not None:
            for name in [name for name in self._spaces if name[0] == uid]:
                del self._spaces[name]

    def _expiry(self) -> float:
        # Up to a fifth sooner, so that many processes do not all ask the provider in the same second.
        return self._clock() + KEEP_SECONDS * (1 - secrets.randbelow(1_000) / 5_000)


_cache = _Cache()
os.register_at_fork(after_in_child=_cache.clear)


def forget_all() -> None:
    """Hold no key any more.  The next use unwraps anew."""
    _cache.clear()


def versions(tenant: TenantLike, *, lock: bool = False) -> Versions:
    """Which key versions are in use now.  Raises KeysMissing.

    lock: hold the row FOR SHARE until the caller's transaction ends, so that a rotation waits for what it writes.
    Raises TransactionRequired outside one.
    """
    if lock and not connection.in_atomic_block:
        raise TransactionRequired("key state")
    # Inside the tenant's own transaction one query does; row-level security shows no row in any other place.
    found = _read_versions(tenant, lock=lock) if connection.in_atomic_block else None
    if found is None:
        with tenant_transaction(_InTenant(tenant.id)):
            found = _read_versions(tenant, lock=lock)
    if found is None:
        raise KeysMissing
    return found


def space_keys(tenant: TenantLike, space: SpaceLike, *, version: int, epoch: int) -> SpaceKeys:
    """The derived keys of a space.  Raises KeysMissing, KeysUnavailable or SpaceShredded."""
    return _cache.space(tenant.uid, space, version, epoch)


def service_key(name: ServiceName | str, version: int | None = None) -> UnwrappedKey:
    """A key of the whole deployment, the active one unless ``version`` names another; made on first use.

    Raises KeysMissing for an unknown version, KeysUnavailable.
    """
    return _cache.service(ServiceName(name), version)


def create_tenant_keys(tenant: TenantLike, *, now: datetime) -> None:
    """Give a new tenant its first root and identity key.  Raises KeysExist, KeysUnavailable.

    The keyring commits by itself: if the caller's transaction fails, keys of a tenant that never was stay behind, and
    trying again for the same tenant takes them up.
    """
    for kind in KeyKind:
        key = secrets.token_bytes(aead.KEY_BYTES)
        row = TenantKey(
            tenant_uid=tenant.uid, kind=kind, version=1, state=KeyState.ACTIVE, created_at=now, activated_at=now
        )
        _wrap_into(row, key, _tenant_ctx(row))
        TenantKey.objects.bulk_create([row], ignore_conflicts=True)
    with tenant_transaction(_InTenant(tenant.id)):
        if _read_versions(tenant, lock=False) is not None:
            raise KeysExist
        TenantKeyState(tenant_id=tenant.id, live_versions=[1], created_at=now).save(force_insert=True)


def space_salt(tenant_uid: uuid.UUID, space_uid: uuid.UUID) -> bytes:
    """The salt of a space, made on first use; all who ask at once get the same.  Raises SpaceShredded."""
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


@dataclass(frozen=True, slots=True)
class _InTenant:
    tenant_id: int


def _read_versions(tenant: TenantLike, *, lock: bool) -> Versions | None:
    # Plain SQL because Django's ORM knows FOR UPDATE but not FOR SHARE, and writers must not wait for each other.
    table = TenantKeyState._meta.db_table
    query = f"select active_version, live_versions, key_epoch from {table} where tenant_id = %s"  # noqa: S608 -- our table
    with connection.cursor() as cursor:
        cursor.execute(query + (" for share" if lock else ""), [tenant.id])
        row = cursor.fetchone()
    return Versions(active=row[0], live=tuple(row[1]), epoch=row[2]) if row else None


def _load_tenant(uid: uuid.UUID, epoch: int, *, expires: float) -> _TenantKeys:
    rows = list(TenantKey.objects.filter(tenant_uid=uid, state__in=_LOADED).order_by("kind", "version"))
    identity = [row for row in rows if row.kind == KeyKind.IDENTITY and row.state == KeyState.ACTIVE]
    if not identity:
        raise KeysMissing
    return _TenantKeys(
        epoch=epoch,
        expires=expires,
        roots={row.version: _unwrap(row, _tenant_ctx(row)) for row in rows if row.kind == KeyKind.ROOT},
        identity=_unwrap(identity[0], _tenant_ctx(identity[0])),
    )


def _load_service(name: ServiceName, version: int | None) -> UnwrappedKey:
    wanted: dict[str, Any] = (
        {"state": KeyState.ACTIVE} if version is None else {"version": version, "state__in": _LOADED}
    )
    row = ServiceKey.objects.filter(name=name, **wanted).first()
    if row is None and version is None:
        # Where a first version was there already, even a destroyed one, this changes nothing.
        fresh = ServiceKey(name=name, version=1, state=KeyState.ACTIVE)
        _wrap_into(fresh, secrets.token_bytes(aead.KEY_BYTES), _service_ctx(fresh))
        ServiceKey.objects.bulk_create([fresh], ignore_conflicts=True)
        row = ServiceKey.objects.filter(name=name, **wanted).first()
    if row is None:
        raise KeysMissing
    return UnwrappedKey(row.version, bytes(_unwrap(row, _service_ctx(row))))


def _wrap_into(row: WrappedKey, key: bytes, ctx: Mapping[str, str]) -> None:
    try:
        wrapped = get_kms().wrap(key, ctx)
    except AdapterError as error:
        raise KeysUnavailable from error
    row.wrapped, row.kek_provider, row.kek_ref, row.kek_version = (
        wrapped.blob,
        wrapped.provider,
        wrapped.ref,
        wrapped.version,
    )
    row.check_value = _check_value(key)


def _unwrap(row: WrappedKey, ctx: Mapping[str, str]) -> bytearray:
    wrapped = Wrapped(row.kek_provider, row.kek_ref, row.kek_version, bytes(row.wrapped or b""))
    try:
        key = get_kms().unwrap(wrapped, ctx)
    except AdapterError as error:
        logger.error("a key does not unwrap", extra={"key_id": row.pk, "permanent": error.permanent})
        raise KeysUnavailable from error
    if not aead.equal(_check_value(key), bytes(row.check_value)):
        logger.error("a key is not the one its row is for", extra={"key_id": row.pk})
        raise KeysUnavailable
    return key


def _check_value(key: bytes | bytearray) -> bytes:
    return aead.expand(aead.extract(b"", key), b"mem/1|check", 16)


def _tenant_ctx(row: TenantKey) -> dict[str, str]:
    return {
        "p": f"tenant-{row.kind}",
        "t": str(row.tenant_uid),
        "v": str(row.version),
        "d": settings.DEPLOYMENT_ID,
    }


def _service_ctx(row: ServiceKey) -> dict[str, str]:
    return {"p": f"service-{row.name}", "t": "", "v": str(row.version), "d": settings.DEPLOYMENT_ID}


def _derive(
    prk: bytes,
    purpose: str,
    size: int = aead.KEY_BYTES,
    *,
    deployment: str,
    tenant: uuid.UUID,
    environment: str,
    space: uuid.UUID,
) -> bytes:
    # The deployment alone is free text; the uuids and the environment hold no bar, so nothing can be shifted.
    return aead.expand(prk, f"mem/1|{purpose}|{deployment}|{tenant}|{environment}|{space}".encode(), size)
