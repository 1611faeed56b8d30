"""Life cycle of a tenant's keys: create, activate, keep for reading, retire, destroy; and rewrap.

The keyring and the main database cannot commit together.  So each step is one commit and may be repeated.  Steps that
enable a key write to the keyring first; steps that disable a key write to the main database first::

    begin      keyring: the next version, pending
    promote    keyring: pending -> active, and the one before it -> read_only
    flip       main:    active and live, under the lock that every writer shares; raises the epoch
    withdraw   main:    no longer live; raises the epoch
    retire     keyring: read_only -> retired
    destroy    keyring: the wrapped bytes are deleted, the row stays

After a crash between two steps, every live version in the main database can be loaded, and writers use its active
version.  ``tests/crypto/test_key_model.py`` tests all of these states.

The flip need not wait until other processes know the new key.  Every transaction reads the state row, and loads the
keys again if its epoch differs from that of the cached keys.  The keyring has committed the new key before the main
database names it, so a reader of the new state finds the new key.  A writer that read the old state holds the row FOR
SHARE, and the flip waits for it.
"""

import logging
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Max, Q

from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_kms
from apps.adapters.kms.base import Wrapped
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, NotFound
from apps.core.scoping import tenant_transaction
from apps.crypto import aead, keyring
from apps.crypto.keyring import KeysMissing, KeysUnavailable
from apps.crypto.models import (
    COMPROMISED,
    READING_WINDOW,
    KeyKind,
    KeyState,
    ServiceKey,
    TenantKey,
    TenantKeyState,
)
from apps.projects.scope import Scope

logger = logging.getLogger(__name__)

REWRAP_BATCH: Final = 50

_KEYRING: Final = "keyring"


class KeyNotFound(NotFound):
    """There is no such key version; `memsync keys status` shows those there are."""


class KeyInUse(Conflict):
    """This key version is in use: rotate first, then it can be retired."""

    code = "KEY_IN_USE"


class RowsRemain(Conflict):
    """Rows are still encrypted under this key version and would be lost with it."""

    code = "KEY_ROWS_REMAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts:
    """Metadata of one key version, without the key.  seals: approximate number of values encrypted under it."""

    kind: str
    version: int
    state: str
    created_at: datetime
    activated_at: datetime | None
    read_only_until: datetime | None
    retired_at: datetime | None
    destroyed_at: datetime | None
    reason: str
    seals: int
    kek_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrapped:
    """done: keys rewrapped (in a dry run: to be rewrapped).  failed: keys that did not unwrap; they are unchanged."""

    done: int
    failed: int


# --- creating and activating a key ----------------------------------------------------------------------------------


def begin(scope: Scope, *, kind: KeyKind = KeyKind.ROOT, reason: str, now: datetime) -> int:
    """Return the pending key version, created if there is none.  Raises KeysMissing, KeysUnavailable."""
    mine = TenantKey.objects.filter(tenant_uid=scope.tenant.uid, kind=kind)
    waiting = mine.filter(state=KeyState.PENDING)
    if not waiting.exists():
        newest = mine.aggregate(newest=Max("version"))["newest"]
        if newest is None:
            raise KeysMissing
        row = TenantKey(
            tenant_uid=scope.tenant.uid, kind=kind, version=newest + 1, state=KeyState.PENDING, created_at=now,
            reason=reason,
        )  # fmt: skip
        keyring.wrap_into(row, secrets.token_bytes(aead.KEY_BYTES))
        # Of two concurrent callers one stores its key, and both continue with that key.
        TenantKey.objects.bulk_create([row], ignore_conflicts=True)
    found = waiting.order_by("version").last()
    if found is None:
        raise KeysUnavailable  # a concurrent caller has promoted it already
    keyring.unwrap(found)  # a key that does not unwrap must not be promoted
    return found.version


def promote(
    scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, window: timedelta = READING_WINDOW, now: datetime
) -> None:
    """Activate this version in the keyring.  The previous version stays readable until the window is over."""
    mine = TenantKey.objects.filter(tenant_uid=scope.tenant.uid, kind=kind)
    with transaction.atomic(using=_KEYRING):
        row = mine.select_for_update().filter(version=version).first()
        if row is None:
            raise KeyNotFound
        if row.state != KeyState.PENDING:
            return
        mine.filter(state=KeyState.ACTIVE).update(state=KeyState.READ_ONLY, read_only_until=now + window)
        mine.filter(state=KeyState.READ_ONLY, reason=COMPROMISED).update(read_only_until=now + window)
        mine.filter(version=version).update(state=KeyState.ACTIVE, activated_at=now)


def flip(scope: Scope, version: int, *, reason: str, now: datetime) -> bool:
    """Make this the version for writers, in the main database.  Return False if it was live already.

    Waits for running writers.  Runs inside the caller's transaction, which also records the remaining work.
    """
    state = lock_state(scope)
    if version in state.live_versions:
        return False
    _change(scope, active_version=version, live_versions=[*state.live_versions, version])
    _note(scope, AuditAction.KEY_ROTATE, version, reason=reason, now=now)
    return True


