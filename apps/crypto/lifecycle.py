"""The life of a tenant's keys: made, put to use, kept for reading, retired, destroyed; and rewrapped.

Two databases cannot commit as one.  So each step is one commit, a step that grants goes to the keyring first, a step
that takes away goes to the main database first, and every step may be taken again::

    begin      keyring: the next version, pending
    promote    keyring: pending -> active, and the one before it -> read_only
    flip       main:    active and live, under the lock that every writer shares; the epoch rises
    withdraw   main:    no longer live; the epoch rises
    retire     keyring: read_only -> retired
    destroy    keyring: the wrapped bytes are gone, the row stays

Whatever dies between two of them leaves a state in which each version that main calls live can be loaded, and writers
use the one that main calls active.  ``tests/unit/test_key_model.py`` walks through all of these.

No process needs to be waited for before the flip.  Every transaction reads the state row and loads the keys again when
the epoch differs from that of the keys it holds, and the new key was committed to the keyring before main named it: who
reads the new state finds the new key.  Who read the old state holds the row FOR SHARE if it writes, and the flip waits.
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
    """One version of a key, without the key.  seals: about how many values were sealed under it."""

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
    """done: rewrapped (in a dry run: that would be).  failed: did not unwrap, and were left as they are."""

    done: int
    failed: int


# --- making a key and putting it to use -----------------------------------------------------------------------------


def begin(scope: Scope, *, kind: KeyKind = KeyKind.ROOT, reason: str, now: datetime) -> int:
    """The version that waits to be used, made if there is none.  Raises KeysMissing, KeysUnavailable."""
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
        # Of two at once one is stored, and both go on with it.
        TenantKey.objects.bulk_create([row], ignore_conflicts=True)
    found = waiting.order_by("version").last()
    if found is None:
        raise KeysUnavailable  # a quicker caller has promoted it already
    keyring.unwrap(found)  # a key that does not open must not be promoted
    return found.version


def promote(
    scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, window: timedelta = READING_WINDOW, now: datetime
) -> None:
    """In the keyring: this version is active, and the one before it may be read until the window is over."""
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
    """In the main database: writers use this version from now on.  False when they did already.

    Waits for running writers.  Inside the caller's transaction, which also writes down what is now to be done.
    """
    state = lock_state(scope)
    if version in state.live_versions:
        return False
    _change(scope, active_version=version, live_versions=[*state.live_versions, version])
    _note(scope, AuditAction.KEY_ROTATE, version, reason=reason, now=now)
    return True


def mark_compromised(scope: Scope, *, now: datetime) -> None:
    """Record that someone else may have these keys.  One that waited to be used is destroyed, never promoted."""
    mine = TenantKey.objects.filter(tenant_uid=scope.tenant.uid)
    mine.filter(state=KeyState.PENDING).update(
        state=KeyState.DESTROYED, wrapped=None, destroyed_at=now, reason=COMPROMISED
    )
    mine.filter(state__in=(KeyState.ACTIVE, KeyState.READ_ONLY)).update(reason=COMPROMISED)
    with tenant_transaction(scope):
        TenantKeyState.objects.within(scope).update(compromised=True)


# --- taking a key out of use ----------------------------------------------------------------------------------------


def extend(scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, until: datetime) -> None:
    """Let a key be read for longer."""
    mine = TenantKey.objects.filter(tenant_uid=scope.tenant.uid, kind=kind, version=version)
    mine.filter(state=KeyState.READ_ONLY).update(read_only_until=until)


def retire(scope: Scope, version: int, *, remaining: Callable[[], int], now: datetime) -> None:
    """No row is read under this version of the root key any more; its bytes are kept for restores.

    remaining: how many rows are under it; asked while the state is locked.  Raises KeyInUse, RowsRemain.
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
    """For versions that main no longer names."""
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
    """Null the wrapped bytes of a retired version: what is still under it anywhere, backups included, never opens.

    despite_rows: the owner of the data consents to losing what is under it; then a compromised version need not be
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
            # Before it is done: an attempt that leaves no trace would be worse than a trace of one that failed.
            _note(scope, AuditAction.KEY_DESTROY, version, reason=kind, now=now)
    mine = TenantKey.objects.filter(pk=row.pk).exclude(state=KeyState.DESTROYED)
    mine.update(state=KeyState.DESTROYED, wrapped=None, destroyed_at=now)
    raise_epoch(scope)


# --- the state row --------------------------------------------------------------------------------------------------


def lock_state(scope: Scope) -> TenantKeyState:
    """The tenant's state row, FOR UPDATE: waits for running writers and holds off others.  Raises KeysMissing."""
    state = TenantKeyState.objects.within(scope).select_for_update().first()
    if state is None:
        raise KeysMissing
    return state


