"""Re-encryption of the metadata of edges, and of the resolutions of contradictions."""

from typing import Final

from apps.crypto.encrypted_tables import SealedColumns
from apps.edges.models import MemoryEdge

EDGE: Final = "edge"


class Edges(SealedColumns):
    """An edge is found by its memories, so it has no keyed hashes."""

    name = EDGE
    model = MemoryEdge
