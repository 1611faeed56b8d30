"""Models of ingest: decisions with keyed digests, the review queue, model usage, receipts and source links.

Only the review queue stores text, encrypted, while a candidate waits or its decision can be undone.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

CLIENT_REF, CONTENT = "receipt.client_ref", "candidate.content"  # the names bound into the seals


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
    """One piece of input and the decision about it.

    extractor: ``rules`` or ``model``; fallback: why the rules were used although a model is configured.  Tokens and
    cost (millionths of the operator's currency) of a model call are stored on the first piece of its input.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    decision = models.CharField(max_length=24, choices=Decision)
    reason = models.CharField(max_length=48, blank=True)
    type = models.CharField(max_length=32, blank=True)
    memory_id = models.BigIntegerField(null=True)
    digest = models.BinaryField(max_length=16)
    # Database defaults too: code from before these columns inserts rows without them.
    extractor = models.CharField(max_length=8, default="rules", db_default="rules")
    fallback = models.CharField(max_length=16, blank=True, default="", db_default="")
    tokens_in = models.IntegerField(null=True)
    tokens_out = models.IntegerField(null=True)
    cost_micros = models.BigIntegerField(null=True)

    objects = ScopedManager["Candidate"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(condition=models.Q(decision__in=Decision.values), name="candidate_decision"),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "-id"), name="candidate_newest"),
            # For erasing memories.
            models.Index(
                fields=("tenant", "memory_id"), condition=models.Q(memory_id__isnull=False), name="candidate_of_memory"
            ),
            models.Index(
                fields=("tenant", "created_at"), include=("space", "decision", "reason"), name="candidate_of_a_time"
            ),
        )

    def __str__(self) -> str:
        return f"{self.decision} {self.pk}"


class ReviewState(models.TextChoices):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    EXPIRED = "expired"


class ReviewItem(ScopedModel):
    """A candidate in the review queue, waiting or decided.

    content_ct: its text and attributes, encrypted; stored only while it waits or its decision can be undone.
    digest: of its text, to recognize the same text again.  project_id: of the request.  source_id: of the turn or state
    item it comes from, if that is stored.  outcome, memory_id: the result of accepting it.
    undo_until: until when the reviewer may undo the decision; null if they did not ask for that.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project_id = models.BigIntegerField(null=True)
    state = models.CharField(max_length=12, choices=ReviewState, default=ReviewState.PENDING)
    reason = models.CharField(max_length=16)
    type = models.CharField(max_length=32)
    confidence = models.FloatField()
    extractor = models.CharField(max_length=8)
    source_id = models.BigIntegerField(null=True)
    digest = models.BinaryField(max_length=16)
    content_ct = EncryptedField(CONTENT, is_json=True, null=True)
    key_version = models.IntegerField()
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=24, blank=True)
    memory_id = models.BigIntegerField(null=True)
    undo_until = models.DateTimeField(null=True)

    objects = ScopedManager["ReviewItem"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(condition=models.Q(state__in=ReviewState.values), name="review_item_state"),
            models.CheckConstraint(
                condition=models.Q(state="pending", content_ct__isnull=False, undo_until__isnull=True)
                | (~models.Q(state="pending") & models.Q(content_ct__isnull=True, undo_until__isnull=True))
                | models.Q(state__in=("accepted", "rejected"), content_ct__isnull=False, undo_until__isnull=False),
                name="review_item_says_it_while_open",
            ),
            models.UniqueConstraint(
                fields=("tenant", "space", "digest"), condition=models.Q(state="pending"), name="review_item_once"
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "-id"), name="review_item_newest"),
            models.Index(fields=("tenant", "space", "digest"), name="review_item_digest"),
            models.Index(fields=("tenant", "expires_at"), condition=models.Q(state="pending"), name="review_item_due"),
            models.Index(
                fields=("tenant", "undo_until"),
                condition=models.Q(undo_until__isnull=False),
                name="review_item_undoable",
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="review_item_key_version"),
        )

    def __str__(self) -> str:
        return f"candidate {self.pk}: {self.state}"


class ModelUse(ScopedModel):
    """A tenant's use of the extraction model on one day (UTC).  tokens: spent, and reserved by calls in progress."""

    day = models.DateField()
    calls = models.IntegerField()
    tokens = models.BigIntegerField()
    cost_micros = models.BigIntegerField()

    objects = ScopedManager["ModelUse"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "day"), name="model_use_once_a_day"),)

    def __str__(self) -> str:
        return f"{self.day}: {self.calls} calls"


class IngestReceipt(ScopedModel):
    """Idempotency receipt: a caller's own reference for an add, and the memories that it stored."""

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    client_ref_mac = models.BinaryField(max_length=16)
    client_ref_ct = EncryptedField(CLIENT_REF)
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


class TurnReceipt(ScopedModel):
    """Keyed digest of a processed turn, without content: the same turn within 30 days is a replay.

    Committed in the same transaction as the turn's memories.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    turn_mac = models.BinaryField(max_length=16)

    objects = ScopedManager["TurnReceipt"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "space", "turn_mac"), name="turn_receipt_once"),)
        indexes = (models.Index(fields=("tenant", "space", "created_at"), name="turn_receipt_oldest"),)

    def __str__(self) -> str:
        return f"turn receipt {self.pk}"


class DerivedFact(ScopedModel):
    """Link from a memory to a turn or state item with the same content.

    source_id: a row of apps.history, where turns and state share one id sequence.
    is_origin: the memory was created from this source.  A matched memory has another origin, or none in this table.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    source_id = models.BigIntegerField()
    memory = models.ForeignKey("memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    is_origin = models.BooleanField()

    objects = ScopedManager["DerivedFact"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "source_id", "memory"), name="derived_fact_once"),)
        indexes = (models.Index(fields=("tenant", "memory"), name="derived_fact_of_memory"),)

    def __str__(self) -> str:
        return f"memory {self.memory_id} of h_{self.source_id}"
