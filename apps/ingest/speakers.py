"""Whose words a proposal is: the user's, the assistant's, or another person's.  Pure."""

from apps.ingest.candidates import Proposal
from text.extraction.roles import OTHER_LABELS, USER_LABELS


def is_user(proposal: Proposal) -> bool:
    """Whether the words are the user's own: by role, or by a speaker called assistant, bot and the like."""
    speaker = (proposal.speaker or "").split("@")[0].strip().lower()
    return proposal.role.strip().lower() in USER_LABELS and speaker not in OTHER_LABELS


def participant(proposal: Proposal) -> str | None:
    """The name of the person speaking, where it is a name and not a role."""
    name = (proposal.speaker or "").split("@")[0].strip()
    return name if name and name.lower() not in USER_LABELS | OTHER_LABELS else None


def speaker_key(proposal: Proposal) -> str:
    """Who speaks, as far as it matters to whose words they are: a name in lower case, the assistant, or the user."""
    return (participant(proposal) or "").casefold() or ("" if is_user(proposal) else "assistant")
