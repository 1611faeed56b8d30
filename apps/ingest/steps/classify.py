"""Assign the tenant's own types: by the tenant's rules, or the successor of a type after its sunset."""

from collections.abc import Sequence

from apps.ingest.candidates import MemoryCandidate
from apps.memories.tenant_types import Registry
from apps.memories.types import TYPES


def classify(candidates: Sequence[MemoryCandidate], types: Registry) -> None:
    """Set each candidate's type.  An imported memory keeps its type, unless that was sunset."""
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
            candidate.fields = types.fields(candidate.type)
