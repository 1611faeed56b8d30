"""Re-encryption of jobs and their pieces while keys rotate.  See ``apps.crypto.encrypted_tables``."""

from collections.abc import Sequence
from typing import Any

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher, open_tenant
from apps.projects.scope import Scope
from apps.transfers.models import ExportChunk, ExportJob, ImportChunk, ImportJob


class _Jobs(SealedColumns):
    def ciphers(self, scope: Scope, rows: Sequence[Any]) -> dict[int | None, SpaceCipher]:
        """A job is under the tenant's keys, whichever end user its file is about."""
        cipher = open_tenant(scope.tenant)
        return {row.space_id: cipher for row in rows}


class ExportJobs(_Jobs):
    name = "export"
    model = ExportJob


class ExportChunks(SealedColumns):
    name = "export chunk"
    model = ExportChunk


class ImportJobs(_Jobs):
    name = "import"
    model = ImportJob


class ImportChunks(SealedColumns):
    name = "import chunk"
    model = ImportChunk
