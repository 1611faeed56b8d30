"""The types of relations, and how far each carries: data, not an enum."""

from typing import Final

CONTRADICTION: Final = "contradiction"
CONFLICT: Final = "conflicts_with"  # of a claim with a limit, which stays: only the write states it

# How much of a memory's score passes along an edge of the type (contract 10.7).  A contradiction passes nothing on: it
# annotates, and never pulls a memory in.
FACTORS: Final = {
    "similar": 0.6,
    "derived_from": 0.9,
    "continuation": 0.9,
    CONTRADICTION: 0.0,
    "summary_of": 1.0,
    "detail_of": 1.0,
    "caused_by": 0.9,
    "references": 0.7,
    "supports": 1.0,
    "extends": 1.0,
}
RELATION_TYPES: Final = tuple(FACTORS)
SYSTEM_TYPES: Final = (CONFLICT,)
CUSTOM_FACTOR: Final = 0.7  # of a type that a tenant added: it says no more than that one refers to the other
CORROBORATING: Final = frozenset({"supports", "similar", "extends"})


def factor_of(type_: str) -> float:
    """Of a conflict nothing: like a contradiction, it annotates."""
    return 0.0 if type_ == CONFLICT else FACTORS.get(type_, CUSTOM_FACTOR)
