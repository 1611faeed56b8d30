"""Which memories?  Chainable questions."""

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db.models import Q

from apps.core.scoping import InTenant, ScopedQuerySet
from apps.projects.scope import Scope

if TYPE_CHECKING:
    pass


class MemoryQuerySet(ScopedQuerySet["Memory"]):
    def within(self, scope: InTenant) -> Self:
        """Rows of the scope's tenant, environment and spaces, of its project or of none."""
        rows = super().within(scope)
        if isinstance(scope, Scope):
            rows = rows.filter(environment=scope.environment, space_id__in=[space.id for space in scope.spaces])
            if scope.project_id is not None:
                rows = rows.filter(Q(project_id=scope.project_id) | Q(project_id=None))
        return rows

    def existing(self, now: datetime) -> Self:
        """Readable by id: active or archived, and not past its time."""
        return self.filter(retention_status__in=("active", "archived")).filter(
            Q(expires_at=None) | Q(expires_at__gt=now)
        )

    def live(self, now: datetime) -> Self:
        """What recall may return."""
        return self.existing(now).filter(retention_status="active").exclude(validity="superseded")

    def expired_at(self, now: datetime) -> Self:
        return self.filter(retention_status="active", expires_at__lte=now)
