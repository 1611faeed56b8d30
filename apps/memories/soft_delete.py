"""Soft deletion: a memory leaves every response at once, and can be restored while its text is kept."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q
from django.db.models.functions import Coalesce

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, SpaceShredded
from apps.memories import claims, end_parts, revisions, validity
from apps.memories.ended_parts import MemoryPart
from apps.memories.indexing_mode import check_room
from apps.memories.lifetimes import lifetimes_of
from apps.memories.models import Memory, MemoryClaim, MemoryVector, Retention, Validity
from apps.memories.revisions import FieldChange
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import lock_space
from apps.memories.types import ACCUMULATING, ACCUMULATING_WINDOW
from apps.outbox.services import enqueue
from apps.policies.retention import GRACE_DAYS
from apps.projects.models import Space
from apps.projects.scope import Scope

GRACE: Final = timedelta(days=GRACE_DAYS)  # between a soft delete and the purge


class NotRestorable(Conflict):
    """This memory was not deleted, or can no longer be restored."""

    code = "NOT_RESTORABLE"


class PastRetention(Conflict):
    """By the retention rules in force it has expired and would be deleted again at once: loosen that rule first."""

    code = "PAST_RETENTION"


class RememberedAgain(Conflict):
    """The same content was stored again since this memory was deleted."""

    code = "REMEMBERED_AGAIN"


def soft_delete(
    scope: Scope, space: Space, rows: Sequence[Memory], cipher: SpaceCipher, *, method: str, reason: str, now: datetime
) -> None:
    """Soft-delete these rows: no response contains them from this transaction on; ``restore`` works for a week.

    rows: locked, under the space's lock.  reason: the caller's words, encrypted in the history.
    """
    if not rows:
        return
    ids = [row.pk for row in rows]
    space.txid += 1
    space.save(update_fields=["txid"])
    Memory.objects.within_tenant(scope).filter(pk__in=ids).update(
        retention_status=Retention.SOFT_DELETED,
        deletion_method=method,
        deleted_at=now,
        hard_delete_at=now + GRACE,
        updated_at=now,
        changed_txid=space.txid,
    )
    MemoryVector.objects.within(scope).filter(memory_id__in=ids).update(live=False)
    why = {"reason": {"old": None, "new": reason}} if reason else {}
    changes = [
        FieldChange(memory_id=row.pk, event="soft_deleted", diff=_states(reported(row), Retention.SOFT_DELETED) | why)
        for row in rows
    ]
    revisions.write(scope, space, changes, cipher, now=now)


def restore(scope: Scope, memory_id: int, *, now: datetime) -> None:
    """Restore a soft-deleted memory.  If its slot has another value by now, it comes back as superseded.

    Its age counts from now, if the policy counts it from the last use.

    Raises MemoryNotFound, NotRestorable, PastRetention, RememberedAgain, SpaceFull.
    """
    if not scope.spaces or not 0 < memory_id < 2**63:
        raise MemoryNotFound
    try:
        with tenant_transaction(scope):
            space, cipher = lock_space(scope)
            row = Memory.objects.within(scope).filter(pk=memory_id).select_for_update(no_key=True).first()
            if row is None:
                raise MemoryNotFound
            _check(scope, row, space, now=now)
            _bring_back(scope, row, space, cipher, now=now)
    except SpaceShredded:
        raise MemoryNotFound from None


def reported(row: Memory) -> str:
    """The status in the API, which has none for a superseded memory and calls it archived."""
    is_replaced = row.retention_status == Retention.ACTIVE and row.validity == Validity.SUPERSEDED
    return Retention.ARCHIVED.value if is_replaced else str(row.retention_status)


def _check(scope: Scope, row: Memory, space: Space, *, now: datetime) -> None:
    is_over = (row.hard_delete_at and row.hard_delete_at <= now) or (row.expires_at and row.expires_at <= now)
    if row.retention_status != Retention.SOFT_DELETED or is_over:
        raise NotRestorable
    there = Memory.objects.within_tenant(scope).filter(space_id=space.pk, retention_status=Retention.ACTIVE)
    there = there.alias(said_at=Coalesce("valid_from", "created_at"))
    if there.filter(Q(public_id=row.public_id) | _same_text(row, now=now)).exists():
        raise RememberedAgain
    check_room(scope, space, 1)


def _same_text(row: Memory, *, now: datetime) -> Q:
    """Matches memories because of which an add would refuse this one's text as a duplicate; typed memories are known
    by their public id alone."""
    if row.content_ct is not None or row.validity == Validity.SUPERSEDED:
        return Q(pk__in=())
    same = Q(text_mac=row.text_mac) & ~Q(validity=Validity.SUPERSEDED)
    same &= Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    if row.project_id is not None:
        same &= Q(project_id__isnull=True) | Q(project_id=row.project_id)
    if row.type in ACCUMULATING:
        said_at = row.valid_from or row.created_at
        of_one_time = Q(said_at__gte=said_at - ACCUMULATING_WINDOW, said_at__lte=said_at + ACCUMULATING_WINDOW)
        same &= of_one_time | Q(event_at=row.event_at) if row.event_at else of_one_time
    return same


def _bring_back(scope: Scope, row: Memory, space: Space, cipher: SpaceCipher, *, now: datetime) -> None:
    diff: dict[str, Any] = {}
    holder = _holder(scope, row, space)
    if holder is not None:
        row.validity, row.superseded_by_id = Validity.SUPERSEDED, holder.pk
        row.superseded_at, row.superseded_reason = now, "newer"
        diff["superseded_by"] = {"old": None, "new": holder.pk}
        held = validity.read(scope, [row])[row.pk]
        held.end_latest(holder.valid_from or holder.created_at, now=now)
        held.put_into(row)
        validity.write(scope, space.pk, {row.pk: held}, now=now)
    space.txid += 1
    yield_parts(scope, row, space, cipher, now=now)
    space.save(update_fields=["txid", "term_total"])
    row.retention_status, row.deletion_method = Retention.ACTIVE, ""
    row.deleted_at = row.hard_delete_at = None
    row.updated_at, row.changed_txid, row.last_used_at = now, space.txid, now
    until = lifetimes_of(scope, [space.pk]).until(row)
    if until is not None and until <= now:
        raise PastRetention
    row.save(
        update_fields=[
            "validity", "superseded_by", "superseded_at", "superseded_reason", "retention_status", "deletion_method",
            "deleted_at", "hard_delete_at", "updated_at", "changed_txid", "last_used_at", "valid_from", "valid_to",
            "known_from",
        ]
    )  # fmt: skip
    vectors = MemoryVector.objects.within(scope).filter(memory_id=row.pk)
    if not vectors.update(live=row.is_live()):
        enqueue(scope, "embed", [row.pk], now=now)
    diff = _states(Retention.SOFT_DELETED, reported(row)) | diff
    revisions.write(scope, space, [FieldChange(memory_id=row.pk, event="restored", diff=diff)], cipher, now=now)
    record(scope, actor=scope.principal.label, action=AuditAction.MEMORY_RESTORE, target=f"memory:{row.pk}", now=now)


def _holder(scope: Scope, row: Memory, space: Space) -> Memory | None:
    """The memory that now holds the slot that this one held when it was deleted."""
    if row.slot is None or row.validity != Validity.CURRENT:
        return None
    return holder_of_slot(scope, space, bytes(row.slot), row.pk)


def yield_parts(scope: Scope, row: Memory, space: Space, cipher: SpaceCipher, *, now: datetime) -> None:
    """End those parts of a memory that holds again whose slots another memory has taken meanwhile.

    In the transaction that holds the space's lock; the caller saves the counts of ``space``.
    """
    ended = []
    mine = MemoryClaim.objects.within(scope).filter(memory_id=row.pk, validity=Validity.CURRENT, slot__isnull=False)
    for claim in mine:
        holder = holder_of_slot(scope, space, bytes(claim.slot or b""), row.pk)
        if holder is None:
            continue
        since = holder.valid_from or holder.created_at
        words = claims.words_of(claim, cipher)
        claim.validity, claim.superseded_by_id = Validity.SUPERSEDED, holder.pk
        claim.valid_to, claim.known_from = since, now
        claim.save(update_fields=["validity", "superseded_by_id", "valid_to", "known_from"])
        ended.append(
            MemoryPart(
                start=words[0], end=words[1], ended_at=since, known_from=now, by=holder.pk, claim_id=claim.pk
            )
        )  # fmt: skip
    if ended:
        end_parts.end_parts(scope, space, row, ended, cipher, now=now)


def holder_of_slot(scope: Scope, space: Space, slot: bytes, memory_id: int) -> Memory | None:
    """Another current memory that holds the slot, as a whole or with a part."""
    there = Memory.objects.within_tenant(scope).filter(space_id=space.pk, retention_status=Retention.ACTIVE)
    there = there.filter(validity=Validity.CURRENT).exclude(pk=memory_id)
    of_parts = MemoryClaim.objects.within(scope).filter(
        space_id=space.pk, slot=slot, validity=Validity.CURRENT, memory_id__in=there.values("pk")
    )
    return there.filter(Q(slot=slot) | Q(pk__in=of_parts.values("memory_id"))).order_by("-pk").first()


def _states(old: str, new: str) -> dict[str, Any]:
    return {"retention_status": {"old": str(old), "new": str(new)}}
