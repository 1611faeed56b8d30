"""Facts with validity times: record one, query them at any time, and list contradictions."""

from dataclasses import dataclass
from datetime import datetime

from apps.core.errors import Invalid
from apps.core.plaintext import Plaintext
from apps.edges.decisions import ContradictionDecision, list_decisions
from apps.ingest.candidates import Outcome, Proposal, StatedFact
from apps.ingest.services import remember_for
from apps.memories.claims import Fact, facts
from apps.memories.validity import AsOf
from apps.projects.scope import Scope
from text.predicates import canonical, predicate_of, subject_of

LOOKED_AT = 1_000  # open decisions, and currently valid facts, that are searched


class FactUnclear(Invalid):
    """subject, predicate, object: each needs a letter or a digit"""

    code = "FACT_UNCLEAR"


class FactEndsFirst(Invalid):
    """valid_to: must be later than valid_from"""

    code = "FACT_ENDS_FIRST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two currently valid facts that contradict each other.  facts: as in the decision, the newer first."""

    decision: ContradictionDecision
    facts: tuple[Fact, Fact]


def record_fact(
    scope: Scope, end_user: str, stated: StatedFact, *, source: str = "", client_ref: str | None = None, now: datetime
) -> tuple[Scope, Outcome]:
    """Store a stated fact for this end user, who is created if unknown; return their scope and the outcome.

    From its beginning on it replaces what was true of the same subject and predicate.  A fact that began before a known
    later one does not replace that one.  Raises FactUnclear, FactEndsFirst.
    """
    claim = stated.claim
    if not claim.about or not claim.attribute or not canonical(claim.object):
        raise FactUnclear
    begin = stated.valid_from or now
    if stated.valid_to is not None and stated.valid_to <= begin:
        raise FactEndsFirst
    text = f"{claim.subject} {claim.predicate.replace('_', ' ').replace('-', ' ')} {claim.object}"
    proposal = Proposal(text=Plaintext(text), source=source, source_kind="tool", client_ref=client_ref, stated=stated)
    scope, (outcome,) = remember_for(scope, end_user, [proposal], now=now)
    return scope, outcome


def query_facts(
    scope: Scope,
    *,
    subject: str | None = None,
    predicate: str | None = None,
    at: datetime | None = None,
    known_at: datetime | None = None,
    limit: int,
    now: datetime,
) -> list[Fact]:
    """The facts valid at ``at``, by what was known at ``known_at``, both now by default; the latest to begin first."""
    return facts(
        scope,
        about=None if subject is None else subject_of(subject),
        attributes=() if predicate is None else [predicate_of(predicate).attribute],
        moment=AsOf.asked(at, known_at, now=now) or AsOf(at=now, known_at=now),
        limit=limit,
        now=now,
    )


def contradictions(scope: Scope, *, limit: int, now: datetime) -> list[Contradiction]:
    """Open decisions between two facts that both hold now, newest first."""
    decisions, _ = list_decisions(scope, limit=LOOKED_AT, is_open=True, now=now)
    held = {fact.memory.id: fact for fact in query_facts(scope, limit=LOOKED_AT, now=now)}
    pairs = [(one, [held[memory_id] for memory_id in one.memory_ids if memory_id in held]) for one in decisions]
    return [Contradiction(decision=one, facts=(both[0], both[1])) for one, both in pairs if len(both) == 2][:limit]
