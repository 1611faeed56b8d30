"""Model of connectors, which read external objects on a schedule."""

from typing import Final

from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

# The contexts bound into the envelopes.
SETTINGS, SECRET, VALIDATORS = "connector.settings", "connector.secret", "connector.validators"
TABLE: Final = "connector"  # the table's name in the quarantine


class ConnectorKind(models.TextChoices):
    FOLDER = "folder"
    FEED = "feed"
    S3 = "s3"


class RunStatus(models.TextChoices):
    """partial: a limit ended it, and the next run continues."""

    NEVER = "never"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"


class Connector(ScopedModel):
    """A place from which external objects are read for one end user, and its last run.

    project_id, actor: of the request that created it.  every_seconds: from one run to the next.
    most_objects, most_bytes: limits of one run.  counts: of the last or current run, by result.
    secret_ct: of the bucket's access key.  validators_ct: ETag and Last-Modified of what was fetched last.
    leased_until: while a worker runs it.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project_id = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=ConnectorKind)
    is_paused = models.BooleanField(default=False)
    every_seconds = models.IntegerField()
    most_objects = models.IntegerField()
    most_bytes = models.BigIntegerField()
    revision = models.IntegerField(default=1)
    key_version = models.IntegerField()
    settings_ct = EncryptedField(SETTINGS, is_revised=True, is_json=True, help_text="Its name, place and bucket.")
    secret_ct = EncryptedField(SECRET, is_revised=True, null=True)
    validators_ct = EncryptedField(VALIDATORS, is_revised=True, is_json=True, null=True)
    next_run_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)
    status = models.CharField(max_length=8, choices=RunStatus, default=RunStatus.NEVER)
    error = models.CharField(max_length=48, blank=True)
    counts = models.JSONField(default=dict)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = ScopedManager["Connector"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(condition=models.Q(kind__in=ConnectorKind.values), name="connector_kind"),
            models.CheckConstraint(condition=models.Q(status__in=RunStatus.values), name="connector_status"),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "-id"), name="connector_newest"),
            models.Index(fields=("tenant", "next_run_at"), name="connector_due"),
            models.Index(fields=("tenant", "key_version", "id"), name="connector_key_version"),
        )

    def __str__(self) -> str:
        return f"connector {self.pk}"
