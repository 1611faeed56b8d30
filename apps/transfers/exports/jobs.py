"""The encrypted columns of an export job."""

from dataclasses import asdict, dataclass
from typing import Final

import orjson

from apps.core.errors import NotFound
from apps.crypto.services import SpaceCipher
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.models.exports import FILTERS, RESULT, ExportJob

# Error codes as sentences for the caller: why an export failed or its file is gone.
REASONS: Final = {
    "worker_failed": "A part of the export could not be made; try it again.",
    "unreadable": "Its file could not be read back; try it again.",
    "erased": "Something that was in the file was erased, and so the file is gone.",
    "past_its_time": "The file was kept for as long as files are; ask for it again.",
}


class ExportNotFound(NotFound):
    """Export not found."""

    code = "EXPORT_NOT_FOUND"


def open_filters(cipher: SpaceCipher, job: ExportJob) -> ExportFilters:
    """Raises DecryptError."""
    return ExportFilters.from_json(orjson.loads(cipher.open_bytes(FILTERS, job.pk, bytes(job.filters_ct))))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """A complete file: its size in bytes, and its SHA-256 in hex."""

    size_bytes: int
    sha256: str


def open_result(cipher: SpaceCipher, job: ExportJob) -> ExportResult | None:
    """None if there is no file.  Raises DecryptError."""
    if job.result_ct is None:
        return None
    return ExportResult(**orjson.loads(cipher.open_bytes(RESULT, job.pk, bytes(job.result_ct))))


def seal_result(cipher: SpaceCipher, job: ExportJob, result: ExportResult) -> None:
    """Set the job's encrypted columns; the filters are re-encrypted too, because a row has one key version.  Does not
    save."""
    filters = open_filters(cipher, job)
    job.key_version = cipher.key_version
    job.filters_ct = seal_filters(cipher, job.pk, filters)
    job.result_ct = cipher.seal(RESULT, job.pk, orjson.dumps(asdict(result)))


def seal_filters(cipher: SpaceCipher, job_id: int, filters: ExportFilters) -> bytes:
    return cipher.seal(FILTERS, job_id, orjson.dumps(filters.to_json()))
