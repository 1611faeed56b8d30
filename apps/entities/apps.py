from typing import Final

from django.apps import AppConfig

# A sealed space stores no entities: sealing hides which memories are about the same person.  Rows that refer to an
# entity are deleted with it.  Parameters: tenant and space.
GONE: Final = "delete from entities_entity where tenant_id = %s and space_id = %s"


class EntitiesConfig(AppConfig):
    name = "apps.entities"
    verbose_name = "Entities"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.entities.reencryption import Aliases, EntityClaims
        from apps.memories.indexing_mode import STRIPPED

        register(Aliases())
        register(EntityClaims())
        STRIPPED.append(GONE)
