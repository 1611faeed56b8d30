"""What became of each candidate: the decision and a keyed digest, never the text."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel

CLIENT_REF = "receipt.client_ref"  # the name bound into the seal


class Decision(models.TextChoices):
    CREATED = "created"
    MERGED = "merged"
    REVIVED = "revived"
    DUPLICATE = "duplicate"
    SUPERSEDING = "superseding"
    PENDING = "pending"
    LOW_SIGNAL = "discarded_low_signal"
    REDUNDANT = "discarded_redundant"
    TRANSIENT = "discarded_transient"
    POLICY = "discarded_policy"


class Candidate(ScopedModel):
    """One piece of input and what was decided about it."""

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    decision = models.CharField(max_length=24, choices=Decision)
    reason = models.CharField(max_length=48, blank=True)
    type = models.CharField(max_length=32, blank=True)
    memory_id = models.BigIntegerField(null=True)
    digest = models.BinaryField(max_length=16)

    objects = ScopedManager["Candidate"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(condition=models.Q(decision__in=Decision.values), name="candidate_decision"),
        )
        indexes = (models.Index(fields=("tenant", "space", "-id"), name="candidate_newest"),)

    def __str__(self) -> str:
        return f"{self.decision} {self.pk}"


class IngestReceipt(ScopedModel):
    """A caller's own reference for an add, and what that add stored: the same reference gives the same answer."""

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    client_ref_mac = models.BinaryField(max_length=16)
    client_ref_ct = models.BinaryField()
    key_version = models.IntegerField()
    memory_ids = ArrayField(models.BigIntegerField())

    objects = ScopedManager["IngestReceipt"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "space", "client_ref_mac"), name="receipt_once_per_client_ref"),
        )
        indexes = (models.Index(fields=("tenant", "key_version", "id"), name="receipt_key_version"),)

    def __str__(self) -> str:
        return f"receipt {self.pk}"
