"""Unwrapped keys, kept briefly in this process, and the keys derived from them for each space.

::

    PRK            = HKDF-Extract(salt of the space, root key of the tenant and version)
    key of purpose = HKDF-Expand(PRK, "mem/1|" purpose "|" deployment "|" tenant "|" environment "|" space, size)

Purposes under the root key: content (64 bytes), term, tag, vector (32).  Under the identity key: id (32).
What belongs to a whole tenant has the tenant's uid for a space and no environment.

What a process holds can be read from its memory for as long as it holds it; Python cannot promise to erase it.  So it
is little and short: the least used tenants go, everyone's keys go after five minutes or a million uses, a raised epoch
drops a tenant's keys immediately, and a forked child starts with none.
"""

import logging
import os
import secrets
import threading
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol, final

from django.conf import settings
from django.db import connection
from django.db.models import F

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import Wrapped
from apps.adapters.registry import get_kms
from apps.core.errors import Conflict, NotFound, Unavailable
from apps.core.locks import TransactionRequired
from apps.core.prepared_sql import prepared_cursor
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
MAX_USES: Final = 1_000_000
SALT_BYTES: Final = 32

# Rows that are read may be under any of these; a pending one that does not unwrap is found before it is needed.
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

    @property
    def identity_version(self) -> int: ...

    @property
    def is_sealed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class UnwrappedKey:
    """A key of the whole deployment, 32 bytes, and its version, to be stored beside what is made with it."""

    version: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Versions:
    """A tenant's row of key state.  identity: the version that the tenant's own lookups are made with."""

    active: int
    live: tuple[int, ...]
    epoch: int
    identity: int


@dataclass(slots=True, eq=False)
class Tally:
    """How often a root key was used in this process.  Threads may lose a count to each other: it is an estimate."""

    seals: int = 0
    opens: int = 0


