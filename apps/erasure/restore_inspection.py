"""Checks whether restored data can be read: a key for every row, a salt for every space, and sample decryptions."""

from dataclasses import dataclass
from typing import Final

from apps.core.errors import DomainError
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, has_salt, loadable_versions, open_space
from apps.memories.models import Memory
from apps.memories.sealing import open_text
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import scope_in
from apps.tenants.models import Tenant

SAMPLE: Final = 3


@dataclass(slots=True, kw_only=True)
class Inspection:
    """Result of an inspection.

    memories_without_key: memories under a retired, destroyed or unknown key version.
    spaces_without_salt: spaces newer than the keyring's backup, whose data cannot be decrypted.
    opened, failed: numbers of memories that did and did not decrypt.
    """

    tenants: int = 0
    spaces: int = 0
    memories: int = 0
    memories_without_key: int = 0
    spaces_without_salt: int = 0
    opened: int = 0
    failed: int = 0

    @property
    def is_well(self) -> bool:
        return not (self.memories_without_key or self.spaces_without_salt or self.failed)


def inspect(*, sample: int | None = SAMPLE) -> Inspection:
    """Inspect all tenants.  sample: number of memories to decrypt per space, newest first; None for all."""
    found = Inspection()
    for tenant in Tenant.objects.order_by("pk"):
        scope = scope_in(tenant)
        with tenant_transaction(scope):
            spaces = list(Space.objects.within(scope).order_by("pk"))
            versions = list(Memory.objects.within_tenant(scope).values_list("key_version", flat=True))
        loadable = loadable_versions(tenant.uid)
        found.tenants += tenant.closed_at is None
        found.memories += len(versions)
        found.memories_without_key += sum(version not in loadable for version in versions)
        for space in spaces:
            _inspect_space(scope, space, found, sample=sample)
    return found


def _inspect_space(scope: Scope, space: Space, found: Inspection, *, sample: int | None) -> None:
    with tenant_transaction(scope):
        rows = list(Memory.objects.within_tenant(scope).filter(space_id=space.pk).order_by("-pk")[:sample])
    found.spaces += 1
    if not has_salt(scope.tenant.uid, space.uid):
        # Do not try to decrypt: reading the salt would create a new one.
        found.spaces_without_salt += bool(rows)
        found.failed += len(rows)
        return
    for row in rows:
        is_open = _opens(scope, space, row)
        found.opened += is_open
        found.failed += not is_open


def _opens(scope: Scope, space: Space, row: Memory) -> bool:
    try:
        open_text(row, open_space(scope.tenant, space.ref))
    except (DecryptError, DomainError):
        return False
    return True