def raise_epoch(scope: Scope) -> None:
    """Every process drops this tenant's keys at its next transaction."""
    with tenant_transaction(scope):
        _change(scope)


def _withdraw(scope: Scope, state: TenantKeyState, version: int) -> bool:
    """Whether the version was live until now."""
    live = [one for one in state.live_versions if one != version]
    if live == state.live_versions:
        return False
    _change(scope, live_versions=live, compromised=state.compromised and live != [state.active_version])
    return True


def _change(scope: Scope, **values: Any) -> None:
    TenantKeyState.objects.within(scope).update(key_epoch=F("key_epoch") + 1, **values)


def _note(scope: Scope, action: AuditAction, version: int, *, reason: str = "", now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"key:{version}", reason=reason, now=now)


# --- reading what there is ------------------------------------------------------------------------------------------


def key_facts(scope: Scope) -> list[KeyFacts]:
    """Every version there ever was, root keys first, newest first."""
    rows = TenantKey.objects.filter(tenant_uid=scope.tenant.uid).order_by("-kind", "-version")
    names = tuple(KeyFacts.__dataclass_fields__)
    return [KeyFacts(**row) for row in rows.values(*names)]


def due_for_rotation(*, max_age: timedelta, max_seals: int, now: datetime) -> list[uuid.UUID]:
    """Uids of the tenants whose active root key is too old or was used too often."""
    used_up = Q(activated_at__lte=now - max_age) | Q(seals__gte=max_seals)
    rows = TenantKey.objects.filter(used_up, kind=KeyKind.ROOT, state=KeyState.ACTIVE)
    return list(rows.order_by("pk").values_list("tenant_uid", flat=True))


def due_for_retirement(*, now: datetime) -> list[tuple[uuid.UUID, KeyKind, int]]:
    """(tenant's uid, kind, version) of the keys whose time for reading is over."""
    rows = TenantKey.objects.filter(state=KeyState.READ_ONLY, read_only_until__lte=now)
    return [(row.tenant_uid, KeyKind(row.kind), row.version) for row in rows.order_by("pk")]


def due_for_destruction(*, retired_before: datetime) -> list[tuple[uuid.UUID, KeyKind, int]]:
    rows = TenantKey.objects.filter(state=KeyState.RETIRED, retired_at__lte=retired_before)
    return [(row.tenant_uid, KeyKind(row.kind), row.version) for row in rows.order_by("pk")]


# --- rewrapping -----------------------------------------------------------------------------------------------------


def rewrap(*, dry_run: bool = False, progress: Callable[[int], None] = lambda done: None) -> Rewrapped:
    """Wrap every key of every tenant and of the deployment under the provider's current version.

    A few at a time, each few in one commit: stopped and started again it goes on where it was, and several may run at
    once.  Every key is unwrapped from its new form before the old form is given up.  Raises KeysUnavailable.
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
    """As the provider wraps now: whose key, which one, which version.  Raises KeysUnavailable."""
    try:
        return get_kms().wrap(bytes(aead.KEY_BYTES), {"p": "rewrap"})
    except AdapterError as error:
        raise KeysUnavailable from error


def _behind(model: type[TenantKey] | type[ServiceKey], current: Wrapped) -> Any:
    # Not by the version alone: the provider that one moves to may count from 1 as well.
    return model.objects.filter(wrapped__isnull=False).exclude(
        kek_provider=current.provider, kek_ref=current.ref, kek_version=current.version
    )


def _rewrap_some(model: type[TenantKey] | type[ServiceKey], current: Wrapped, *, after: int) -> list[tuple[int, bool]]:
    """(id, whether it was done) of the next few.  Rows that another process is at are left to it."""
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
    """The version that the provider wraps with now.  Raises KeysUnavailable."""
    try:
        return get_kms().current_version()
    except AdapterError as error:
        raise KeysUnavailable from error
