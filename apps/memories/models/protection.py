"""Models of tombstones, which keep erased data from being stored again, and of rows that failed decryption."""

from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel


class Tombstone(ScopedModel):
    """Marks something as erased at ``created_at``, so that no work already in progress stores it again.

    mac: a keyed hash of a keyed hash, so that it equals no other stored value: of a text's digest in its space or, if
    space is None, of an end user's in the tenant.  The row is deleted at expires_at.
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
    """A row that failed decryption: left out of every response until it decrypts again.  No content.

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
