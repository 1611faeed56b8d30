"""Resealing jobs and their chunks while keys turn.  See ``apps.crypto.encrypted_tables``."""

from collections.abc import Sequence
from typing import Any

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher, open_tenant
from apps.imports.models import ImportChunk, ImportJob
from apps.projects.scope import Scope


class ImportJobs(SealedColumns):
    name = "import"
    model = ImportJob

    def ciphers(self, scope: Scope, rows: Sequence[Any]) -> dict[int | None, SpaceCipher]:
        """A job belongs to the tenant's keys, whichever end users its records cover."""
        cipher = open_tenant(scope.tenant)
        return {row.space_id: cipher for row in rows}


class ImportChunks(SealedColumns):
    name = "import chunk"
    model = ImportChunk
