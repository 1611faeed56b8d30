"""Resealing what this app sealed: metadata of edges, and why a contradiction was settled."""

from typing import Final

from apps.crypto.encrypted_tables import SealedColumns
from apps.edges.models import MemoryEdge

EDGE: Final = "edge"


class Edges(SealedColumns):
    """An edge is known by its ends, and has no handles."""

    name = EDGE
    model = MemoryEdge
