"""Models of the audit log: events, heads of the chains, and signed checkpoints."""

from django.db import models

from apps.core.models import BaseModel

NO_HASH = "0" * 64  # before the first row of a chain


class AuditEvent(BaseModel):
    """One audit log row: who did what to which object.  No content, and no foreign keys: rows outlive their objects.

    The rows of each tenant form a hash chain, and so do the rows without a tenant: each row stores the hash of the
    previous one (``apps.audit.chain``).  The database numbers and chains rows when their transaction commits, and
    refuses later changes.  Hashes are hex text, because the operator's role may not read binary columns.
    """

    tenant_id = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=64)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=128, blank=True)
    outcome = models.CharField(max_length=16, default="ok")
    reason = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    count = models.IntegerField(default=1)
    network = models.CharField(max_length=43, blank=True, default="", help_text="Of the address that asked.")
    code_version = models.CharField(max_length=32, blank=True, default="")
    seq = models.BigIntegerField(null=True, help_text="From 1, without a gap; none until the transaction commits.")
    prev_hash = models.CharField(max_length=64, blank=True, default="")
    hash = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        indexes = (
            models.Index(fields=("id",), condition=models.Q(seq=None), name="audit_unchained"),
            models.Index(
                fields=("tenant_id", "created_at"),
                include=("actor", "count"),
                condition=models.Q(action="memory.recall"),
                name="audit_recalls",
            ),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("tenant_id", "seq"),
                condition=models.Q(seq__isnull=False),
                nulls_distinct=False,
                name="audit_one_chain",
            ),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.target}"


class ChainHead(models.Model):
    """The last row of each chain.  A writer locks it at the end of its transaction, to append to the chain.

    Global on purpose: one signed checkpoint covers all chains.  Numbers and hashes only.
    """

    chain = models.BigIntegerField(primary_key=True, help_text="The tenant; 0 for rows of none.")
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"chain {self.chain}: {self.seq}"


class Checkpoint(models.Model):
    """A signed statement of every chain's head; see ``apps.audit.checkpoint_statement``.  Never changed or deleted."""

    number = models.BigIntegerField(primary_key=True)
    made_at = models.DateTimeField()
    deployment = models.CharField(max_length=64)
    key_version = models.IntegerField()
    chains = models.BigIntegerField()
    rows = models.BigIntegerField()
    root = models.CharField(max_length=64)
    moved = models.CharField(max_length=64)
    previous = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)

    def __str__(self) -> str:
        return f"checkpoint {self.number}"


class CheckpointHead(models.Model):
    """The head of a chain that has grown since the previous checkpoint."""

    id = models.BigAutoField(primary_key=True)
    checkpoint = models.ForeignKey(Checkpoint, models.PROTECT, related_name="heads", db_index=False)
    chain = models.BigIntegerField()
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = (
            # Two indexes: all heads of one checkpoint, and the last head of one chain.
            models.UniqueConstraint(fields=("checkpoint", "chain"), name="checkpoint_head_once"),
            models.UniqueConstraint(fields=("chain", "checkpoint"), name="checkpoint_head_of_chain"),
        )

    def __str__(self) -> str:
        return f"chain {self.chain} at {self.seq}"
