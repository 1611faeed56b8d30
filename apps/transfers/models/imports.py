"""Models of imports: the job, and its remaining records in encrypted chunks."""

from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel
from apps.transfers.models.jobs import TransferJob, job_constraints, job_indexes

# Names bound into the encryption.
DETAILS, ERRORS, PAYLOAD = "import.details", "import.errors", "import.payload"


class ImportStatus(models.TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ImportJob(TransferJob):
    """One import job.  Its chunks are the remaining work; the counters change in the transaction that deletes a chunk.

    details: the file's name and its end user.  errors: the first hundred refused lines.  Both are encrypted under the
    tenant's key.  space: of the end user named for the whole file, so that the job is deleted with it.  attempts: how
    often the next chunk failed for an internal reason.
    """

    status = models.CharField(max_length=12, choices=ImportStatus, default=ImportStatus.PENDING)
    format = models.CharField(max_length=8)
    resume = models.BooleanField(default=False)
    continue_on_error = models.BooleanField(default=False)
    details_ct = EncryptedField(DETAILS, is_json=True)
    errors_ct = EncryptedField(ERRORS, is_revised=True, is_json=True, null=True)
    revision = models.IntegerField(default=0, help_text="Of the errors; bound into their seal.")
    total_records = models.IntegerField()
    processed_records = models.IntegerField(default=0)
    created = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    rejected = models.IntegerField(default=0)
    already_imported = models.IntegerField(default=0)
    # Also a database default: the previous version inserts jobs without it.
    pending_review = models.IntegerField(default=0, db_default=0)

    objects = ScopedManager["ImportJob"]()

    class Meta(TransferJob.Meta):
        constraints = (
            *job_constraints("import_job"),
            models.CheckConstraint(condition=models.Q(status__in=ImportStatus.values), name="import_job_status"),
        )
        indexes = job_indexes("import_job")


class ImportChunk(ScopedModel):
    """Records that are imported in one transaction, which deletes this row.

    number: of the batch in the file; if it was split, each of its records is a row with that number.  payload: lines of
    ``number TAB record``, encrypted under the key of the end user's space if all of it is theirs, else under the
    tenant's key.
    """

    job = models.ForeignKey(ImportJob, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    space = models.ForeignKey(
        "projects.Space", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    number = models.IntegerField()
    first_line = models.IntegerField()
    records = models.IntegerField()
    payload_ct = EncryptedField(PAYLOAD)
    key_version = models.IntegerField()

    objects = ScopedManager["ImportChunk"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "job", "first_line"), name="import_chunk_line"),)
        indexes = (models.Index(fields=("tenant", "key_version", "id"), name="import_chunk_key_version"),)

    def __str__(self) -> str:
        return f"chunk {self.number} of {self.job_id}"
