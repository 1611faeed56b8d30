"""Embed candidates within a short time budget; the outbox embeds the rest."""

from collections.abc import Sequence

from apps.ingest.candidates import MemoryCandidate
from apps.ingest.pipeline_context import PipelineContext
from apps.memories.embedding import embed_within


def embed(candidates: Sequence[MemoryCandidate], tools: PipelineContext) -> None:
    """Set the vectors of undecided candidates, as far as the time budget allows."""
    if tools.embed_seconds <= 0:
        return
    wanted = {place: one.text for place, one in enumerate(candidates) if one.is_wanted and place not in tools.vectors}
    vectors = embed_within(tools.embedder, list(wanted.values()), seconds=tools.embed_seconds)
    tools.vectors.update({place: one for place, one in zip(wanted, vectors, strict=True) if one is not None})
    for place, vector in tools.vectors.items():
        candidates[place].vector = vector
