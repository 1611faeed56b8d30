"""Slots: attributes of a person with one value at a time, such as home, employer or allergies.

A slot gives a claim its key, which the profile and ``/v1/facts`` use.  A newer value replaces the older one of the same
key immediately.  Statements outside the slots have no key; the comparer (``apps/ingest/change_rules.py``) detects their
changes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from text.extraction.slots import people, plain, several
from text.extraction.slots.clause import Claim, Clause, Reader, signature
from text.extraction.slots.orders import order_claim
from text.sentences import trimmed

__all__ = ["Claim", "Clause", "claims_of", "order_claim", "signature"]

_READERS: Final[tuple[Reader, ...]] = (*plain.READERS, *people.READERS, *several.READERS)
_MOST: Final = 8  # claims per clause


def claims_of(clause: Clause) -> Sequence[Claim]:
    """The claims that a clause makes about slots, in text order."""
    found = [claim for read in _READERS for claim in read(clause)]
    return list(_apart(clause, sorted(found, key=lambda claim: (claim.end, claim.start))[:_MOST]))


def _apart(clause: Clause, claims: Sequence[Claim]) -> Iterator[Claim]:
    """The claims with disjoint spans, so that each can end separately: "I'm a nurse", "at Charité"."""
    end = clause.start
    for claim in claims:
        start, _ = trimmed(clause.plain, max(claim.start, min(end, claim.end)), claim.end)
        yield claim._replace(start=start) if start < claim.end else claim
        end = max(end, claim.end)
