"""Re-encryption of jobs during key rotation.  See ``apps.crypto.encrypted_tables``."""

from collections.abc import Sequence
from typing import Any

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher, open_tenant
from apps.projects.scope import Scope


class Jobs(SealedColumns):
    def ciphers(self, scope: Scope, rows: Sequence[Any]) -> dict[int | None, SpaceCipher]:
        """Jobs are encrypted under the tenant's key, even if their file covers one end user."""
        cipher = open_tenant(scope.tenant)
        return {row.space_id: cipher for row in rows}
