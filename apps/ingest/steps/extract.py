"""Text to candidates, and what is not worth keeping refused with its reason."""

import re
from datetime import datetime

from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Candidate, Proposal
from apps.ingest.rules import read_turn
from apps.ingest.rules.finding import Finding
from apps.ingest.rules.roles import OTHER_LABELS, USER_LABELS
from apps.ingest.rules.sentences import fold, sentences

EXPLICIT = 0.5  # an importance from here on is an explicit "remember this"
_SLUG = re.compile(r"[^\w]+")


def extract(proposal: Proposal, *, now: datetime) -> list[Candidate]:
    """The proposal's candidates, kept and refused, in the order of the text; never empty.

    An explicit proposal is kept whole, as said; what somebody else than the user said is then a reference, not a fact.
    """
    text = proposal.text.reveal()
    keep_whole = proposal.importance is not None and proposal.importance >= EXPLICIT
    is_others = not is_user(proposal)
    findings = read_turn(
        text,
        role="user" if keep_whole or not is_others else "assistant",
        now=proposal.occurred_at or now,
        keep_whole=keep_whole,
    )
    # A text that says more than one thing is never replaced as a whole: it holds no slot and closes none.
    has_slot = not is_others and not (keep_whole and len(sentences(fold(text))) > 1)
    return [_candidate(proposal, text, finding, is_others=is_others, has_slot=has_slot) for finding in findings]


def is_user(proposal: Proposal) -> bool:
    """Whether the words are the user's own: by role, or by a speaker called assistant, bot and the like."""
    speaker = (proposal.speaker or "").split("@")[0].strip().lower()
    return proposal.role.strip().lower() in USER_LABELS and speaker not in OTHER_LABELS


def participant(proposal: Proposal) -> str | None:
    """The name of the person speaking, where it is a name and not a role."""
    name = (proposal.speaker or "").split("@")[0].strip()
    return name if name and name.lower() not in USER_LABELS | OTHER_LABELS else None


def voice(proposal: Proposal) -> str:
    """Who speaks, as far as it matters to whose words they are: a name in lower case, the assistant, or the user."""
    return (participant(proposal) or "").casefold() or ("" if is_user(proposal) else "assistant")


def _candidate(proposal: Proposal, text: str, finding: Finding, *, is_others: bool, has_slot: bool) -> Candidate:
    candidate = Candidate(
        proposal=proposal,
        text=Plaintext(text[finding.start : finding.end]),
        type=finding.type,
        key=_about(finding.key, proposal),
        value=finding.value,
        closes=(_about(finding.closes[0], proposal) or "", finding.closes[1]) if finding.closes else None,
        event_at=finding.event_at,
        event_precision=finding.event_precision or "",
        event_range=finding.event_range,
        source_strength=finding.source_strength,
        extractor_confidence=finding.extractor_confidence,
    )
    if is_others:
        candidate.type = "reference"
    if not has_slot:
        candidate.key, candidate.value, candidate.closes = None, None, None
    if finding.decision != "keep":
        candidate.refuse(finding.decision, finding.reason)
    return candidate


def _about(key: str | None, proposal: Proposal) -> str | None:
    """The key with "user" replaced by the speaker's name: two people who share a space do not share a home town."""
    name = participant(proposal)
    if key is None or name is None or not (key == "user" or key.startswith("user.")):
        return key
    return _SLUG.sub("_", name.lower()).strip("_") + key[len("user") :]
