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
        from apps.crypto.encrypted_tables import SealedColumns, register
        from apps.edges.models import EDGE, MemoryEdge
        from apps.memories.indexing_mode import STRIPPED

        register(SealedColumns(EDGE, MemoryEdge))
        STRIPPED.append(FOUND)
