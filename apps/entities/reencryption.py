"""Resealing what this app sealed, and rekeying the names by which entities are found."""

from typing import Final

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher
from apps.entities.models import ALIAS, EntityAlias, EntityClaim
from apps.projects.scope import Scope, SpaceRef
from text.names import normalised

ALIASES: Final = "entity_alias"  # the tables' names among sealed ones
CLAIMS: Final = "entity_claim"


def alias_mac(cipher: SpaceCipher, alias: str) -> bytes:
    """By which an alias is found; however it is spelled, the same."""
    return cipher.identity_mac("entity.alias", normalised(alias))


class Aliases(SealedColumns):
    name = ALIASES
    model = EntityAlias

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is None:
            return 0

        def handles(row: EntityAlias) -> list[bytes]:
            return [alias_mac(after, before.open(ALIAS, row.pk, bytes(row.alias_ct)).reveal())]

        mine = EntityAlias.objects.within(scope).filter(space_id=space.id)
        return self.remake(scope, mine, {"alias_mac": "bytea"}, handles)


class EntityClaims(SealedColumns):
    """Known by its ends, and has no handles."""

    name = CLAIMS
    model = EntityClaim
