"""The status of a memory for filters, and the rows with a status."""

from datetime import datetime
from enum import StrEnum

from django.db.models import Q

from apps.memories.models import MemoryQuerySet, Retention, Validity


class MemoryStatus(StrEnum):
    """The status of a memory; ``deleted`` ones can be restored."""

    CURRENT = "current"
    DISPUTED = "disputed"
    REPLACED = "replaced"
    ARCHIVED = "archived"
    DELETED = "deleted"


def with_status(rows: MemoryQuerySet, status: str, now: datetime) -> MemoryQuerySet:
    """The memories with this status among those that can be read by id."""
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
    """Deleted memories that ``soft_delete.restore`` can bring back."""
    rows = rows.filter(retention_status=Retention.SOFT_DELETED)
    return rows.filter(Q(hard_delete_at=None) | Q(hard_delete_at__gt=now), Q(expires_at=None) | Q(expires_at__gt=now))
