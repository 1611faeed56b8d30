"""Per-process cache of unwrapped keys.

A key in the cache can be read from the process's memory, and Python cannot guarantee to erase it.  So the cache is
small and short-lived: it evicts the least recently used tenants, drops every key after five minutes or a million uses,
drops a tenant's keys when their epoch rises, and starts empty in a forked child.
"""

import os
import secrets
import threading
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from django.db.models import F

from apps.crypto import aead, keyring
from apps.crypto.key_derivation import SpaceKeys, SpaceLike, Tally
from apps.crypto.keyring import KeysMissing, TenantLike
from apps.crypto.models import KeyKind, KeyState, ServiceKey, ServiceName, TenantKey

MAX_TENANTS: Final = 1_024
MAX_SPACES: Final = 4_096  # over all tenants; a space's derived keys and rotation take about 20 kB
KEEP_SECONDS: Final = 300.0
MAX_USES: Final = 1_000_000

# Tenant, space, space of the identity key, environment, versions of the root key and of the identity key.
_Name = tuple[uuid.UUID, uuid.UUID, uuid.UUID, str, int, int]

# Rows may be encrypted under any of these.  Pending keys are loaded too, to find one that does not unwrap early.
_LOADED: Final = (KeyState.PENDING, KeyState.ACTIVE, KeyState.READ_ONLY)


@dataclass(frozen=True, slots=True)
class UnwrappedKey:
    """A 32-byte key of the whole deployment, and its version, which is stored with each value made with the key."""

    version: int
    key: bytes = field(repr=False)


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
        # Not when the entry is evicted: another thread may still derive from these keys, and would read zeros.
        for key in (*self.roots.values(), *self.identities.values()):
            key[:] = bytes(len(key))


@final
class _Cache:
    """The keys of this process.  Loading happens outside the lock: of two concurrent loads, one result stays."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        # A new lock as well: in a forked child the old one may be held by a thread that does not exist there.
        self._lock = threading.Lock()
        self._tenants: OrderedDict[uuid.UUID, _TenantKeys] = OrderedDict()
        self._spaces: OrderedDict[_Name, tuple[_TenantKeys, SpaceKeys]] = OrderedDict()
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
        name = (tenant, space.uid, space.identity_uid, space.environment, version, space.identity_version)
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
            salt=keyring.space_salt(tenant, space.uid),
            identity_salt=(None if space.identity_uid == space.uid else keyring.space_salt(tenant, space.identity_uid)),
            tenant=tenant,
            space=space,
            tally=keys.tallies[version],
        )
        with self._lock:
            # Store it only while the tenant's keys are still cached: they may have been dropped meanwhile.
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
        # Up to 20 % sooner, so that many processes do not all call the provider in the same second.
        return self._clock() + KEEP_SECONDS * (1 - secrets.randbelow(1_000) / 5_000)


_cache = _Cache()
os.register_at_fork(after_in_child=_cache.clear)


def forget_all() -> None:
    """Empty the cache.  The next use of a key unwraps it again."""
    _cache.clear()


def space_keys(tenant: TenantLike, space: SpaceLike, *, version: int, epoch: int) -> SpaceKeys:
    """Return the derived keys of a space.  Raises KeysMissing, KeysUnavailable or SpaceShredded."""
    return _cache.space(tenant.uid, space, version, epoch)


def service_key(name: ServiceName | str, version: int | None = None) -> UnwrappedKey:
    """Return a key of the whole deployment, created on first use: the active version, or ``version``.

    Raises KeysMissing for an unknown version, KeysUnavailable.
    """
    return _cache.service(ServiceName(name), version)


def _load_tenant(uid: uuid.UUID, epoch: int, *, expires: float) -> _TenantKeys:
    rows = list(TenantKey.objects.filter(tenant_uid=uid, state__in=_LOADED).order_by("kind", "version"))
    keys = {(row.kind, row.version): keyring.unwrap(row) for row in rows}
    return _TenantKeys(
        epoch=epoch,
        expires=expires,
        roots={version: key for (kind, version), key in keys.items() if kind == KeyKind.ROOT},
        identities={version: key for (kind, version), key in keys.items() if kind == KeyKind.IDENTITY},
    )


def _report(seals: Mapping[tuple[uuid.UUID, int], int]) -> None:
    """Add this process's encryption counts to the keys' rows.  A killed process loses its unreported counts."""
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
        # If version 1 exists already, even destroyed, this insert changes nothing.
        fresh = ServiceKey(name=name, version=1, state=KeyState.ACTIVE)
        keyring.wrap_into(fresh, secrets.token_bytes(aead.KEY_BYTES))
        ServiceKey.objects.bulk_create([fresh], ignore_conflicts=True)
        row = ServiceKey.objects.filter(name=name, **wanted).first()
    if row is None:
        raise KeysMissing
    return UnwrappedKey(row.version, bytes(keyring.unwrap(row)))
