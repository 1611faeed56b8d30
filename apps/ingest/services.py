"""Remembering: the ways in to the pipeline."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from apps.core.errors import DomainError, Unavailable
from apps.crypto.services import SpaceShredded
from apps.ingest import pipeline
from apps.ingest.candidates import Candidate, DecisionMade, Outcome, Proposal
from apps.ingest.doorbell import ring
from apps.ingest.model import read_ahead
from apps.ingest.shelf import KeyTurned
from apps.ingest.tools import Tools
from apps.memories.spaces import meet_end_user, reread_space
from apps.projects.scope import Scope


def remember(
    scope: Scope, proposals: Sequence[Proposal], *, embeds_later: bool = False, now: datetime
) -> list[Outcome]:
    """Store what is worth keeping, and say what became of each proposal, in order.

    scope: one space.  One transaction: all of it or nothing.  The same client_ref gives the same answer.
    embeds_later: from the outbox, all of it; what means nearly the same is then not noticed, only what says the same.
    """
    try:
        batch = pipeline.run(proposals, Tools.for_scope(scope, embeds_later=embeds_later, now=now))
    except KeyTurned:
        # Keys turn at most once in a while: the second time the look and the lock agree.
        batch = pipeline.run(proposals, Tools.for_scope(reread_space(scope), embeds_later=embeds_later, now=now))
    if any(one.vector is None and one.decision in {"created", "superseding"} for each in batch for one in each):
        transaction.on_commit(ring)
    return [Outcome(decisions=[_decision(candidate) for candidate in candidates]) for candidates in batch]


def remember_for(
    scope: Scope, end_user: str, proposals: Sequence[Proposal], *, embeds_later: bool = False, now: datetime
) -> tuple[Scope, list[Outcome]]:
    """As ``remember``, in the space of this end user, who is made on first sight; with the scope of that space.

    Where there is a language model, it reads what is not for later.  Outside of any transaction.
    """
    try:
        found = scope.in_spaces(meet_end_user(scope, end_user, now=now))
        proposals = proposals if embeds_later else read_ahead(found, proposals, now=now)
        return found, remember(found, proposals, embeds_later=embeds_later, now=now)
    except SpaceShredded:
        # Between the look and the lock: what is said now belongs to their new space.
        found = scope.in_spaces(meet_end_user(scope, end_user, now=now))
        return found, remember(found, proposals, embeds_later=embeds_later, now=now)


def remember_each(
    scope: Scope, end_user: str, proposals: Mapping[int, Proposal], *, embeds_later: bool = False, now: datetime
) -> dict[int, Outcome | DomainError]:
    """As ``remember_for``, all of it at once; if one is refused, each by itself, so that only that one is lost.

    By the same numbers: what became of each proposal.  Raises Unavailable, and then the rest is not tried.
    """
    try:
        _, outcomes = remember_for(scope, end_user, list(proposals.values()), embeds_later=embeds_later, now=now)
        return dict(zip(proposals, outcomes, strict=True))
    except Unavailable:
        raise
    except DomainError as refusal:
        if len(proposals) == 1:
            return dict.fromkeys(proposals, refusal)
    results: dict[int, Outcome | DomainError] = {}
    for number, one in proposals.items():
        results |= remember_each(scope, end_user, {number: one}, embeds_later=embeds_later, now=now)
    return results


def _decision(candidate: Candidate) -> DecisionMade:
    return DecisionMade(
        decision=candidate.decision,
        reason=candidate.reason,
        type=candidate.type,
        memory_id=candidate.memory_id,
        review_id=candidate.review_id,
        extractor=candidate.extractor,
        fallback=candidate.proposal.reading.fallback if candidate.proposal.reading else "",
    )
