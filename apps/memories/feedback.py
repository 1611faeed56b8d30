"""Feedback of callers on memories: useful or not.  Each signal is stored and moves the memory's importance."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, SpaceShredded
from apps.memories import revisions
from apps.memories.feedback_aggregation import RECENT, Signal, Trend, moved, trend_of
from apps.memories.models import Memory, MemoryFeedback
from apps.memories.models.history import COMMENT
from apps.memories.revisions import FieldChange
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import lock_space
from apps.projects.models import Space
from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """adjustment: the change of the importance after clamping.  counts: of all the memory's signals, by signal."""

    memory_id: int
    signal: Signal
    importance_before: float
    importance_after: float
    moves_importance: bool
    counts: dict[str, int]
    trend: Trend

    @property
    def adjustment(self) -> float:
        return round(self.importance_after - self.importance_before, 6)


def give_feedback(
    scope: Scope,
    memory_id: int,
    signal: Signal,
    *,
    comment: Plaintext | None = None,
    moves_importance: bool = True,
    now: datetime,
) -> Feedback:
    """Store the signal and move the memory's importance by it.  Superseded memories take feedback too.

    Runs under the space's lock, so that no step is lost.  Raises MemoryNotFound.
    """
    if not scope.spaces or not 0 < memory_id < 2**63:
        raise MemoryNotFound
    try:
        with tenant_transaction(scope):
            space, cipher = lock_space(scope)
            rows = Memory.objects.within(scope).existing(now).filter(pk=memory_id).select_for_update(no_key=True)
            row = rows.only("pk", "tenant_id", "importance").first()
            if row is None:
                raise MemoryNotFound
            _note(scope, row, signal, comment, space, cipher, now=now)
            mine = MemoryFeedback.objects.within(scope).filter(memory_id=memory_id)
            recent = mine.order_by("-pk").values_list("signal", flat=True)[:RECENT]
            counts = dict(mine.order_by().values_list("signal").annotate(Count("pk")))
            trend, before = trend_of([Signal(one) for one in recent]), row.importance
            if moves_importance:
                row.importance = moved(before, signal, trend)
                _move(scope, row, before, space, cipher, now=now)
            return Feedback(
                memory_id=memory_id,
                signal=signal,
                importance_before=before,
                importance_after=row.importance,
                moves_importance=moves_importance,
                counts={one.value: counts.get(one, 0) for one in Signal},
                trend=trend,
            )
    except SpaceShredded:
        raise MemoryNotFound from None


def _note(
    scope: Scope,
    row: Memory,
    signal: Signal,
    comment: Plaintext | None,
    space: Space,
    cipher: SpaceCipher,
    *,
    now: datetime,
) -> None:
    (feedback_id,) = reserve_ids(1, sequence="memories_memoryfeedback_id_seq")
    MemoryFeedback.objects.create(
        scope,
        id=feedback_id,
        memory_id=row.pk,
        space_id=space.pk,
        signal=signal,
        comment_ct=cipher.seal(COMMENT, feedback_id, comment) if comment else None,
        key_version=cipher.key_version if comment else None,
        created_at=now,
    )
    record(
        scope,
        actor=scope.principal.label,
        action=AuditAction.MEMORY_FEEDBACK,
        target=f"memory:{row.pk}",
        reason=signal.value,
        now=now,
    )


def _move(scope: Scope, row: Memory, before: float, space: Space, cipher: SpaceCipher, *, now: datetime) -> None:
    if row.importance == before:
        return
    space.txid += 1
    space.save(update_fields=["txid"])
    row.updated_at, row.changed_txid = now, space.txid
    row.save(update_fields=["importance", "updated_at", "changed_txid"])
    diff = {"importance": {"old": before, "new": row.importance}}
    revisions.write(scope, space, [FieldChange(memory_id=row.pk, event="updated", diff=diff)], cipher, now=now)
