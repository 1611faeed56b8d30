"""Rekeying of the hashes of entities' names.  See ``apps.crypto.encrypted_tables``."""

from typing import Final

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher
from apps.entities.models import ALIAS, EntityAlias
from apps.projects.scope import Scope, SpaceRef
from text.names import normalised

ALIASES: Final = "entity_alias"  # the tables' names in the registry of encrypted tables
CLAIMS: Final = "entity_claim"


def alias_mac(cipher: SpaceCipher, alias: str) -> bytes:
    """The keyed hash of an alias, to find it by; the same for every spelling with the same normalised form."""
    return cipher.identity_mac("entity.alias", normalised(alias))


class Aliases(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is None:
            return 0

        def handles(row: EntityAlias) -> list[bytes]:
            return [alias_mac(after, before.open(ALIAS, row.pk, bytes(row.alias_ct)).reveal())]

        mine = EntityAlias.objects.within(scope).filter(space_id=space.id)
        return self.remake(scope, mine, {"alias_mac": "bytea"}, handles)
