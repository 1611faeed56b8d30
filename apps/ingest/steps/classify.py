"""The tenant's own types: a candidate is of the one that a rule says, and of a type's successor after a sunset."""

from collections.abc import Sequence

from apps.ingest.candidates import MemoryCandidate
from apps.memories.tenant_types import Registry
from apps.memories.types import TYPES


def classify(candidates: Sequence[MemoryCandidate], types: Registry) -> None:
    """What comes from elsewhere as it was keeps its type, unless that was sunset here."""
    for candidate in candidates:
        if not candidate.is_wanted:
            continue
        if candidate.proposal.kept is None:
            candidate.type = types.choose(candidate.type, candidate.key, candidate.text.reveal())
        else:
            candidate.type = types.now_called(candidate.type)
        if candidate.type not in TYPES:
            candidate.own = types.get(candidate.type)
            candidate.lasts = types.ttl(candidate.type)
