"""What is asked for and under way: rotations of data keys, re-wrapping all keys, and changes of types."""

from django.db import models

from apps.core.models import BaseModel


class RotationState(models.TextChoices):
    """asked -> running -> done.  Overtaken: another rotation began before this one was done, and does its work too."""

    ASKED = "asked", "Asked for: the next key is being made"
    RUNNING = "running", "Rows are being sealed under the new key"
    DONE = "done", "Every row is under the new key"
    OVERTAKEN = "overtaken", "Another rotation does the rest"


OPEN = (RotationState.ASKED, RotationState.RUNNING)


class KeyRotation(BaseModel):
    """One rotation of a tenant's data key: what it is to do, and how far it is.

    This row is the authority; a task carries its id and nothing else.  Global on purpose: one worker tends the
    rotations of all tenants, and enters each tenant to do the work.  Ids, versions and counts; no content.

    identity_to: of a key that was compromised the identity key turns as well.  window: for how long the key before may
    be read.  started_at: when writers began to use the new key.
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
    """Every key of the deployment to be wrapped under the key provider's current version, on request.

    failed: keys that did not unwrap and were left as they are.
    """

    actor = models.CharField(max_length=64)
    done = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"rewrap {self.pk}: {self.done} keys"
