"""The speaker of a proposal: the user, the assistant, or another person.  Pure."""

from apps.ingest.candidates import Proposal
from text.extraction.roles import OTHER_LABELS, USER_LABELS


def is_user(proposal: Proposal) -> bool:
    """Whether the user is the speaker: by role, unless the speaker is named assistant, bot or the like."""
    speaker = (proposal.speaker or "").split("@")[0].strip().lower()
    return proposal.role.strip().lower() in USER_LABELS and speaker not in OTHER_LABELS


def participant(proposal: Proposal) -> str | None:
    """The speaker's name; None if it is a role or missing."""
    name = (proposal.speaker or "").split("@")[0].strip()
    return name if name and name.lower() not in USER_LABELS | OTHER_LABELS else None


def speaker_key(proposal: Proposal) -> str:
    """Speaker for digests: a name in lower case, ``assistant``, or an empty string for the user."""
    return (participant(proposal) or "").casefold() or ("" if is_user(proposal) else "assistant")
