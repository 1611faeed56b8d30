"""Shredding of a space or a whole tenant: destroys its salt or keys, then deletes its rows.

The steps run in this order, and each may be repeated.  ``replay.resume`` finishes an interrupted shredding:

1. the erasure is in the ledger, so that no restore can undo it (``apps.erasure.workflow``);
2. new requests are cut off: the space loses its owner, who gets a new space with the next memory; or the tenant is
   closed and its API keys are revoked;
3. the salt or the keys are destroyed: from here on no copy of the rows can be decrypted;
4. every process drops its cached keys, and all writers have finished;
5. export files with the data are removed, and the rows are deleted in batches; the last batch writes the audit event.

Writers check the space's owner under a lock that step 2 waits for (``apps.ingest.snapshot``), so nothing is ever
encrypted under a destroyed salt.
"""

import uuid
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from apps.apikeys.services import revoke_every_key
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict
from apps.core.queries import execute
from apps.core.scoping import tenant_transaction
from apps.crypto import services as crypto
from apps.erasure import ledger, rows
from apps.erasure.models import ErasedKind
from apps.memories import tombstones
from apps.memories.models import Memory
from apps.projects.models import Space
from apps.projects.scope import NAMED_KINDS, Scope
from apps.projects.selectors import SpaceNotFound, branches_of
from apps.tenants.models import EndUser, Tenant
from apps.transfers.exports import files as exports

MEMORIES: Final = Memory._meta.db_table
REASON: Final = "tenant shredded"


class AlreadyShredded(Conflict):
    """This was shredded already; no data is left."""

    code = "ALREADY_SHREDDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shredded:
    """What a shredding deleted, or would delete according to a plan.

    rows: counts by table, without rows deleted by cascade.  salts, keys: numbers destroyed.
    key_encryption_keys: number of destroyed provider keys that served only this tenant.
    """

    kind: ErasedKind
    uid: uuid.UUID
    rows: Mapping[str, int] = field(default_factory=dict)
    salts: int = 0
    keys: int = 0
    key_encryption_keys: int = 0

    @property
    def memories(self) -> int:
        return self.rows.get(MEMORIES, 0)


def plan_space(scope: Scope, space_uid: uuid.UUID, *, most: int | None = None) -> Shredded:
    """Count what shredding the space would delete.  most: limit per table.  Raises SpaceNotFound or AlreadyShredded."""
    space = get_space(scope, space_uid)
    with tenant_transaction(scope):
        found = {table: rows.count(scope, table, space_id=space.pk, most=most) for table in rows.tables_of_a_space()}
    return Shredded(
        kind=ErasedKind.SPACE, uid=space_uid, rows=_some(found), salts=int(crypto.has_salt(scope.tenant.uid, space_uid))
    )


def finish_space(scope: Scope, space_uid: uuid.UUID, *, request_id: str = "", now: datetime) -> Shredded:
    """Shred a space that is in the ledger, and its branches.  Raises SpaceNotFound if that is done already."""
    space = _take_from_owner(scope, space_uid, now=now)
    # From here on no branch of it can be made.
    branches = [_finish_branch(scope, one.uid, request_id=request_id, now=now) for one in _branches(scope, space)]
    salts = crypto.destroy_salt(scope.tenant.uid, space_uid, now=now)
    crypto.drop_cached_keys(scope.tenant)
    _discard_files(scope, space, now=now)
    tables = rows.tables_of_a_space()
    deleted = rows.delete_all(scope, tables, space_id=space.pk)
    _discard_files(scope, space, now=now)  # for exports that had read its rows before
    with tenant_transaction(scope):
        if not Space.objects.within(scope).filter(pk=space.pk).select_for_update().exists():
            raise SpaceNotFound  # another worker has finished it meanwhile
        deleted = _sum(deleted, rows.delete_rest(scope, tables, space_id=space.pk))
        _delete_row(scope, rows.SPACES, space.pk)
        record(
            scope,
            actor=scope.principal.label,
            action=AuditAction.SPACE_SHRED,
            target=f"space:{space.pk}",
            reason=str(space_uid),
            request_id=request_id,
            count=deleted.get(MEMORIES, 0),
            now=now,
        )
    for one in branches:
        deleted = _sum(deleted, one.rows)
    return Shredded(
        kind=ErasedKind.SPACE, uid=space_uid, rows=deleted, salts=int(salts) + sum(one.salts for one in branches)
    )


def _branches(scope: Scope, space: Space) -> list[Space]:
    with tenant_transaction(scope):
        return branches_of(scope, [space.uid])


def _finish_branch(scope: Scope, space_uid: uuid.UUID, *, request_id: str, now: datetime) -> Shredded:
    """Shred a branch with its origin: also one that was made after the erasure was written into the ledger."""
    ledger.note_space(scope.tenant.uid, space_uid, actor=scope.principal.label, request_id=request_id, now=now)
    try:
        return finish_space(scope, space_uid, request_id=request_id, now=now)
    except SpaceNotFound:  # another worker has finished it meanwhile
        return Shredded(kind=ErasedKind.SPACE, uid=space_uid)