@final
class SpaceKeys:
    """Everything derived for one space under one version of the root key and one of the identity key, ready to use."""

    __slots__ = ("_rotations", "_vector_key", "box", "identity", "tag", "tally", "term", "version")

    def __init__(
        self,
        *,
        version: int,
        root: bytearray,
        identity: bytearray,
        salt: bytes,
        tenant: uuid.UUID,
        space: SpaceLike,
        tally: Tally | None = None,
    ) -> None:
        deployment, environment = settings.DEPLOYMENT_ID, space.environment
        derive = partial(_derive, deployment=deployment, tenant=tenant, environment=environment, space=space.uid)
        prk = aead.extract(salt, root)
        self.version: Final = version
        self.tally: Final = tally or Tally()
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
    """One tenant's unwrapped keys, by version."""

    epoch: int
    expires: float
    roots: dict[int, bytearray] = field(repr=False)
    identities: dict[int, bytearray] = field(repr=False)
    tallies: dict[int, Tally] = field(init=False)

    def __post_init__(self) -> None:
        self.tallies = {version: Tally() for version in self.roots}

    def is_used_up(self) -> bool:
        return sum(tally.seals + tally.opens for tally in self.tallies.values()) >= MAX_USES

    def __del__(self) -> None:
        # Not sooner: another thread may be deriving from them, and would do so from zeros.
        for key in (*self.roots.values(), *self.identities.values()):
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
        self._spaces: OrderedDict[tuple[uuid.UUID, uuid.UUID, str, int, int], tuple[_TenantKeys, SpaceKeys]] = (
            OrderedDict()
        )
        self._unreported: Counter[tuple[uuid.UUID, int]] = Counter()
        self._services: dict[tuple[str, int | None], tuple[float, UnwrappedKey]] = {}

    def tenant(self, uid: uuid.UUID, epoch: int) -> _TenantKeys:
        with self._lock:
            held = self._tenants.get(uid)
            if held is not None and held.epoch == epoch and held.expires > self._clock() and not held.is_used_up():
                self._tenants.move_to_end(uid)
                return held
            self._drop(uid)
            seals, self._unreported = self._unreported, Counter()
        _report(seals)
        loaded = _load_tenant(uid, epoch, expires=self._expiry())
        with self._lock:
            self._drop(uid)
            self._tenants[uid] = loaded
            while len(self._tenants) > MAX_TENANTS:
                self._drop(next(iter(self._tenants)))
        return loaded

    def space(self, tenant: uuid.UUID, space: SpaceLike, version: int, epoch: int) -> SpaceKeys:
        keys = self.tenant(tenant, epoch)
        name = (tenant, space.uid, space.environment, version, space.identity_version)
        with self._lock:
            held = self._spaces.get(name)
            if held is not None and held[0] is keys:
                self._spaces.move_to_end(name)
                return held[1]
        root, identity = keys.roots.get(version), keys.identities.get(space.identity_version)
        if root is None or identity is None:
            raise KeysMissing
        derived = SpaceKeys(
            version=version,
            root=root,
            identity=identity,
            salt=space_salt(tenant, space.uid),
            tenant=tenant,
            space=space,
            tally=keys.tallies[version],
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
        if (keys := self._tenants.pop(uid, None)) is not None:
            self._unreported.update({(uid, version): tally.seals for version, tally in keys.tallies.items()})
            for name in [name for name in self._spaces if name[0] == uid]:
                del self._spaces[name]

    def _expiry(self) -> float:
        # Up to a fifth sooner, so that many processes do not all ask the provider in the same second.
        return self._clock() + KEEP_SECONDS * (1 - secrets.randbelow(1_000) / 5_000)


_cache = _Cache()
os.register_at_fork(after_in_child=_cache.clear)


def forget_all() -> None:
    """Hold no key any more.  The next use unwraps again."""
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
        wrap_into(row, key)
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
    columns = "active_version, live_versions, key_epoch, identity_version"
    query = f"select {columns} from {table} where tenant_id = %s"  # noqa: S608 -- our own names
    with prepared_cursor() as cursor:
        cursor.execute(query + (" for share" if lock else ""), [tenant.id])
        row = cursor.fetchone()
    return Versions(active=row[0], live=tuple(row[1]), epoch=row[2], identity=row[3]) if row else None


def _load_tenant(uid: uuid.UUID, epoch: int, *, expires: float) -> _TenantKeys:
    rows = list(TenantKey.objects.filter(tenant_uid=uid, state__in=_LOADED).order_by("kind", "version"))
    keys = {(row.kind, row.version): unwrap(row) for row in rows}
    return _TenantKeys(
        epoch=epoch,
        expires=expires,
        roots={version: key for (kind, version), key in keys.items() if kind == KeyKind.ROOT},
        identities={version: key for (kind, version), key in keys.items() if kind == KeyKind.IDENTITY},
    )


def _report(seals: Mapping[tuple[uuid.UUID, int], int]) -> None:
    """Add what this process sealed to the counts of the keys.  What a killed process had not reported is lost."""
    for (uid, version), count in seals.items():
        if count:
            rows = TenantKey.objects.filter(tenant_uid=uid, kind=KeyKind.ROOT, version=version)
            rows.exclude(state=KeyState.DESTROYED).update(seals=F("seals") + count)


def _load_service(name: ServiceName, version: int | None) -> UnwrappedKey:
    wanted: dict[str, Any] = (
        {"state": KeyState.ACTIVE} if version is None else {"version": version, "state__in": _LOADED}
    )
    row = ServiceKey.objects.filter(name=name, **wanted).first()
    if row is None and version is None:
        # Where a first version was there already, even a destroyed one, this changes nothing.
        fresh = ServiceKey(name=name, version=1, state=KeyState.ACTIVE)
        wrap_into(fresh, secrets.token_bytes(aead.KEY_BYTES))
        ServiceKey.objects.bulk_create([fresh], ignore_conflicts=True)
        row = ServiceKey.objects.filter(name=name, **wanted).first()
    if row is None:
        raise KeysMissing
    return UnwrappedKey(row.version, bytes(unwrap(row)))


def wrap_into(row: TenantKey | ServiceKey, key: bytes) -> None:
    """Fill the row's wrapped form and its check value.  Raises KeysUnavailable."""
    try:
        wrapped = get_kms().wrap(key, ctx_of(row))
    except AdapterError as error:
        raise KeysUnavailable from error
    set_wrapped(row, wrapped)
    row.check_value = _check_value(key)


def unwrap(row: TenantKey | ServiceKey) -> bytearray:
    """The key of a row.  Raises KeysUnavailable, also where it is not the key that the row is for."""
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
    """What a key's wrapping is bound to: opened for another tenant, version, purpose or deployment it fails."""
    if isinstance(row, TenantKey):
        purpose, tenant = f"tenant-{row.kind}", str(row.tenant_uid)
    else:
        purpose, tenant = f"service-{row.name}", ""
    return {"p": purpose, "t": tenant, "v": str(row.version), "d": settings.DEPLOYMENT_ID}


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
