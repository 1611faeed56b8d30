"""Erasures, their ledger, the log of their receipts, and legal holds."""

import uuid
from typing import Final

from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel
from apps.crypto.models import InKeyring
from apps.policies.models import Level


class ErasedKind(models.TextChoices):
    SPACE = "space"
    TENANT = "tenant"
    MEMORY = "memory"


class TargetKind(models.TextChoices):
    """What an erasure deletes."""

    MEMORIES = "memories", "Single memories"
    TOPIC = "topic", "What was ever true of one thing"
    SESSION = "session", "Memories and turns of a session"
    SPACE = "space", "A person in one environment"
    END_USER = "end_user", "A person in every environment"
    PROJECT = "project", "All memories of a project"
    TENANT = "tenant", "A tenant"


class ErasureState(models.TextChoices):
    """requested -> deleted -> purged -> finished; a trigger refuses any other step."""

    REQUESTED = "requested", "Being deleted"
    DELETED = "deleted", "In no answer and no table; its bytes may still be in files of the database"
    PURGED = "purged", "Gone from the files of the database; still in backups"
    FINISHED = "finished", "The last backup that had it is past its time"


class Phase(models.TextChoices):
    """The phase of an erasure that a receipt proves."""

    DELETED = "deleted"
    PURGED = "purged"
    BACKUPS_EXPIRED = "backups_expired"


class ErasureEntry(InKeyring, models.Model):
    """One ledger entry: an erased space, tenant or memory.  Append-only and without content.

    In the keyring database, so that it survives a restore of the data.  target_uid: a space's or tenant's uid.
    target_id: a memory's id; because ids are reused after a restore, it means the row that had this id at
    ``erased_at``.  erasure_uid: the erasure the entry belongs to.
    """

    id = models.BigAutoField(primary_key=True)
    tenant_uid = models.UUIDField()
    kind = models.CharField(max_length=8, choices=ErasedKind)
    target_uid = models.UUIDField(null=True)
    target_id = models.BigIntegerField(null=True)
    erased_at = models.DateTimeField()
    actor = models.CharField(max_length=64)
    request_id = models.CharField(max_length=64, blank=True)
    erasure_uid = models.UUIDField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("kind", "target_uid"), name="erased_once"),
            models.CheckConstraint(condition=models.Q(kind__in=ErasedKind.values), name="erasure_kind"),
            models.CheckConstraint(
                condition=models.Q(kind=ErasedKind.MEMORY, target_id__isnull=False, target_uid__isnull=True)
                | (~models.Q(kind=ErasedKind.MEMORY) & models.Q(target_id__isnull=True, target_uid__isnull=False)),
                name="erasure_names_its_target",
            ),
        )
        indexes = (
            models.Index(fields=("tenant_uid", "id"), name="erasures_of_tenant"),
            models.Index(
                fields=("erasure_uid",), condition=models.Q(erasure_uid__isnull=False), name="entries_of_erasure"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.target_uid or self.target_id}"


class Erasure(InKeyring, models.Model):
    """One erasure: its target, who authorised it, and its progress.  Ids, counts and times; no content.

    In the keyring database, so that neither the erasure itself nor a restore of the data deletes it.
    target, nonce: open the commitment in its receipts; only the tenant gets them, and they are not in the log.
    counts: deleted rows by kind.  finished_at: when the last backup with the data expired.
    """

    uid = models.UUIDField(primary_key=True, default=uuid.uuid4)
    tenant_uid = models.UUIDField()
    environment = models.CharField(max_length=16, blank=True)
    kind = models.CharField(max_length=12, choices=TargetKind)
    target = models.JSONField()
    nonce = models.BinaryField(max_length=32)
    with_sources = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=ErasureState, default=ErasureState.REQUESTED)
    counts = models.JSONField(default=dict)
    actor = models.CharField(max_length=64)
    method = models.CharField(max_length=32)
    step_up_age_seconds = models.IntegerField(null=True)
    request_id = models.CharField(max_length=64, blank=True)
    requested_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)
    purged_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(state__in=ErasureState.values), name="erasure_state"),
            models.CheckConstraint(condition=models.Q(kind__in=TargetKind.values), name="erasure_of"),
        )
        indexes = (
            models.Index(fields=("tenant_uid", "-requested_at"), name="erasures_newest"),
            models.Index(
                fields=("requested_at",), condition=~models.Q(state=ErasureState.FINISHED), name="erasures_open"
            ),
        )

    def __str__(self) -> str:
        return f"ers_{self.uid.hex}: {self.kind}, {self.state}"


class Receipt(InKeyring, models.Model):
    """An entry of the receipt log described in ``apps.transparency.receipts``.  Append-only.

    index: position in the log, from 0.  body: the receipt as canonical JSON.  leaf: its hash in the Merkle tree, hex.
    """

    index = models.BigIntegerField(primary_key=True)
    receipt_uid = models.UUIDField(unique=True)
    tenant_uid = models.UUIDField()
    erasure_uid = models.UUIDField()
    phase = models.CharField(max_length=16, choices=Phase)
    issued_at = models.DateTimeField()
    body = models.TextField()
    leaf = models.CharField(max_length=64)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("erasure_uid", "phase"), name="receipt_once_per_phase"),
            models.CheckConstraint(condition=models.Q(phase__in=Phase.values), name="receipt_phase"),
        )
        indexes = (models.Index(fields=("tenant_uid", "-index"), name="receipts_newest"),)

    def __str__(self) -> str:
        return f"rcp_{self.receipt_uid.hex}: {self.phase}"


class ReceiptCheckpoint(InKeyring, models.Model):
    """Signed checkpoint of the receipt log at this number of entries.  Append-only."""

    size = models.BigIntegerField(primary_key=True)
    note = models.TextField()
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"checkpoint of {self.size} receipts"


class Purge(InKeyring, models.Model):
    """One purge of the files of both databases.  At most one is unfinished.

    horizons: by database, a transaction id; rows deleted before it are purged.  tables: by database and table name,
    the method used for each finished table.
    """

    id = models.BigAutoField(primary_key=True)
    started_at = models.DateTimeField()
    horizons = models.JSONField()
    tables = models.JSONField(default=dict)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"purge {self.pk}"


HELD: Final = [Level.TENANT.value, Level.PROJECT.value, Level.SPACE.value, Level.MEMORY.value]


class Hold(ScopedModel):
    """A legal hold: its target is not deleted until the hold is lifted.  case: the requester's reference.

    project_id, space_id, memory_id: the one for the level is set; none for the whole tenant.
    """

    level = models.CharField(max_length=8, choices=[one for one in Level.choices if one[0] in HELD])
    project_id = models.BigIntegerField(null=True)
    space_id = models.BigIntegerField(null=True)
    memory_id = models.BigIntegerField(null=True)
    case = models.CharField(max_length=64)
    set_by = models.CharField(max_length=64)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=64, blank=True)

    objects = ScopedManager["Hold"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.CheckConstraint(condition=models.Q(level__in=HELD), name="hold_level"),)
        indexes = (
            models.Index(fields=("tenant", "id"), condition=models.Q(lifted_at__isnull=True), name="holds_in_force"),
        )

    def __str__(self) -> str:
        return f"hold {self.pk}: {self.case}"
