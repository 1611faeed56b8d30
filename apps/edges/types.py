"""The types of relations, and how much of a score each passes on.  Data, not an enum."""

from typing import Final

CONTRADICTION: Final = "contradiction"
CONFLICT: Final = "conflicts_with"  # of a claim with a constraint, which stays; only the write creates it
SUPERSEDES: Final = "supersedes"  # stated: the memory that it points to ends
SAME_AS: Final = "same_as"  # stated: the newer of the two ends, and its repetitions count for the older

# How much of a memory's score passes along an edge of the type (contract 10.7).  A contradiction passes nothing on: it
# annotates, and never adds a memory to the results.
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
EFFECTIVE_TYPES: Final = (SUPERSEDES, SAME_AS)  # stating one ends a memory; deleting the relation undoes it
SYSTEM_TYPES: Final = (CONFLICT, *EFFECTIVE_TYPES)  # a tenant cannot add them
CUSTOM_FACTOR: Final = 0.7  # of a type that a tenant added: it only means that one memory refers to the other
CORROBORATING: Final = frozenset({"supports", "similar", "extends"})


def factor_of(type_: str) -> float:
    """The factor of a type: 0 for those of the system, which only annotate, like a contradiction."""
    return 0.0 if type_ in SYSTEM_TYPES else FACTORS.get(type_, CUSTOM_FACTOR)
