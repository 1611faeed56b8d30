"""What is sealed in a job, and in whose name it works."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from apps.crypto.services import SpaceCipher
from apps.imports.models import DETAILS, ERRORS, ImportJob
from apps.projects.scope import Scope


def scope_of(scope: Scope, job: ImportJob) -> Scope:
    """Whoever started the import, in its environment and project."""
    kind, _, number = job.actor.partition(":")
    principal = replace(scope.principal, kind=kind, id=int(number))
    environment = type(scope.environment)(job.environment)
    return replace(scope, environment=environment, principal=principal, project_id=job.project_id)


def open_details(cipher: SpaceCipher, job: ImportJob) -> tuple[str, str | None]:
    """The file's name and the end user.  Raises DecryptError."""
    details = orjson.loads(cipher.open_bytes(DETAILS, job.pk, bytes(job.details_ct)))
    return details["filename"], details["end_user"]


def open_errors(cipher: SpaceCipher, job: ImportJob) -> list[dict[str, Any]]:
    """Raises DecryptError."""
    if job.errors_ct is None:
        return []
    errors: list[dict[str, Any]] = orjson.loads(
        cipher.open_bytes(ERRORS, job.pk, bytes(job.errors_ct), revision=job.revision)
    )
    return errors


def seal_job(job: ImportJob, details: Mapping[str, Any], errors: Sequence[dict[str, Any]], cipher: SpaceCipher) -> None:
    """Seal the job's columns under the cipher's version.  Not yet saved."""
    job.revision += 1
    job.key_version = cipher.key_version
    job.details_ct = cipher.seal(DETAILS, job.pk, orjson.dumps(dict(details)))
    job.errors_ct = cipher.seal(ERRORS, job.pk, orjson.dumps(list(errors)), revision=job.revision) if errors else None
