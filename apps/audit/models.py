"""What happened, and what is still to be done about it."""

from django.db import models

from apps.core.models import BaseModel


class AuditEvent(BaseModel):
    """Who did what to which thing.  Plain ids, no foreign keys: the record outlives what it describes.  No content."""

    tenant_id = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=64)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=128, blank=True)
    outcome = models.CharField(max_length=16, default="ok")
    reason = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    count = models.IntegerField(default=1)

    class Meta:
        indexes = (models.Index(fields=("tenant_id", "-id"), name="audit_newest"),)

    def __str__(self) -> str:
        return f"{self.action} {self.target}"


class OutboxEvent(BaseModel):
    """Work that a committed change asks for.  Holds ids and nothing that could be read; deleted when done.

    Global on purpose: the worker that drains it must see every tenant's rows, and enters each tenant to do the work.
    """

    tenant_id = models.BigIntegerField()
    kind = models.CharField(max_length=48)
    subject_id = models.BigIntegerField(help_text="The row, or the space, that the work is about.")
    run_after = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    error = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = (models.Index(fields=("run_after", "id"), name="outbox_due"),)
        constraints = (
            # One open piece of work per thing: asking again while it waits changes nothing.
            models.UniqueConstraint(fields=("tenant_id", "kind", "subject_id"), name="outbox_once"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"
