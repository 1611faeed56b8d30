"""The encrypted columns of an import job."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from apps.crypto.services import SpaceCipher
from apps.transfers.models.imports import DETAILS, ERRORS, ImportJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Encrypted details of a job.  end_user: default for records that name none.  is_vouched: its caller may review."""

    filename: str
    end_user: str | None
    is_vouched: bool = False

    def seal(self, cipher: SpaceCipher, job_id: int) -> bytes:
        return cipher.seal(DETAILS, job_id, orjson.dumps(asdict(self)))


def open_details(cipher: SpaceCipher, job: ImportJob) -> Details:
    """Raises DecryptError."""
    return Details(**orjson.loads(cipher.open_bytes(DETAILS, job.pk, bytes(job.details_ct))))


def open_errors(cipher: SpaceCipher, job: ImportJob) -> list[dict[str, Any]]:
    """Raises DecryptError."""
    if job.errors_ct is None:
        return []
    errors: list[dict[str, Any]] = orjson.loads(
        cipher.open_bytes(ERRORS, job.pk, bytes(job.errors_ct), revision=job.revision)
    )
    return errors


def seal_job(job: ImportJob, details: Details, errors: Sequence[dict[str, Any]], cipher: SpaceCipher) -> None:
    """Set the job's encrypted columns, under the cipher's key version.  Does not save."""
    job.revision += 1
    job.key_version = cipher.key_version
    job.details_ct = details.seal(cipher, job.pk)
    job.errors_ct = cipher.seal(ERRORS, job.pk, orjson.dumps(list(errors)), revision=job.revision) if errors else None
