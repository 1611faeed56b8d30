"""The status of a memory, as people filter by it, and the rows that have it."""

from datetime import datetime
from enum import StrEnum

from django.db.models import Q

from apps.memories.models import MemoryQuerySet, Retention, Validity


class MemoryStatus(StrEnum):
    """How a memory stands; ``deleted`` ones can be brought back."""

    CURRENT = "current"
    DISPUTED = "disputed"
    REPLACED = "replaced"
    ARCHIVED = "archived"
    DELETED = "deleted"


def with_status(rows: MemoryQuerySet, status: str, now: datetime) -> MemoryQuerySet:
    """Of memories that can be read by their ids."""
    rows = rows.existing(now)
    if status == MemoryStatus.ARCHIVED:
        return rows.filter(retention_status=Retention.ARCHIVED)
    rows = rows.filter(retention_status=Retention.ACTIVE)
    if status == MemoryStatus.REPLACED:
        return rows.filter(validity=Validity.SUPERSEDED)
    if status == MemoryStatus.DISPUTED:
        return rows.filter(validity=Validity.DISPUTED)
    return rows.exclude(validity=Validity.SUPERSEDED)


def restorable(rows: MemoryQuerySet, now: datetime) -> MemoryQuerySet:
    """Those that ``soft_delete.restore`` would bring back."""
    rows = rows.filter(retention_status=Retention.SOFT_DELETED)
    return rows.filter(Q(hard_delete_at=None) | Q(hard_delete_at__gt=now), Q(expires_at=None) | Q(expires_at__gt=now))
