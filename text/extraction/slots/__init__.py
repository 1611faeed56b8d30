"""What is true of a person one value at a time: where they live, for whom they work, what they are allergic to.

A slot gives a claim its key, by which the profile and ``/v1/facts`` know it and by which a newer value takes the place
of an older one immediately.  All other changes are for the comparer to find (``apps/ingest/change_rules.py``), so
what is in no slot's words has none.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from text.extraction.slots import people, plain, several
from text.extraction.slots.clause import Claim, Clause, Reader, signature
from text.extraction.slots.orders import order_claim
from text.sentences import trimmed

__all__ = ["Claim", "Clause", "claims_of", "order_claim", "signature"]

_READERS: Final[tuple[Reader, ...]] = (*plain.READERS, *people.READERS, *several.READERS)
_MOST: Final = 8  # claims of a clause


def claims_of(clause: Clause) -> Sequence[Claim]:
    """What a clause says of the slots, in the order of the text."""
    found = [claim for read in _READERS for claim in read(clause)]
    return list(_apart(clause, sorted(found, key=lambda claim: (claim.end, claim.start))[:_MOST]))


def _apart(clause: Clause, claims: Sequence[Claim]) -> Iterator[Claim]:
    """No two of them with a word in common, so that each can end alone: "I'm a nurse", "at Charité"."""
    end = clause.start
    for claim in claims:
        start, _ = trimmed(clause.plain, max(claim.start, min(end, claim.end)), claim.end)
        yield claim._replace(start=start) if start < claim.end else claim
        end = max(end, claim.end)
