"""Models for requests and their progress: rotations of data keys and rewraps of all keys."""

from django.db import models

from apps.core.models import BaseModel


class RotationState(models.TextChoices):
    """asked -> running -> done.  Overtaken: another rotation began before this one was done, and does its work."""

    ASKED = "asked", "Asked for: the next key is being made"
    RUNNING = "running", "Rows are being sealed under the new key"
    DONE = "done", "Every row is under the new key"
    OVERTAKEN = "overtaken", "Another rotation does the rest"


OPEN = (RotationState.ASKED, RotationState.RUNNING)


class KeyRotation(BaseModel):
    """One rotation of a tenant's data key, and its progress.

    This row is the source of truth; a task carries only its id.  The table is global on purpose: one worker handles
    the rotations of all tenants and enters each tenant's scope for the work.  It holds ids, versions and counts only.

    identity_to: new version of the identity key, which is replaced after a compromise.  window: how long the previous
    key may be read.  started_at: when writers began to use the new key.
    """

    tenant_id = models.BigIntegerField()
    actor = models.CharField(max_length=64)
    reason = models.CharField(max_length=64, blank=True)
    is_compromise = models.BooleanField(default=False)
    state = models.CharField(max_length=12, choices=RotationState, default=RotationState.ASKED)
    window = models.DurationField()
    from_version = models.IntegerField(null=True)
    to_version = models.IntegerField(null=True)
    identity_to = models.IntegerField(null=True)
    rows_total = models.BigIntegerField(default=0)
    rows_done = models.BigIntegerField(default=0)
    rows_quarantined = models.BigIntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    warned_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=("tenant_id", "-id"), name="key_rotation_newest"),)
        constraints = (
            models.UniqueConstraint(
                fields=("tenant_id",), condition=models.Q(state__in=OPEN), name="key_rotation_one_open"
            ),
            models.CheckConstraint(condition=models.Q(state__in=RotationState.values), name="key_rotation_state"),
        )

    def __str__(self) -> str:
        return f"rotation {self.pk} of tenant {self.tenant_id}: {self.state}"


class KeyRewrap(BaseModel):
    """A request to rewrap every key of the deployment under the key provider's current version.

    failed: keys that did not unwrap; they are unchanged.
    """

    actor = models.CharField(max_length=64)
    done = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"rewrap {self.pk}: {self.done} keys"