def plan_tenant(tenant: Tenant, *, most: int | None = None) -> Shredded:
    """Count what shredding the tenant would delete.  most: limit of the count per table."""
    with tenant_transaction(tenant):
        found = {table: rows.count(tenant, table, most=most) for table in rows.tables_of_a_tenant()}
    return Shredded(
        kind=ErasedKind.TENANT,
        uid=tenant.uid,
        rows=_some(found),
        salts=crypto.living_salts(tenant.uid),
        keys=crypto.living_keys(tenant.uid),
    )


def finish_tenant(scope: Scope, *, request_id: str = "", now: datetime) -> Shredded:
    """Shred the scope's tenant, which is in the ledger.  Does nothing if that is done already."""
    uid = scope.tenant.uid
    _shut(scope, now=now)
    keys = crypto.destroy_tenant_keys(uid, reason=REASON, now=now)
    crypto.drop_cached_keys(scope.tenant)
    salts = crypto.destroy_all_salts(uid, now=now)
    keks = crypto.destroy_own_keks(uid)
    tables = rows.tables_of_a_tenant()
    # The key state row stays until the end: its epoch makes processes drop their cached keys.
    deleted = rows.delete_all(scope, [table for table in tables if table != rows.KEY_STATE])
    with tenant_transaction(scope):
        Tenant.objects.select_for_update().get(pk=scope.tenant_id)  # blocks creation of end users
        deleted = _sum(deleted, rows.delete_rest(scope, tables))
        Tenant.objects.filter(pk=scope.tenant_id).update(name=_nameless(uid))
        if deleted:
            record(
                scope,
                actor=scope.principal.label,
                action=AuditAction.TENANT_SHRED,
                target=f"tenant:{scope.tenant_id}",
                reason=str(uid),
                request_id=request_id,
                count=deleted.get(MEMORIES, 0),
                now=now,
            )
    return Shredded(kind=ErasedKind.TENANT, uid=uid, rows=deleted, salts=salts, keys=keys, key_encryption_keys=keks)


def get_space(scope: Scope, space_uid: uuid.UUID) -> Space:
    """Return the space with this uid.  Raises SpaceNotFound or AlreadyShredded."""
    with tenant_transaction(scope):
        space = Space.objects.within(scope).filter(uid=space_uid).first()
    if space is not None:
        return space
    raise AlreadyShredded if ledger.names(ErasedKind.SPACE, space_uid) else SpaceNotFound


def _take_from_owner(scope: Scope, space_uid: uuid.UUID, *, now: datetime) -> Space:
    """Detach the space from its owner and return it.  An end user or agent without another space is deleted too."""
    with tenant_transaction(scope):
        space = Space.objects.within(scope).filter(uid=space_uid).first()
        if space is None:
            raise SpaceNotFound
        if space.kind in NAMED_KINDS and space.origin_uid is None:  # the end of a branch is not its owner's
            _bury(scope, space, now=now)
        # Lock the end user before the space, as ``get_or_create_end_user`` does, to avoid a deadlock.
        person = EndUser.objects.within(scope).filter(pk=space.owner_id).select_for_update()
        is_person = space.kind in NAMED_KINDS and bool(person)
        # No owner has a negative id, and the space's own id makes it unique.
        taken = copy(space)
        taken.owner_id = -space.pk
        taken.bind()
        taken.save(update_fields=["owner_id", "row_mac"])
        if is_person and not Space.objects.within(scope).filter(kind=space.kind, owner_id=space.owner_id).exists():
            _delete_row(scope, EndUser._meta.db_table, space.owner_id)
    return space


def _bury(scope: Scope, space: Space, *, now: datetime) -> None:
    owner = EndUser.objects.within(scope).filter(pk=space.owner_id).values_list("external_mac", flat=True).first()
    if owner is not None:
        tombstones.bury_person(scope, space.environment, bytes(owner), now=now)


def _discard_files(scope: Scope, space: Space, *, now: datetime) -> None:
    """Discard export files with data of the space.

    Not in the transaction that locks the space, because a running export would wait for that lock.
    """
    with tenant_transaction(scope):
        exports.discard(scope, space_ids=[space.pk], now=now)


def _shut(scope: Scope, *, now: datetime) -> None:
    with tenant_transaction(scope):
        Tenant.objects.filter(pk=scope.tenant_id, closed_at=None).update(closed_at=now)
        revoke_every_key(scope, now=now)


def _nameless(uid: uuid.UUID) -> str:
    return f"erased-{uid.hex[:16]}"


def _delete_row(scope: Scope, table: str, row_id: int) -> None:
    execute(f"delete from {table} where tenant_id = %s and id = %s", [scope.tenant_id, row_id])  # noqa: S608  (ours)


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    return {table: number for table, number in counts.items() if number}


def _sum(some: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    return {table: some.get(table, 0) + others.get(table, 0) for table in {**some, **others}}
