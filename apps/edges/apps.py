from typing import Final

from django.apps import AppConfig

# Edges found at a write are deleted when a space is sealed.  Parameters: tenant and space.
FOUND: Final = (
    "delete from edges_memoryedge where tenant_id = %s and space_id = %s and is_automatic "
    "and type not in ('contradiction', 'conflicts_with')"
)


class EdgesConfig(AppConfig):
    name = "apps.edges"
    verbose_name = "Edges"

    def ready(self) -> None:
        from apps.crypto.encrypted_tables import register
        from apps.edges.reencryption import Edges
        from apps.memories.indexing_mode import STRIPPED

        register(Edges())
        STRIPPED.append(FOUND)
