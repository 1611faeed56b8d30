"""Entry points of the pipeline."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from django.db import transaction

from apps.core.broker import notify
from apps.core.errors import DomainError, Unavailable
from apps.core.retries import retried
from apps.crypto.services import SpaceShredded
from apps.ingest import pipeline
from apps.ingest.candidates import MADE, STORED, DecisionMade, MemoryCandidate, Outcome, Proposal
from apps.ingest.model import read_ahead
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.snapshot import KeyRotated
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import get_memory
from apps.memories.spaces import SpaceOwner, reread_space
from apps.outbox.tasks import drain
from apps.projects.scope import Scope


def remember(
    scope: Scope, proposals: Sequence[Proposal], *, embeds_later: bool = False, now: datetime
) -> list[Outcome]:
    """Store what is worth keeping, and return the outcome of each proposal, in order.

    scope: one space.  All proposals are written in one transaction.  A client_ref makes its proposal idempotent.
    embeds_later: leave all embedding to the outbox; then only equal texts are found as duplicates, not similar ones.
    """
    return _remember(
        proposals, PipelineContext.for_scope(scope, embeds_later=embeds_later, now=now), embeds_later=embeds_later
    )


def _remember(proposals: Sequence[Proposal], tools: PipelineContext, *, embeds_later: bool) -> list[Outcome]:
    run = retried(pipeline.run)
    try:
        batch = run(proposals, tools)
    except KeyRotated:
        # Key rotations are rare, so the retry reads and locks the same key version.
        reread = PipelineContext.for_scope(reread_space(tools.scope), embeds_later=embeds_later, now=tools.now)
        batch = run(proposals, reread)
    if any(one.vector is None and one.decision in MADE for each in batch for one in each):
        transaction.on_commit(partial(notify, drain))
    return [_outcome(candidates) for candidates in batch]


def remember_for(
    scope: Scope, end_user: str, proposals: Sequence[Proposal], *, embeds_later: bool = False, now: datetime
) -> tuple[Scope, list[Outcome]]:
    """As ``remember_owned``, of this end user."""
    return remember_owned(scope, SpaceOwner.end_user(end_user), proposals, embeds_later=embeds_later, now=now)


def remember_owned(
    scope: Scope, owner: SpaceOwner, proposals: Sequence[Proposal], *, embeds_later: bool = False, now: datetime
) -> tuple[Scope, list[Outcome]]:
    """As ``remember``, in the space of this owner, which is created if unknown; also returns the scope of that space.

    A configured language model extracts, unless ``embeds_later``.  Call outside of any transaction.
    """
    proposals = proposals if embeds_later else read_ahead(scope, proposals, now=now)
    try:
        tools = PipelineContext.for_owner(scope, owner, embeds_later=embeds_later, now=now)
        return tools.scope, _remember(proposals, tools, embeds_later=embeds_later)
    except SpaceShredded:
        # The space was shredded between the lookup and the lock: retry in the owner's new space.
        tools = PipelineContext.for_owner(scope, owner, embeds_later=embeds_later, now=now)
        return tools.scope, _remember(proposals, tools, embeds_later=embeds_later)


def remember_each(
    scope: Scope, end_user: str, proposals: Mapping[int, Proposal], *, embeds_later: bool = False, now: datetime
) -> dict[int, Outcome | DomainError]:
    """As ``remember_for``, all together; if that is refused, each by itself, so that only the refused ones are lost.

    Returns an outcome or error for each key of ``proposals``.  Raises Unavailable, and then the rest is not tried.
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


def first_stored(scope: Scope, outcome: Outcome, *, now: datetime) -> OpenedMemory:
    """The first memory that the outcome stored, as its owner reads it.  The outcome must have stored something."""
    return outcome.opened() if outcome.opened else get_memory(scope, outcome.memory_ids[0], now=now)


def _outcome(candidates: Sequence[MemoryCandidate]) -> Outcome:
    return Outcome(
        decisions=[_decision(candidate) for candidate in candidates],
        opened=next((one.opened for one in candidates if one.decision in STORED), None),
    )


def _decision(candidate: MemoryCandidate) -> DecisionMade:
    return DecisionMade(
        decision=candidate.decision,
        reason=candidate.reason,
        type=candidate.type,
        memory_id=candidate.memory_id,
        review_id=candidate.review_id,
        extractor=candidate.extractor,
        fallback=candidate.proposal.reading.fallback if candidate.proposal.reading else "",
    )
