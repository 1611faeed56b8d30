"""Model of break-glass grants: one operator may read one space of a tenant for half an hour."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from apps.core.scoping import ScopedManager, ScopedModel
from apps.projects.models import Space

LASTS: Final = timedelta(minutes=30)
WAITS: Final = timedelta(hours=24)  # how long approvals may take


class GrantStatus(StrEnum):
    WAITS_FOR_OPERATOR = "waits for a second operator"
    WAITS_FOR_TENANT = "waits for the tenant"
    OPEN = "open"
    LAPSED = "nobody said yes"
    REFUSED = "refused"
    OVER = "over"
    ENDED = "ended early"


class Grant(ScopedModel):
    """A grant: requested by one operator, approved by another and, if the tenant requires it, allowed by an owner.

    The database enforces this too: no one approves their own request, a grant lasts exactly half an hour, and an open
    grant changes only by opened memories and its end (``breakglass_guard``).

    asked_by, approved_by, allowed_by: account ids.  closed_by: who refused or ended it, as in the audit log.
    opened_ids: the opened memories, in the order of opening.
    """

    space = models.ForeignKey(Space, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    asked_by = models.BigIntegerField()
    reason = models.CharField(max_length=200, help_text="Read by the second operator and by the tenant.")
    ticket = models.CharField(max_length=64)
    waits_until = models.DateTimeField()
    approved_by = models.BigIntegerField(null=True)
    approved_at = models.DateTimeField(null=True)
    allowed_by = models.BigIntegerField(null=True)
    allowed_at = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=64, blank=True, default="")
    closed_at = models.DateTimeField(null=True)
    opened_ids = ArrayField(models.BigIntegerField(), default=list)

    objects = ScopedManager["Grant"]()

    class Meta(ScopedModel.Meta):
        verbose_name = "break-glass grant"
        indexes = (models.Index(fields=("tenant", "id"), name="breakglass_of_tenant"),)
        constraints = (
            models.CheckConstraint(
                condition=Q(approved_by=None) | ~Q(approved_by=F("asked_by")), name="breakglass_second_operator"
            ),
            models.CheckConstraint(
                condition=Q(allowed_by=None) | ~Q(allowed_by=F("asked_by")), name="breakglass_not_allowed_by_asker"
            ),
            models.CheckConstraint(
                condition=Q(allowed_by=None) | Q(approved_by=None) | ~Q(allowed_by=F("approved_by")),
                name="breakglass_third_person",
            ),
            models.CheckConstraint(
                condition=Q(opened_at=None, ends_at=None)
                | Q(approved_by__isnull=False, ends_at=F("opened_at") + LASTS),
                name="breakglass_half_an_hour",
            ),
        )

    def __str__(self) -> str:
        return f"grant {self.pk}"

    def standing(self, *, now: datetime) -> GrantStatus:
        if self.closed_at is not None:
            return GrantStatus.ENDED if self.opened_at is not None else GrantStatus.REFUSED
        if self.ends_at is not None:
            return GrantStatus.OPEN if now < self.ends_at else GrantStatus.OVER
        if now >= self.waits_until:
            return GrantStatus.LAPSED
        return GrantStatus.WAITS_FOR_OPERATOR if self.approved_by is None else GrantStatus.WAITS_FOR_TENANT
