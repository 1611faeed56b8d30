"""Models of the history of memories: transitions, periods, claims and feedback."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel
from apps.memories.feedback_aggregation import Signal
from apps.memories.models.memory import Memory, Validity

# The contexts bound into the envelopes.
DIFF, CONTENT, COMMENT = "transition.diff", "claim.content", "feedback.comment"


class MemoryTransition(ScopedModel):
    """A history entry of a memory, append only: ids, states and times; old and new values, if any, are encrypted.

    key_version: of the ciphertext; None without one.
    """

    memory_id = models.BigIntegerField()
    space_id = models.BigIntegerField()
    txid = models.BigIntegerField()
    event = models.CharField(max_length=16)
    actor = models.CharField(max_length=64)
    other_id = models.BigIntegerField(null=True, help_text="The memory that replaced it, or that it replaced.")
    changed_fields = ArrayField(models.CharField(max_length=32), default=list)
    diff_ct = EncryptedField(DIFF, is_json=True, null=True)
    key_version = models.IntegerField(null=True)

    objects = ScopedManager["MemoryTransition"]()

    class Meta(ScopedModel.Meta):
        indexes = (
            models.Index(fields=("tenant", "memory_id", "id"), name="transition_of_memory"),
            models.Index(
                fields=("tenant", "key_version", "id"),
                condition=models.Q(key_version__isnull=False),
                name="transition_key_version",
            ),
        )

    def __str__(self) -> str:
        return f"{self.event} {self.memory_id}"


class MemoryPeriod(ScopedModel):
    """A validity interval that the memory's row does not store.  Times only.

    It is an earlier interval of a memory that was revived, or a former belief about an interval that was corrected
    later (``apps.memories.validity``).  The memory held in [valid_from, valid_to), as known in [known_from, known_to);
    None means no end.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)
    known_from = models.DateTimeField()
    known_to = models.DateTimeField(null=True)

    objects = ScopedManager["MemoryPeriod"]()

    class Meta(ScopedModel.Meta):
        indexes = (models.Index(fields=("tenant", "memory"), name="period_of_memory"),)

    def __str__(self) -> str:
        return f"period of {self.memory_id}"


class MemoryClaim(ScopedModel):
    """A claim of a memory: subject, property and value.  Encrypted, with keyed hashes to look it up by.

    subject_mac, predicate_mac: of their canonical forms; None in a sealed space, whose claims are decrypted to be
    searched.

    If a memory states one claim and nothing else, the memory has the slot and the validity, and the fields below are
    empty.  If it states more, each claim has a slot and an end of its own, and the memory has no slot.  valid_from,
    valid_to, known_from, superseded_by_id: as in a memory.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    subject_mac = models.BinaryField(max_length=16, null=True)
    predicate_mac = models.BinaryField(max_length=16, null=True)
    claim_ct = EncryptedField(CONTENT, is_json=True)
    key_version = models.IntegerField()
    slot = models.BinaryField(max_length=16, null=True)
    value_mac = models.BinaryField(max_length=16, null=True)
    validity = models.CharField(max_length=12, choices=Validity, blank=True, default="", db_default="")
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    known_from = models.DateTimeField(null=True)
    superseded_by_id = models.BigIntegerField(null=True)

    objects = ScopedManager["MemoryClaim"]()

    class Meta(ScopedModel.Meta):
        indexes = (
            models.Index(fields=("tenant", "memory"), name="claims_of_memory"),
            models.Index(fields=("tenant", "space", "slot"), condition=Q(slot__isnull=False), name="claim_slot"),
            models.Index(fields=("tenant", "space", "subject_mac", "predicate_mac"), name="claim_about"),
            models.Index(fields=("tenant", "key_version", "id"), name="claim_key_version"),
        )

    def __str__(self) -> str:
        return f"claim of {self.memory_id}"


class MemoryFeedback(ScopedModel):
    """One signal on one memory.  key_version: of the encrypted comment; None without a comment."""

    memory = models.ForeignKey(Memory, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    space_id = models.BigIntegerField()
    signal = models.CharField(max_length=12)
    comment_ct = EncryptedField(COMMENT, null=True)
    key_version = models.IntegerField(null=True)

    objects = ScopedManager["MemoryFeedback"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(condition=Q(signal__in=[signal.value for signal in Signal]), name="feedback_signal"),
        )
        indexes = (
            models.Index(fields=("tenant", "memory", "-id"), name="feedback_of_memory"),
            models.Index(
                fields=("tenant", "key_version", "id"),
                condition=models.Q(key_version__isnull=False),
                name="feedback_key_version",
            ),
        )

    def __str__(self) -> str:
        return f"{self.signal} {self.memory_id}"
