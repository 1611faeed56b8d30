"""Vectors, within a short budget; what the budget does not reach is embedded from the outbox."""

from collections.abc import Sequence

from apps.ingest.candidates import MemoryCandidate
from apps.ingest.pipeline_context import PipelineContext
from apps.memories.embedding import embed_within


def embed(candidates: Sequence[MemoryCandidate], tools: PipelineContext) -> None:
    """Fill in the vector of each candidate still wanted that the budget reaches."""
    if tools.embed_seconds <= 0:
        return
    wanted = {place: one.text for place, one in enumerate(candidates) if one.is_wanted and place not in tools.vectors}
    vectors = embed_within(tools.embedder, list(wanted.values()), seconds=tools.embed_seconds)
    tools.vectors.update({place: one for place, one in zip(wanted, vectors, strict=True) if one is not None})
    for place, vector in tools.vectors.items():
        candidates[place].vector = vector
