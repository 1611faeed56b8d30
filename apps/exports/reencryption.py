"""Resealing jobs and their files while keys turn.  See ``apps.crypto.encrypted_tables``."""

from collections.abc import Sequence
from typing import Any

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher, open_tenant
from apps.exports.models import ExportChunk, ExportJob
from apps.projects.scope import Scope


class ExportJobs(SealedColumns):
    name = "export"
    model = ExportJob

    def ciphers(self, scope: Scope, rows: Sequence[Any]) -> dict[int | None, SpaceCipher]:
        """A job belongs to the tenant's keys, whichever end user its file covers."""
        cipher = open_tenant(scope.tenant)
        return {row.space_id: cipher for row in rows}


class ExportChunks(SealedColumns):
    name = "export chunk"
    model = ExportChunk
