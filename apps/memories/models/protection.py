"""What may not come back, and what could not be opened."""

from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel


class Tombstone(ScopedModel):
    """That something was erased at ``created_at``, so that nothing which was under way then brings it back.

    mac: keyed twice, so that it is equal to nothing else that is kept: of a text's digest in its space; or, where space
    is None, of an end user's in the tenant.  Goes at expires_at.
    """

    space = models.ForeignKey(
        "projects.Space", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    mac = models.BinaryField(max_length=16)
    expires_at = models.DateTimeField()

    objects = ScopedManager["Tombstone"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "mac"), name="tombstone_once"),)
        indexes = (models.Index(fields=("tenant", "expires_at"), name="tombstone_due"),)

    def __str__(self) -> str:
        return f"tombstone {self.pk}"


class QuarantinedRow(ScopedModel):
    """A row that failed its seal: left out of every answer until it opens again.  Ids, codes and counts; no content.

    ``created_at`` is when it was first seen to fail.
    """

    table = models.CharField(max_length=48)
    record_id = models.BigIntegerField()
    space_id = models.BigIntegerField(null=True)
    reason = models.CharField(max_length=32)
    last_seen_at = models.DateTimeField()
    times = models.BigIntegerField(default=1)

    objects = ScopedManager["QuarantinedRow"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "table", "record_id"), name="quarantined_once"),)

    def __str__(self) -> str:
        return f"{self.table} {self.record_id}: {self.reason}"
