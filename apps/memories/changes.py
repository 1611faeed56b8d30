"""Changes of a space that stored memories, by their number (``txid``)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min

from apps.core.scoping import tenant_transaction
from apps.memories.models import Memory
from apps.projects.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """memory_ids: of those that it stored and that can still be read; empty in a list of changes."""

    space_id: int
    txid: int
    created_at: datetime
    memory_ids: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """total: of all pages."""

    changes: Sequence[Change] = ()
    total: int = 0


def txid_of_memories(scope: Scope, memory_ids: Collection[int]) -> int | None:
    """The number of the latest change that stored one of these memories of the scope's one space."""
    if not memory_ids:
        return None
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).filter(pk__in=memory_ids)
        return rows.order_by("-created_txid").values_list("created_txid", flat=True).first()


def find_change(scope: Scope, txid: int, *, now: datetime) -> Change | None:
    """The change of the scope's one space with this number; None if nothing is left of it."""
    if not 0 < txid < 2**62:
        return None
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).existing(now).filter(created_txid=txid)
        found = list(rows.order_by("pk").values_list("pk", "created_at"))
    if not found:
        return None
    return Change(
        space_id=scope.space.id, txid=txid, created_at=found[0][1], memory_ids=[memory_id for memory_id, _ in found]
    )


def list_changes(scope: Scope, *, limit: int, offset: int, now: datetime) -> ChangePage:
    """A page of the changes of the scope's spaces of which something is left, newest first."""
    if not scope.spaces:
        return ChangePage()
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).existing(now).order_by()
        grouped = rows.values("space_id", "created_txid").annotate(at=Min("created_at"))
        total = grouped.count()
        page = list(grouped.order_by("-at", "-space_id", "-created_txid")[offset : offset + limit])
    changes = [Change(space_id=one["space_id"], txid=one["created_txid"], created_at=one["at"]) for one in page]
    return ChangePage(changes=changes, total=total)
