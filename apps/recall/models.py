"""What a recall did, kept for a few days where the operator wants it: ids and numbers, and no word of anybody."""

from typing import Final

from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

TRACE: Final = "recall.trace"  # the name bound into the seal


class RecallPace(models.Model):
    """How many recalls of an hour took how long; ``apps.recall.latency_histogram`` says what the buckets are.

    Of the whole deployment on purpose: whose questions are slow is in no statistics.
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

    trace_ct: what ``apps.recall.traces`` keeps.  It has no text, and is sealed all the same: which memories answer one
    question together, and how near each is to it, reveals what they say.
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
