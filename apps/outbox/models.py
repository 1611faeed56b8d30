"""Model of the outbox: background work requested by committed changes."""

from django.db import models

from apps.core.models import BaseModel


class OutboxEvent(BaseModel):
    """Work requested by a committed change.  Holds ids only, no content; deleted when done.

    Global on purpose: the worker must see every tenant's rows, and enters each tenant to do the work.

    attempts: counted before each attempt.  token, leased_until, holder: the lease (``apps.outbox.leases``); holder is
    the worker's process id in the database server.  asked_again: number of requests during the lease.  lost: number of
    workers that were killed or ran out of time.  position: progress of work done in parts.  error: why it was put back
    or set aside.
    """

    tenant_id = models.BigIntegerField()
    kind = models.CharField(max_length=48)
    subject_id = models.BigIntegerField(help_text="The row, or the space, that the work is about.")
    run_after = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    error = models.CharField(max_length=64, blank=True)
    token = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    holder = models.IntegerField(null=True)
    asked_again = models.IntegerField(default=0, db_default=0)
    lost = models.IntegerField(default=0, db_default=0)
    position = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        indexes = (
            models.Index(fields=("kind", "tenant_id", "run_after", "id"), name="outbox_turns"),
            models.Index(fields=("token",), condition=models.Q(token__isnull=False), name="outbox_leased"),
        )
        constraints = (
            # One open event per subject: requesting it again while it waits changes nothing.
            models.UniqueConstraint(fields=("tenant_id", "kind", "subject_id"), name="outbox_once"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"
