"""Erasures, their ledger, the log of their receipts, and legal holds."""

import uuid

from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel
from apps.crypto.models import InKeyring
from apps.policies.models import Level


class ErasedKind(models.TextChoices):
    SPACE = "space"
    TENANT = "tenant"
    MEMORY = "memory"


class TargetKind(models.TextChoices):
    """What an erasure is of."""

    MEMORIES = "memories", "Single memories"
    TOPIC = "topic", "What was ever true of one thing"
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
    """What a receipt says happened."""

    DELETED = "deleted"
    PURGED = "purged"
    BACKUPS_EXPIRED = "backups_expired"


class ErasureEntry(InKeyring, models.Model):
    """One erasure.  In the keyring database, so that it survives a restore of the data; append only; no content.

    target_uid: of a space or a tenant.  target_id: of a memory.  Ids of memories are reused after a restore, so that an
    entry speaks of the row of that id which was there at ``erased_at``.  erasure_uid: of the erasure it is part of.
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
    """One erasure: of what, on whose word and how far it is.  In the keyring database, so that neither what it erases
    nor a restore of the data deletes it.  Ids, counts and times; no content.

    target: as its receipts commit to it, and nonce: what opens that commitment; for the tenant, and not in the log.
    counts: by kind, of what went.  finished_at: when nothing of it is left, in backups either.
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
    """An entry of the log of receipts: what ``apps.transparency.receipts`` draws.  Append only.

    index: its place in the log, from 0.  body: the receipt, canonical.  leaf: its hash in the tree, in hex.
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
    """The log of receipts when it had this many entries, signed.  Append only."""

    size = models.BigIntegerField(primary_key=True)
    note = models.TextField()
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"checkpoint of {self.size} receipts"


class Purge(InKeyring, models.Model):
    """One purge of the files of both databases.  At most one is not finished.

    horizons: by database, a transaction's number; what was deleted before it is to be gone.  tables: by database and
    name, how each that is done was done.
    """

    id = models.BigAutoField(primary_key=True)
    started_at = models.DateTimeField()
    horizons = models.JSONField()
    tables = models.JSONField(default=dict)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"purge {self.pk}"


class Hold(ScopedModel):
    """A legal hold: what it is for is not deleted until it is lifted.  case: the reference of the requester.

    project_id, space_id, memory_id: the one that the level names; none of them for the whole tenant.
    """

    level = models.CharField(max_length=8, choices=Level)
    project_id = models.BigIntegerField(null=True)
    space_id = models.BigIntegerField(null=True)
    memory_id = models.BigIntegerField(null=True)
    case = models.CharField(max_length=64)
    set_by = models.CharField(max_length=64)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=64, blank=True)

    objects = ScopedManager["Hold"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.CheckConstraint(condition=models.Q(level__in=Level.values), name="hold_level"),)
        indexes = (
            models.Index(fields=("tenant", "id"), condition=models.Q(lifted_at__isnull=True), name="holds_in_force"),
        )

    def __str__(self) -> str:
        return f"hold {self.pk}: {self.case}"
