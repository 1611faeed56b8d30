"""What happened to memories: transitions, periods, claims and feedback."""

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
    """What happened to a memory, append only: ids, states and times; old and new values sealed, where there are any.

    key_version: of the seal; None where there is none.
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
    """When a memory held, as far as its row does not say so: an earlier stretch of one that was revived, and what was
    believed of a stretch before that was corrected (``apps.memories.validity``).  Times only.

    It held in [valid_from, valid_to), as was known in [known_from, known_to); None is without end.
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
    """What a memory claims: of whom or what, which property, which value.  Sealed; keyed beside it, to be asked for.

    subject_mac, predicate_mac: of their canonical forms; None in a sealed space, which is opened to be asked.

    A memory that makes one claim and says nothing else holds the slot of it, and holds for as long as it does: then
    what follows is empty.  Of one that says more, each claim has a slot and an end of its own, and the memory has none.
    valid_from, valid_to, known_from, superseded_by_id: as those of a memory.
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
    """One signal about one memory.  key_version: of the comment's seal; None where there is no comment."""

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
