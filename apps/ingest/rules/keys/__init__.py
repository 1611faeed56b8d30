"""Canonical keys: which slot a statement fills, and with what value.

A rule reads the predicate; who it is about was found before (subjects.py). Rules are tried in the order of the table
and the first that matches wins; a rule is only tried when one of its trigger words stands in the clause.
"""

from apps.ingest.rules.keys.claim import Claim, Clause, signature
from apps.ingest.rules.keys.orders import instruction_claim
from apps.ingest.rules.keys.table import claims_of
from apps.ingest.rules.keys.things import constraint_claim

__all__ = ["Claim", "Clause", "claims_of", "constraint_claim", "instruction_claim", "signature"]
