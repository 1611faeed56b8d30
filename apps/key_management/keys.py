"""Taking keys out of use, with a look at every row that may still be under them; and what there is to see of keys."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from apps.audit.actions import AuditAction
from apps.audit.services import record
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
    """What there is to see of a tenant's keys.  No key among it.

    rows: how many rows are under each version of the root key, those in quarantine left out.
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
    """Nothing is read under this version any more.  Rows in quarantine do not open, so they do not hold it up.

    Raises KeyInUse, RowsRemain.
    """
    if kind == KeyKind.ROOT:
        lifecycle.retire(scope, version, remaining=lambda: reencryption.behind(scope).get(version, 0), now=now)
        return
    with tenant_transaction(scope):
        lifecycle.lock_state(scope)  # no space is made meanwhile
        if count := _keyed_under(scope, version):
            raise RowsRemain(f"{count} spaces are still keyed under version {version}.")
    lifecycle.retire_in_keyring(scope, version, kind=kind, now=now)


def destroy(
    scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT, despite_rows: bool = False, now: datetime
) -> None:
    """Null the bytes of a key.  Rows in quarantine hold it up: their backup may open with this key and no other.

    despite_rows: see ``lifecycle.destroy``.  Raises KeyNotFound, KeyInUse, RowsRemain.
    """
    lifecycle.destroy(
        scope, version, kind=kind, remaining=lambda: count_under(scope, version, kind=kind),
        despite_rows=despite_rows, now=now,
    )  # fmt: skip


def count_under(scope: Scope, version: int, *, kind: KeyKind = KeyKind.ROOT) -> int:
    """Everything that would be lost with this version: rows, those in quarantine too, or spaces of an identity key."""
    with tenant_transaction(scope):
        if kind == KeyKind.IDENTITY:
            return _keyed_under(scope, version)
        with connection.cursor() as cursor:
            found = 0
            for table in sealed_tables():
                where = "where tenant_id = %s and key_version = %s"
                cursor.execute(f"select count(*) from {table} {where}", [scope.tenant_id, version])  # noqa: S608 -- ours
                found += sum(count for (count,) in cursor.fetchall())
            return found


def sealed_tables() -> list[str]:
    """Every table of tenants' rows with a key version, by the database's catalogue: none made later is forgotten."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select table_name from information_schema.columns where table_schema = 'public' and column_name = "
            "'key_version' intersect select table_name from information_schema.columns where table_schema = 'public' "
            "and column_name = 'tenant_id' order by 1"
        )
        return [name for (name,) in cursor.fetchall()]


def rewrap(principal: Principal, *, progress: Callable[[int], None] = lambda done: None, now: datetime) -> Rewrapped:
    """Re-wrap every key, as asked for by another user or right now; see ``lifecycle.rewrap``."""
    asked = ask_for_rewrap(principal, now=now)
    rewrapped = lifecycle.rewrap(progress=progress)
    with transaction.atomic():
        mine = KeyRewrap.objects.filter(pk=asked.pk, finished_at=None)
        if mine.update(done=rewrapped.done, failed=rewrapped.failed, finished_at=now):
            record(None, actor=asked.actor, action=AuditAction.KEY_REWRAP, count=rewrapped.done, now=now)
    return rewrapped


def _keyed_under(scope: Scope, version: int) -> int:
    """Spaces, and the tenant itself, whose handles are made with this version of the identity key."""
    spaces = Space.objects.within(scope).filter(identity_version=version).count()
    return spaces + TenantKeyState.objects.within(scope).filter(identity_version=version).count()
