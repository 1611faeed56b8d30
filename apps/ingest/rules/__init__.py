"""The extractor that needs no model: small tables of rules, read in a fixed order."""

from apps.ingest.rules.finding import Decision, Finding
from apps.ingest.rules.reader import policy_refusal, read_turn

__all__ = ["Decision", "Finding", "policy_refusal", "read_turn"]
