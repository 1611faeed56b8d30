"""Typed memories from a transcript: what extraction finds in the user's turns, with type and topic key."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from apps.core.plaintext import Plaintext
from apps.ingest.candidates import MemoryCandidate, PartClaim, Passage, Proposal
from apps.ingest.costs import budget_for
from apps.ingest.model import read_ahead
from apps.ingest.orders import is_own_style_wish, may_be_own_style_wish
from apps.ingest.steps.extract import extract
from apps.ingest.steps.supersede import become_preference
from apps.memories.typed import KEYED, TypedMemory, canonical_json, typed_name
from apps.projects.scope import Scope
from apps.tenants.models import Instructions
from apps.tenants.selectors import instructions_of
from text.budget import TooCostly
from text.extraction.extractor import read_turn
from text.terms import terms

MOST_TURNS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTurn:
    """One turn of a transcript.  role: who spoke, as ``Proposal`` takes it."""

    role: str
    content: Plaintext


def propose_typed(
    scope: Scope, turns: Sequence[SaidTurn], *, session_id: str | None = None, source: str = "", now: datetime
) -> list[MemoryCandidate]:
    """Candidates for the memories that the turns are worth, in order, each ``proposal.typed``; nothing is stored.

    A language model reads the turns, if one is configured.
    """
    proposals = [
        Proposal(text=turn.content, source=source, session_id=session_id, role=turn.role, is_overheard=True)
        for turn in turns
    ]
    found = [
        candidate
        for proposal in read_ahead(scope, proposals, now=now)
        for candidate in extract(proposal, now=now)
        if candidate.is_wanted
    ]
    orders = [one for one in found if one.type == "instruction"]
    if orders and instructions_of(scope.tenant_id) == Instructions.STYLE:
        for one in orders:
            if one.extractor != "model" and may_be_own_style_wish(one) and not is_own_style_wish(one):
                become_preference(one)
    return [_typed(one) for candidate in found for one in _claims_of(candidate, now=now)]


def _typed(candidate: MemoryCandidate) -> MemoryCandidate:
    """The candidate, with the typed memory that it is."""
    type_, proposal = typed_name(candidate.type), candidate.proposal
    memory = TypedMemory(
        type=type_,
        summary=candidate.text,
        content=Plaintext(canonical_json({"text": candidate.text.reveal()})),
        topic_key=candidate.key if type_ in KEYED else None,
        session_id=proposal.session_id,
        source=proposal.source,
        is_extracted=True,
    )
    return replace(candidate, type=type_, key=memory.topic_key, proposal=replace(proposal, typed=memory))


def _claims_of(candidate: MemoryCandidate, *, now: datetime) -> Sequence[MemoryCandidate]:
    """A candidate for each of its claims if they say all of it, each in words that say it alone; else itself.

    A typed memory is replaced whole, so that what no claim says would end with one that is replaced.
    """
    text, parts = candidate.text.reveal(), sorted(candidate.parts, key=lambda part: part.start)
    ends = [0, *(part.end for part in parts)]
    starts = [*(part.start for part in parts), len(text)]
    between = "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    if not parts or terms(between) or not all(_says_alone(part, text, now=now) for part in parts):
        return [replace(candidate, parts=(), passages=())]
    return [
        replace(
            candidate,
            text=Plaintext(text[part.start : part.end]),
            type=part.type,
            key=part.key,
            value=part.value,
            many_valued=part.many_valued,
            parts=(),
            passages=[Passage(candidate.text)],
            spent=None if number else candidate.spent,
        )
        for number, part in enumerate(parts)
    ]


def _says_alone(part: PartClaim, text: str, *, now: datetime) -> bool:
    try:
        with budget_for(text):
            read = read_turn(text[part.start : part.end], role="user", now=now, keep_whole=True)
    except TooCostly:
        return False
    return [finding.key for finding in read] == [part.key]
