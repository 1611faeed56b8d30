"""Vectors, within a short budget; what the budget does not reach is embedded from the outbox."""

from collections.abc import Sequence

from apps.ingest.candidates import Candidate
from apps.ingest.tools import Tools
from apps.memories.embedding import embed_within


def embed(candidates: Sequence[Candidate], tools: Tools) -> None:
    """Fill in the vector of each candidate still wanted that the budget reaches."""
    if tools.embed_seconds <= 0:
        return
    wanted = [candidate for candidate in candidates if candidate.is_wanted]
    vectors = embed_within(tools.embedder, [one.text for one in wanted], seconds=tools.embed_seconds)
    for candidate, vector in zip(wanted, vectors, strict=True):
        candidate.vector = vector
