"""Effects of stated relations on memories; deleting the relation undoes them.

``supersedes``: the memory that it points to is superseded by the other.  ``same_as``: the newer memory is superseded by
the older, which counts its repetitions.  Other types have none.  In the transaction that holds the space's lock.
"""

from datetime import datetime

from apps.apikeys.permissions import REVIEWS
from apps.edges.models import MemoryEdge
from apps.edges.opened import Edge, NewEdge
from apps.edges.types import EFFECTIVE_TYPES, SAME_AS
from apps.memories.superseding import MERGED, STATED, supersede_as_stated, undo_stated
from apps.projects.scope import Scope


def apply_effect(scope: Scope, edge: NewEdge, *, now: datetime) -> None:
    """Apply the effect of an edge that a caller states, once; nothing for a type without one.

    Raises NotCurrent, SummaryFollows, ConstraintStays, SupersedingForbidden.
    """
    if edge.type not in EFFECTIVE_TYPES:
        return
    stays, goes = _ends(edge)
    reason = MERGED if edge.type == SAME_AS else STATED
    supersede_as_stated(scope, stays, goes, reason=reason, may_review=REVIEWS in scope.permissions, now=now)


def undo_effect(scope: Scope, edge: Edge, *, now: datetime) -> None:
    """Undo the effect of an edge that was deleted, unless another edge of its memories ends the same one."""
    if edge.type not in EFFECTIVE_TYPES:
        return
    ends = _ends(edge)
    others = MemoryEdge.objects.within(scope).filter(
        from_memory_id__in=ends, to_memory_id__in=ends, type__in=EFFECTIVE_TYPES
    )
    if not others.exists():
        undo_stated(scope, *ends, now=now)


def _ends(edge: Edge | NewEdge) -> tuple[int, int]:
    """The memory that stays and the one that ends."""
    if edge.type == SAME_AS:
        return min(edge.from_id, edge.to_id), max(edge.from_id, edge.to_id)
    return edge.from_id, edge.to_id
