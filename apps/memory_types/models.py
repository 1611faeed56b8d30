"""Models of changes of memory types, and of their effect on every memory."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.models import BaseModel
from apps.core.scoping import ScopedManager, ScopedModel


class ChangeKind(models.TextChoices):
    ADD = "add", "A type was added"
    SPLIT = "split", "A part of other types became a type's"
    SUNSET = "sunset", "A type was given up for another"


class ChangeState(models.TextChoices):
    """running -> done, and from either of them undoing -> undone."""

    RUNNING = "running", "Memories are being looked at"
    DONE = "done", "Every memory was looked at"
    UNDOING = "undoing", "Memories are given their former types"
    UNDONE = "undone", "Memories have their former types"


AT_WORK = (ChangeState.RUNNING, ChangeState.UNDOING)


class TypeChange(BaseModel):
    """One change of a tenant's types, and how far its memories have been processed.

    This row is authoritative and global, like that of a rotation.  It holds names of types, ids and counts; no content.
    type: the new type of its memories.  sources: the types that are looked at.

    at_space, at_memory: the last position; spaces in the order of their ids, each with the newest memory first.
    looks_again_at: in the second look, the earliest creation time.
    """

    tenant_id = models.BigIntegerField()
    actor = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=ChangeKind)
    type = models.CharField(max_length=32)
    sources = ArrayField(models.CharField(max_length=32))
    defines = models.BooleanField(default=False, help_text="The type is new with it.")
    state = models.CharField(max_length=8, choices=ChangeState, default=ChangeState.RUNNING)
    at_space = models.BigIntegerField(default=0)
    at_memory = models.BigIntegerField(null=True)
    looks_again_at = models.DateTimeField(null=True)
    rows_total = models.BigIntegerField(default=0)
    rows_seen = models.BigIntegerField(default=0)
    rows_changed = models.BigIntegerField(default=0)
    rows_taken = models.BigIntegerField(default=0)
    rows_broken = models.BigIntegerField(default=0)
    rows_restored = models.BigIntegerField(default=0)
    rows_kept = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=("tenant_id", "-id"), name="type_change_newest"),)
        constraints = (
            models.UniqueConstraint(
                fields=("tenant_id",), condition=models.Q(state__in=AT_WORK), name="type_change_one_at_work"
            ),
            models.CheckConstraint(condition=models.Q(state__in=ChangeState.values), name="type_change_state"),
            models.CheckConstraint(condition=models.Q(kind__in=ChangeKind.values), name="type_change_kind"),
        )

    def __str__(self) -> str:
        return f"change {self.pk} of tenant {self.tenant_id}: {self.kind} {self.type}"


class RowState(models.TextChoices):
    """changed -> restored, or kept if a user changed it since.  taken, broken: it was left unchanged."""

    CHANGED = "changed"
    TAKEN = "taken"
    BROKEN = "broken"
    RESTORED = "restored"
    KEPT = "kept"


class TypeChangeRow(ScopedModel):
    """The effect of a change of types on one memory: enough to undo it.  txid: None if it was left unchanged."""

    change_id = models.BigIntegerField()
    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey("memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    was_type = models.CharField(max_length=32)
    was_prior = models.FloatField()
    was_confidence = models.FloatField()
    had_slot = models.BooleanField()
    txid = models.BigIntegerField(null=True)
    state = models.CharField(max_length=8, choices=RowState)

    objects = ScopedManager["TypeChangeRow"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "change_id", "memory"), name="type_change_row_once"),
            models.CheckConstraint(condition=models.Q(state__in=RowState.values), name="type_change_row_state"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "change_id", "space", "id"),
                condition=models.Q(state="changed"),
                name="type_change_rows_to_undo",
            ),
            models.Index(fields=("tenant", "memory"), name="type_changes_of_memory"),
        )

    def __str__(self) -> str:
        return f"{self.memory_id} was {self.was_type}"
