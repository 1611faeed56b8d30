"""How often a memory was stated, and the confidence that follows from it."""

from apps.memories.models import Memory
from apps.memories.types import confidence


def set_repetitions(row: Memory, repetitions: int) -> None:
    """Save the number, at least 1, and the confidence.  row: locked."""
    row.repetition_count = max(repetitions, 1)
    row.confidence = confidence(
        source_strength=row.source_strength,
        repetition_count=row.repetition_count,
        extractor_confidence=row.extractor_confidence,
        prior=row.type_prior,
    )
    row.save(update_fields=["repetition_count", "confidence"])