def mark_compromised(scope: Scope, *, now: datetime) -> None:
    """Mark the tenant's keys as compromised.  A pending key is destroyed and never promoted."""
    mine = TenantKey.objects.filter(tenant_uid=scope.tenant.uid)
    mine.filter(state=KeyState.PENDING).update(
        state=KeyState.DESTROYED, wrapped=None, destroyed_at=now, reason=COMPROMISED
    )
    mine.filter(state__in=(KeyState.ACTIVE, KeyState.READ_ONLY)).update(reason=COMPROMISED)
    with tenant_transaction(scope):
        TenantKeyState.objects.within(scope).update(compromised=True)


# --- taking a key out of use ----------------------------------------------------------------------------------------


def extend(scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, until: datetime) -> None:
    """Extend the time for which a read-only key may be read."""
    mine = TenantKey.objects.filter(tenant_uid=scope.tenant.uid, kind=kind, version=version)
    mine.filter(state=KeyState.READ_ONLY).update(read_only_until=until)


def retire(scope: Scope, version: int, *, remaining: Callable[[], int], now: datetime) -> None:
    """Stop reading under this version of the root key.  The wrapped key is kept for restores.

    remaining: counts the rows under the version; called while the state row is locked.  Raises KeyInUse, RowsRemain.
    """
    with tenant_transaction(scope):
        state = lock_state(scope)
        if version == state.active_version:
            raise KeyInUse
        if count := remaining():
            raise RowsRemain(f"{count} rows are still sealed under version {version}.")
        if _withdraw(scope, state, version):
            _note(scope, AuditAction.KEY_RETIRE, version, now=now)
    retire_in_keyring(scope, version, now=now)


def retire_in_keyring(scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, now: datetime) -> None:
    """Retire a version, in the keyring only.  The main database must no longer use it."""
    mine = TenantKey.objects.filter(tenant_uid=scope.tenant.uid, kind=kind, version=version)
    mine.filter(state=KeyState.READ_ONLY).update(state=KeyState.RETIRED, retired_at=now)


def destroy(
    scope: Scope,
    version: int,
    *,
    kind: KeyKind = KeyKind.ROOT,
    remaining: Callable[[], int],
    despite_rows: bool = False,
    now: datetime,
) -> None:
    """Null the wrapped key of a retired version.  Data still under it can never be decrypted, backups included.

    despite_rows: the data's owner accepts the loss of rows under this version; a compromised version then need not be
    retired first.  Raises KeyNotFound, KeyInUse, RowsRemain.
    """
    row = TenantKey.objects.filter(tenant_uid=scope.tenant.uid, kind=kind, version=version).first()
    if row is None:
        raise KeyNotFound
    is_ready = row.state in (KeyState.RETIRED, KeyState.DESTROYED)
    if not is_ready and not (despite_rows and row.reason == COMPROMISED and row.state == KeyState.READ_ONLY):
        raise KeyInUse(f"Version {version} is {row.state}: only a retired key can be destroyed.")
    with tenant_transaction(scope):
        state = lock_state(scope)
        if version == (state.active_version if kind == KeyKind.ROOT else state.identity_version):
            raise KeyInUse
        if (count := remaining()) and not despite_rows:
            raise RowsRemain(f"{count} rows are still sealed under version {version}.")
        if kind == KeyKind.ROOT:
            _withdraw(scope, state, version)
        if row.state != KeyState.DESTROYED:
            # Audited before the key is destroyed: a record of a failed attempt is better than no record.
            _note(scope, AuditAction.KEY_DESTROY, version, reason=kind, now=now)
    mine = TenantKey.objects.filter(pk=row.pk).exclude(state=KeyState.DESTROYED)
    mine.update(state=KeyState.DESTROYED, wrapped=None, destroyed_at=now)
    raise_epoch(scope)


# --- the state row --------------------------------------------------------------------------------------------------


def lock_state(scope: Scope) -> TenantKeyState:
    """Lock the tenant's state row FOR UPDATE: waits for running writers and blocks new ones.  Raises KeysMissing."""
    state = TenantKeyState.objects.within(scope).select_for_update().first()
    if state is None:
        raise KeysMissing
    return state


def raise_epoch(scope: Scope) -> None:
    """Make every process drop this tenant's cached keys at its next transaction."""
    with tenant_transaction(scope):
        _change(scope)


def _withdraw(scope: Scope, state: TenantKeyState, version: int) -> bool:
    """Remove the version from the live ones.  Return whether it was live."""
    live = [one for one in state.live_versions if one != version]
    if live == state.live_versions:
        return False
    _change(scope, live_versions=live, compromised=state.compromised and live != [state.active_version])
    return True


