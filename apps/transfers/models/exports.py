"""Exports: a job, the file that it makes, sealed in pieces, and the links by which the file is taken once each."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel
from apps.transfers.models.jobs import TransferJob, job_constraints, job_indexes

# The names bound into the seals.
FILTERS, RESULT, PAYLOAD = "export.filters", "export.result", "export.payload"


class ExportStatus(models.TextChoices):
    """expired: it was completed, and its file is gone: past its time, or because something in it was erased."""

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
    """What is exported.  person: everything that is kept of one end user, for a request of theirs."""

    FILTERED = "filtered"
    ALL = "all"
    DATE_RANGE = "date_range"
    PERSON = "person"


class ExportJob(TransferJob):
    """One file on its way out.  Cursor and counts move with the pieces, in one transaction.

    filters: what was asked for; result: size and digest of the file.  Both are sealed under the tenant's key: the one
    may hold words and names, and of a short file the other would show whether a guess at it is right.  space: of the
    end user named, so that the job leaves with it.  end_user_id, privacy_request_id: of a person's request.
    newest_id: the highest memory of the export.  section: of a person's export, how many parts of it are done.
    after_id: what comes next is behind this row.  to_scan, scanned: rows that pass the filters in clear, and how many
    of them were opened; rows: how many of those are in the file.  error: a code.  retries: asked for by a caller;
    attempts: how often the piece that is next has failed.
    """

    end_user_id = models.BigIntegerField(null=True)
    privacy_request_id = models.BigIntegerField(null=True)
    has_file = True

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
    """A piece of a file: its bytes, in order of ``number``.  The file is all pieces, one behind the other.

    payload: sealed under the key of the end user's space where all of it is theirs, and under the tenant's where it is
    of several people.  memory_ids, space_ids: what is in it and whose, so that it goes when one of them is erased;
    first_id, last_id: the lowest and the highest of the memories.
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
    """Leave to take a file once, until ``expires_at``.  Its token is not kept: see ``apps.transfers.exports.links``."""

    job = models.ForeignKey(ExportJob, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    issued_to = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = ScopedManager["ExportLink"]()

    class Meta(ScopedModel.Meta):
        indexes = (models.Index(fields=("tenant", "job"), name="export_links_of_job"),)

    def __str__(self) -> str:
        return f"link {self.pk} to {self.job_id}"
