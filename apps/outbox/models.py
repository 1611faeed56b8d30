"""Work that a committed change requests."""

from django.db import models

from apps.core.models import BaseModel


class OutboxEvent(BaseModel):
    """Work that a committed change asks for.  Holds ids and nothing that could be read; deleted when done.

    Global on purpose: the worker that drains it must see every tenant's rows, and enters each tenant to do the work.

    attempts: counted before each.  token, leased_until, holder: of the worker at it (``apps.outbox.leases``); holder is
    the process id of its connection in the database server.  asked_again: how often it was asked for meanwhile.
    lost: how many workers were killed, or ran out of time, at it.  position: how far it is, of what is done in parts.
    error: why it was put back, or set aside.
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
            # One open piece of work per thing: asking again while it waits changes nothing.
            models.UniqueConstraint(fields=("tenant_id", "kind", "subject_id"), name="outbox_once"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"