def _change(scope: Scope, **values: Any) -> None:
    TenantKeyState.objects.within(scope).update(key_epoch=F("key_epoch") + 1, **values)


def _note(scope: Scope, action: AuditAction, version: int, *, reason: str = "", now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"key:{version}", reason=reason, now=now)


# --- queries --------------------------------------------------------------------------------------------------------


def key_facts(scope: Scope) -> list[KeyFacts]:
    """Return every version of the tenant's keys, destroyed ones included: root keys first, newest first."""
    rows = TenantKey.objects.filter(tenant_uid=scope.tenant.uid).order_by("-kind", "-version")
    names = tuple(KeyFacts.__dataclass_fields__)
    return [KeyFacts(**row) for row in rows.values(*names)]


def due_for_rotation(*, max_age: timedelta, max_seals: int, now: datetime) -> list[uuid.UUID]:
    """Return the uids of the tenants whose active root key is too old or was used too often."""
    used_up = Q(activated_at__lte=now - max_age) | Q(seals__gte=max_seals)
    rows = TenantKey.objects.filter(used_up, kind=KeyKind.ROOT, state=KeyState.ACTIVE)
    return list(rows.order_by("pk").values_list("tenant_uid", flat=True))


def due_for_retirement(*, now: datetime) -> list[tuple[uuid.UUID, KeyKind, int]]:
    """Return (tenant's uid, kind, version) of the keys whose reading window is over."""
    rows = TenantKey.objects.filter(state=KeyState.READ_ONLY, read_only_until__lte=now)
    return [(row.tenant_uid, KeyKind(row.kind), row.version) for row in rows.order_by("pk")]


def due_for_destruction(*, retired_before: datetime) -> list[tuple[uuid.UUID, KeyKind, int]]:
    rows = TenantKey.objects.filter(state=KeyState.RETIRED, retired_at__lte=retired_before)
    return [(row.tenant_uid, KeyKind(row.kind), row.version) for row in rows.order_by("pk")]


# --- rewrapping -----------------------------------------------------------------------------------------------------


def rewrap(*, dry_run: bool = False, progress: Callable[[int], None] = lambda done: None) -> Rewrapped:
    """Wrap every key of every tenant and of the deployment under the provider's current version.

    Each small batch is one commit: a restarted run continues where the last one stopped, and several may run at once.
    Every key is unwrapped from its new form before the new form replaces the old one.  Raises KeysUnavailable.
    """
    current = _wrapped_now()
    done = failed = 0
    models: tuple[type[TenantKey] | type[ServiceKey], ...] = (ServiceKey, TenantKey)
    for model in models:
        if dry_run:
            done += _behind(model, current).count()
            continue
        last = 0
        while batch := _rewrap_some(model, current, after=last):
            done += sum(is_done for _, is_done in batch)
            failed += sum(not is_done for _, is_done in batch)
            last = batch[-1][0]
            progress(done + failed)
    return Rewrapped(done=done, failed=failed)


def _wrapped_now() -> Wrapped:
    """Return a sample of how the provider wraps now: provider, reference and version.  Raises KeysUnavailable."""
    try:
        return get_kms().wrap(bytes(aead.KEY_BYTES), {"p": "rewrap"})
    except AdapterError as error:
        raise KeysUnavailable from error


def _behind(model: type[TenantKey] | type[ServiceKey], current: Wrapped) -> Any:
    # Not by version alone: after a change of providers, the new one may also count versions from 1.
    return model.objects.filter(wrapped__isnull=False).exclude(
        kek_provider=current.provider, kek_ref=current.ref, kek_version=current.version
    )


def _rewrap_some(model: type[TenantKey] | type[ServiceKey], current: Wrapped, *, after: int) -> list[tuple[int, bool]]:
    """Rewrap the next batch and return (id, success) for each row.  Rows locked by another process are skipped."""
    with transaction.atomic(using=_KEYRING):
        rows = _behind(model, current).filter(pk__gt=after).order_by("pk").select_for_update(skip_locked=True)
        return [(row.pk, _rewrap_one(row)) for row in rows[:REWRAP_BATCH]]


def _rewrap_one(row: TenantKey | ServiceKey) -> bool:
    try:
        keyring.set_wrapped(row, get_kms().rewrap(keyring.wrapped_of(row), keyring.ctx_of(row)))
    except AdapterError as error:
        if not error.permanent:
            raise KeysUnavailable from error
        logger.error("a key does not unwrap", extra={"key_id": row.pk, "permanent": True})
        return False
    keyring.unwrap(row)
    row.save(update_fields=["wrapped", "kek_provider", "kek_ref", "kek_version"])
    return True


def kek_version() -> str:
    """Return the provider's current key version.  Raises KeysUnavailable."""
    try:
        return get_kms().current_version()
    except AdapterError as error:
        raise KeysUnavailable from error
