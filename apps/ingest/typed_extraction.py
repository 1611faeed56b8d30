"""Typed memories from a transcript: what extraction finds in the user's turns, with type and topic key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.model import read_ahead
from apps.ingest.steps.extract import extract
from apps.memories.typed import KEYED, TypedMemory, canonical_json, typed_name
from apps.projects.scope import Scope

MOST_TURNS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTurn:
    """One turn of a transcript.  role: who spoke, as ``Proposal`` takes it."""

    role: str
    content: Plaintext


def propose_typed(
    scope: Scope, turns: Sequence[SaidTurn], *, session_id: str | None = None, source: str = "", now: datetime
) -> list[TypedMemory]:
    """The memories that the turns are worth, in order; nothing is stored.

    A language model reads the turns, if one is configured.
    """
    proposals = [
        Proposal(text=turn.content, source=source, session_id=session_id, role=turn.role, is_overheard=True)
        for turn in turns
    ]
    return [memory for proposal in read_ahead(scope, proposals, now=now) for memory in _worth(proposal, now=now)]


def _worth(proposal: Proposal, *, now: datetime) -> Iterator[TypedMemory]:
    for candidate in extract(proposal, now=now):
        if not candidate.is_wanted:
            continue
        type_ = typed_name(candidate.type)
        yield TypedMemory(
            type=type_,
            summary=candidate.text,
            content=Plaintext(canonical_json({"text": candidate.text.reveal()})),
            topic_key=candidate.key if type_ in KEYED else None,
            session_id=proposal.session_id,
            source=proposal.source,
        )
