from typing import Final

from django.apps import AppConfig

# A sealed space stores no entities: sealing hides which memories are about the same person.  Rows that refer to an
# entity are deleted with it.  Parameters: tenant and space.
GONE: Final = "delete from entities_entity where tenant_id = %s and space_id = %s"


class EntitiesConfig(AppConfig):
    name = "apps.entities"
    verbose_name = "Entities"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import SealedColumns, register
        from apps.entities.models import EntityAlias, EntityClaim
        from apps.entities.reencryption import ALIASES, CLAIMS, Aliases
        from apps.memories.indexing_mode import STRIPPED

        register(Aliases(ALIASES, EntityAlias))
        register(SealedColumns(CLAIMS, EntityClaim))
        STRIPPED.append(GONE)
