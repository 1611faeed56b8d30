"""The outcome of each candidate: the decision and a keyed digest, and the text only while it waits for a person."""

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
    """One piece of input and what was decided about it.

    extractor: who read it, ``rules`` or ``model``; fallback: why the rules did where there is a model.  tokens and
    cost, in millionths of the operator's currency: of the call, on the first piece of what was asked about.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    decision = models.CharField(max_length=24, choices=Decision)
    reason = models.CharField(max_length=48, blank=True)
    type = models.CharField(max_length=32, blank=True)
    memory_id = models.BigIntegerField(null=True)
    digest = models.BinaryField(max_length=16)
    # Defaults of the database too: the code before these columns writes rows without them.
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
            # Of memories that are erased.
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
    """A candidate that waits for a person, or waited.

    content: what it says, sealed, and only while it waits.  digest: of its text, by which the same is known again.
    project_id: of the request that brought it.  source_id: of the turn or item of state it was made of, if it is kept.
    outcome, memory_id: the result when it was accepted.  undo_until: until when who decided may take it back;
    for so long the content stays after a decision, where the user who decided asked for that.
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
    """What a tenant asked of the extraction model on one day (UTC).  tokens: spent, and reserved by calls under way."""

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
    """A caller's own reference for an add, and what that add stored: the same reference gives the same answer."""

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
    """That a turn was distilled, by a keyed digest of it: told again within 30 days it is a replay.  No content.

    Written with what the turn became, so that a turn that has one is done with.
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
    """That a memory says what a turn or an item of state said.  source_id: of apps.history, whose ids are of one
    sequence.

    is_origin: the memory was made of this source.  Where it was matched there is another origin, or none of these.
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
