"""Key status, retirement and destruction, with counts of the rows still under a key version; and rewrapping."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import fetch_column, fetch_value
from apps.core.scoping import tenant_transaction
from apps.crypto import lifecycle
from apps.crypto.lifecycle import KeyFacts, Rewrapped, RowsRemain
from apps.crypto.models import KeyKind, TenantKeyState
from apps.key_management import rotation
from apps.key_management.models import KeyRewrap
from apps.key_management.rotation_requests import ask_for_rewrap
from apps.memories import reencryption
from apps.memories.models import QuarantinedRow
from apps.projects.models import Space
from apps.projects.scope import Principal, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStatus:
    """Metadata of a tenant's keys, without the keys.

    rows: number of rows under each version of the root key, without those in quarantine.
    """

    keys: list[KeyFacts]
    active_version: int
    live_versions: tuple[int, ...]
    is_compromised: bool
    rows: dict[int, int]
    quarantined: int
    progress: rotation.Progress | None


def status(scope: Scope, *, now: datetime) -> KeyStatus:
    with tenant_transaction(scope):
        state = TenantKeyState.objects.within(scope).get()
        return KeyStatus(
            keys=lifecycle.key_facts(scope),
            active_version=state.active_version,
            live_versions=tuple(state.live_versions),
            is_compromised=state.compromised,
            rows=reencryption.behind(scope),
            quarantined=QuarantinedRow.objects.within(scope).count(),
            progress=rotation.progress(scope, now=now),
        )


def retire(scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, now: datetime) -> None:
    """Stop reading under this version.  Rows in quarantine do not block this, because they do not decrypt.

    Raises KeyInUse, RowsRemain.
    """
    if kind == KeyKind.ROOT:
        lifecycle.retire(scope, version, remaining=lambda: reencryption.behind(scope).get(version, 0), now=now)
        return
    with tenant_transaction(scope):
        lifecycle.lock_state(scope)  # no space can be created meanwhile
        if count := _keyed_under(scope, version):
            raise RowsRemain(f"{count} spaces are still keyed under version {version}.")
    lifecycle.retire_in_keyring(scope, version, kind=kind, now=now)


def destroy(
    scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, despite_rows: bool = False, now: datetime
) -> None:
    """Null the wrapped key.  Rows in quarantine block this: their backup may decrypt only with this key.

    despite_rows: see ``lifecycle.destroy``.  Raises KeyNotFound, KeyInUse, RowsRemain.
    """
    lifecycle.destroy(
        scope, version, kind=kind, remaining=lambda: count_under(scope, version, kind=kind),
        despite_rows=despite_rows, now=now,
    )  # fmt: skip


def count_under(scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT) -> int:
    """Count what would be lost with this version: rows, including quarantined ones; for an identity key, spaces."""
    with tenant_transaction(scope):
        if kind == KeyKind.IDENTITY:
            return _keyed_under(scope, version)
        where = "where tenant_id = %s and key_version = %s"
        values = [scope.tenant_id, version]
        return sum(fetch_value(f"select count(*) from {table} {where}", values) for table in sealed_tables())  # noqa: S608 -- ours


def sealed_tables() -> list[str]:
    """Return every tenant table with a key version.  Read from the database's catalogue, so no new table is missed."""
    return fetch_column(
        "select table_name from information_schema.columns where table_schema = 'public' and column_name = "
        "'key_version' intersect select table_name from information_schema.columns where table_schema = 'public' "
        "and column_name = 'tenant_id' order by 1"
    )


def rewrap(principal: Principal, *, progress: Callable[[int], None] = lambda done: None, now: datetime) -> Rewrapped:
    """Rewrap every key, for the open request or a new one; see ``lifecycle.rewrap``."""
    asked = ask_for_rewrap(principal, now=now)
    rewrapped = lifecycle.rewrap(progress=progress)
    with transaction.atomic():
        mine = KeyRewrap.objects.filter(pk=asked.pk, finished_at=None)
        if mine.update(done=rewrapped.done, failed=rewrapped.failed, finished_at=now):
            record(None, actor=asked.actor, action=AuditAction.KEY_REWRAP, count=rewrapped.done, now=now)
    return rewrapped


def _keyed_under(scope: Scope, version: int) -> int:
    """Count the spaces, and the tenant itself, whose keyed hashes use this version of the identity key."""
    spaces = Space.objects.within(scope).filter(identity_version=version).count()
    return spaces + TenantKeyState.objects.within(scope).filter(identity_version=version).count()
