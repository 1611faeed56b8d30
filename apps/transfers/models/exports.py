"""Models of exports: the job, its encrypted file in chunks, and single-use links to the file."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel
from apps.transfers.models.jobs import TransferJob, job_constraints, job_indexes

# Names bound into the encryption.
FILTERS, RESULT, PAYLOAD = "export.filters", "export.result", "export.payload"


class ExportStatus(models.TextChoices):
    """expired: it was completed and its file is gone, because it is too old or something in it was erased."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Format(models.TextChoices):
    CSV = "csv"
    JSONL = "jsonl"


class ExportReach(models.TextChoices):
    """What is exported.  person: everything stored about one end user, for a privacy request."""

    FILTERED = "filtered"
    ALL = "all"
    DATE_RANGE = "date_range"
    PERSON = "person"


class ExportJob(TransferJob):
    """One export job.  Its cursor and counts change in the transaction that writes the chunks.

    filters, result: the requested filters, and size and digest of the file.  Both are encrypted under the tenant's key:
    filters may contain words and names, and the digest of a short file would confirm a guess of its content.  space: of
    the end user named, so that the job is deleted with it.  end_user_id, privacy_request_id: set for a privacy request.
    newest_id: highest memory id of the export.  section: number of finished sections of a person's export.  after_id:
    the next row has a higher id.  to_scan, scanned: rows that match the filters on unencrypted columns, and how many of
    them were read.  rows: number of rows in the file.  error: a code.  retries: requested by a caller.  attempts:
    failures of the next part.
    """

    end_user_id = models.BigIntegerField(null=True)
    privacy_request_id = models.BigIntegerField(null=True)

    status = models.CharField(max_length=12, choices=ExportStatus, default=ExportStatus.PENDING)
    format = models.CharField(max_length=8, choices=Format)
    reach = models.CharField(max_length=12, choices=ExportReach)
    filters_ct = EncryptedField(FILTERS, is_json=True)
    result_ct = EncryptedField(RESULT, is_json=True, null=True)
    newest_id = models.BigIntegerField(default=0)
    section = models.IntegerField(default=0)
    after_id = models.BigIntegerField(default=0)
    to_scan = models.BigIntegerField(default=0)
    scanned = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    unreadable = models.BigIntegerField(default=0)
    chunks = models.IntegerField(default=0)
    error = models.CharField(max_length=32, blank=True)
    retries = models.IntegerField(default=0)
    downloads = models.IntegerField(default=0)
    expires_at = models.DateTimeField(null=True)

    objects = ScopedManager["ExportJob"]()

    class Meta(TransferJob.Meta):
        constraints = (
            *job_constraints("export_job"),
            models.CheckConstraint(condition=models.Q(status__in=ExportStatus.values), name="export_job_status"),
            models.CheckConstraint(condition=models.Q(format__in=Format.values), name="export_job_format"),
            models.CheckConstraint(
                condition=models.Q(
                    reach=ExportReach.PERSON, end_user_id__isnull=False, privacy_request_id__isnull=False
                )
                | models.Q(
                    reach__in=(ExportReach.FILTERED, ExportReach.ALL, ExportReach.DATE_RANGE),
                    end_user_id__isnull=True,
                    privacy_request_id__isnull=True,
                ),
                name="export_job_reach",
            ),
        )
        indexes = job_indexes("export_job")


class ExportChunk(ScopedModel):
    """One piece of a file.  The file is the concatenation of its pieces in order of ``number``.

    payload: encrypted under the key of the end user's space if all of it is theirs, else under the tenant's key.
    memory_ids, space_ids: what it contains, so that it is deleted when one of them is erased.  first_id, last_id: the
    lowest and the highest memory id.
    """

    job = models.ForeignKey(ExportJob, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    space = models.ForeignKey(
        "projects.Space", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    number = models.IntegerField()
    first_id = models.BigIntegerField(null=True)
    last_id = models.BigIntegerField(null=True)
    memory_ids = ArrayField(models.BigIntegerField(), default=list)
    space_ids = ArrayField(models.BigIntegerField(), default=list)
    payload_ct = EncryptedField(PAYLOAD)
    key_version = models.IntegerField()

    objects = ScopedManager["ExportChunk"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "job", "number"), name="export_chunk_once"),)
        indexes = (models.Index(fields=("tenant", "key_version", "id"), name="export_chunk_key_version"),)

    def __str__(self) -> str:
        return f"piece {self.number} of {self.job_id}"


class ExportLink(ScopedModel):
    """Permission to download a file once, until ``expires_at``.  The token is not stored: see
    ``apps.transfers.exports.links``."""

    job = models.ForeignKey(ExportJob, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    issued_to = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = ScopedManager["ExportLink"]()

    class Meta(ScopedModel.Meta):
        indexes = (models.Index(fields=("tenant", "job"), name="export_links_of_job"),)

    def __str__(self) -> str:
        return f"link {self.pk} to {self.job_id}"
