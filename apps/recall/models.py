"""Recall latency counts, and optional traces of recalls kept for a few days: ids and numbers, no text."""

from typing import Final

from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

TRACE: Final = "recall.trace"  # the name bound into the seal
TABLE: Final = "recall_trace"  # the table's name in the quarantine


class RecallPace(models.Model):
    """Recalls of one hour in one latency bucket (``apps.recall.latency_histogram.BOUNDS``).

    Counted for the whole deployment on purpose, so that no statistics show a user's activity.
    """

    id = models.BigAutoField(primary_key=True)
    hour = models.DateTimeField()
    bucket = models.SmallIntegerField()
    count = models.BigIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("hour", "bucket"), name="recall_pace_once"),)

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}: {self.count} in bucket {self.bucket}"


class RecallTrace(ScopedModel):
    """One recall in one space.  created_at: the recall's own time.

    trace_ct: a ``apps.recall.replay.Trace``.  It has no text, but is encrypted, because which memories answer a
    question together, and how close each is to it, reveals something of their content.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    query_id = models.UUIDField()
    profile = models.CharField(max_length=16)
    trace_ct = EncryptedField(TRACE, is_json=True)
    key_version = models.IntegerField()

    objects = ScopedManager["RecallTrace"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "query_id", "space"), name="trace_once_per_space"),)
        indexes = (
            models.Index(fields=("tenant", "created_at", "id"), name="trace_by_time"),
            models.Index(fields=("tenant", "key_version", "id"), name="trace_key_version"),
        )

    def __str__(self) -> str:
        return f"trace {self.pk} of {self.query_id}"
