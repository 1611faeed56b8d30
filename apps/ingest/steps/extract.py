"""Extract candidates from a text, and refuse what is not worth keeping, with the reason."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from apps.core.plaintext import Plaintext
from apps.ingest.candidates import MemoryCandidate, PartClaim, Passage, Proposal, ReviewedExtraction
from apps.ingest.costs import budget_for
from apps.ingest.imported import ImportedMemory
from apps.ingest.keep_gate import weighed
from apps.ingest.model_output_check import findings_of
from apps.ingest.speakers import is_user, participant
from text import patterns
from text.budget import TooCostly
from text.bullet_lists import ListLine, is_heading, lines_of, unlisted
from text.extraction.extractor import policy_refusal, read_turn
from text.extraction.finding import ClaimPart, Finding
from text.extraction.reasons import Reason
from text.extraction.subjects import slug
from text.letters import kept
from text.predicates import PredicateClaim, canonical, predicate_of
from text.sentences import Span, fold, sentences

_SLUG = patterns.compile(r"[^\w]+")


def extract(proposal: Proposal, *, now: datetime) -> list[MemoryCandidate]:
    """The proposal's candidates, kept and refused, in the order of the text; never empty.

    An explicit proposal is kept whole and unchanged; from a speaker other than the user it is a reference, not a fact.
    A text that exceeds its time budget is also kept whole, as a fact without a key, with reason ``too_costly``.
    """
    text = proposal.text.reveal()
    try:
        with kept(), budget_for(text):
            return _extract(proposal, now=now)
    except TooCostly:
        return [_unread(proposal)]


def _extract(proposal: Proposal, *, now: datetime) -> list[MemoryCandidate]:
    if proposal.kept is not None:
        return [_as_it_was(proposal, proposal.kept, now=now)]
    if proposal.reviewed is not None:
        return [_as_reviewed(proposal, proposal.reviewed)]
    if proposal.stated is not None:
        return [_as_stated(proposal, proposal.stated.claim)]
    text, is_listed = unlisted(proposal.text.reveal())
    keep_whole = proposal.is_explicit
    is_others = not is_user(proposal)
    said_at = proposal.occurred_at or now
    proposed = proposal.reading.proposed if proposal.reading else None
    if proposed is not None:
        findings = findings_of(text, proposed, now=said_at)
    else:
        role = "user" if keep_whole or not is_others else "assistant"
        findings = read_turn(text, role=role, now=said_at, keep_whole=keep_whole)
    if not is_others:
        findings = weighed(text, findings, is_meant=keep_whole)
    if proposal.is_verbatim:
        findings = [_if_it_says_nothing(one) for one in findings]
    if all(finding.decision == "discarded_policy" for finding in findings):
        # Nothing of it is kept, even if reading it was too costly.
        return _refused(proposal, findings)
    if any(finding.reason == Reason.TOO_COSTLY for finding in findings):
        raise TooCostly
    has_sentences = len(sentences(fold(text))) > 1
    found = [_candidate(proposal, finding, is_others=is_others, has_slot=not is_others) for finding in findings]
    lines = lines_of(text) if "\n" in text or len(found) > 1 or has_sentences else []
    found[0].spent = proposal.reading
    for candidate, finding in zip(found, findings, strict=True):
        candidate.is_listed = is_listed
        candidate.passages = _passages(proposal, finding, lines)
        if is_listed and candidate.is_wanted and not proposal.is_verbatim and is_heading(candidate.text.reveal()):
            candidate.refuse("discarded_low_signal", Reason.HEADING)
    return found


def _if_it_says_nothing(finding: Finding) -> Finding:
    """The finding, kept all the same.  Forbidden content stays refused."""
    return replace(finding, decision="keep") if finding.decision == "discarded_low_signal" else finding


def _refused(proposal: Proposal, findings: Sequence[Finding]) -> list[MemoryCandidate]:
    found = [_candidate(proposal, finding, is_others=not is_user(proposal), has_slot=False) for finding in findings]
    found[0].spent = proposal.reading
    return found


def _unread(proposal: Proposal) -> MemoryCandidate:
    """The whole text without extraction; refused if it is forbidden content or not the user's."""
    is_others = not is_user(proposal)
    candidate = MemoryCandidate(
        proposal=proposal,
        text=proposal.text,
        type="reference" if is_others else "fact",
        source_strength=0.8,
        extractor_confidence=0.5,
        reason=Reason.TOO_COSTLY,
        spent=proposal.reading,
    )
    if is_others and not proposal.is_explicit:
        candidate.refuse("discarded_low_signal", Reason.NOT_USER_TURN)
    return _unless_forbidden(candidate)


def _passages(proposal: Proposal, finding: Finding, lines: Sequence[ListLine]) -> list[Passage]:
    """The lines that a finding overlaps, each with the sentences that the finding contains."""
    text = proposal.text.reveal()

    def said(span: Span) -> Plaintext:
        return Plaintext(text[span.start : span.end])

    touched = [line for line in lines if line.span.start < finding.end and line.span.end > finding.start]
    return [
        Passage(said(line.span), tuple(said(one) for one in line.sentences if _holds(finding, one, text)))
        for line in touched
    ]


def _holds(finding: Finding, one: Span, text: str) -> bool:
    """Whether the finding contains the sentence, and that is more than punctuation."""
    is_inside = finding.start <= one.start and one.end <= finding.end
    return is_inside and any(map(str.isalnum, text[one.start : one.end]))


def _candidate(proposal: Proposal, finding: Finding, *, is_others: bool, has_slot: bool) -> MemoryCandidate:
    candidate = MemoryCandidate(
        proposal=proposal,
        text=Plaintext(proposal.text.reveal()[finding.start : finding.end]),
        type=finding.type,
        key=_about(finding.key, proposal),
        value=finding.value,
        many_valued=finding.many_valued,
        parts=[_part(part, finding, proposal) for part in finding.parts],
        closes=[(_about(key, proposal) or "", value) for key, value in finding.closes],
        event_at=finding.event_at,
        event_precision=finding.event_precision or "",
        event_range=finding.event_range,
        source_strength=finding.source_strength,
        extractor_confidence=finding.extractor_confidence,
        worth=finding.worth,
        style=finding.style,
        extractor="model" if proposal.reading and proposal.reading.proposed is not None else "rules",
    )
    if is_others:
        candidate.type = "reference"
    if not has_slot:
        candidate.key, candidate.value, candidate.closes, candidate.parts = None, None, (), ()
    if finding.decision != "keep":
        candidate.refuse(finding.decision, finding.reason)
    return candidate


def _part(part: ClaimPart, finding: Finding, proposal: Proposal) -> PartClaim:
    return PartClaim(
        start=part.start - finding.start,
        end=part.end - finding.start,
        key=_about(part.key, proposal) or "",
        value=part.value,
        many_valued=part.many_valued,
        type=part.type,
    )


def _as_it_was(proposal: Proposal, kept: ImportedMemory, *, now: datetime) -> MemoryCandidate:
    """An imported memory: the whole text with its type and key.  Forbidden content is refused here too."""
    if proposal.typed is not None:
        value: str | None = kept.value or proposal.typed.value
    else:
        value = _value_of(proposal, kept.key, now=now) if kept.key is not None else None
    candidate = MemoryCandidate(
        proposal=proposal,
        text=proposal.text,
        type=kept.type,
        key=kept.key,
        value=value,
        event_at=kept.event_at,
        event_precision=kept.event_precision,
    )
    return _unless_forbidden(candidate)


def _value_of(proposal: Proposal, key: str, *, now: datetime) -> str | None:
    """The value that extraction finds in the text for this key; None if it finds another key."""
    (finding, *_) = read_turn(proposal.text.reveal(), role="user", now=proposal.occurred_at or now, keep_whole=True)
    return finding.value if finding.key == key else None


def _unless_forbidden(candidate: MemoryCandidate) -> MemoryCandidate:
    """The candidate, refused if its text or content is forbidden, regardless of the sender."""
    typed = candidate.proposal.typed
    said = f"{candidate.text.reveal()}\n{typed.checked}" if typed else candidate.text.reveal()
    if refusal := policy_refusal(said):
        candidate.refuse("discarded_policy", refusal)
    return candidate


def _as_stated(proposal: Proposal, claim: PredicateClaim) -> MemoryCandidate:
    """A stated fact, with the key that extraction would give it.  Forbidden content is refused here too."""
    is_many = predicate_of(claim.predicate).is_many
    value = slug(claim.object) or canonical(claim.object)
    key = f"{claim.about}.{claim.attribute}"
    candidate = MemoryCandidate(
        proposal=proposal,
        text=proposal.text,
        type="fact",
        key=f"{key}.{value}" if is_many else key,
        value="yes" if is_many else value,
        many_valued=is_many,
        extractor_confidence=1.0,
    )
    return _unless_forbidden(candidate)


def _as_reviewed(proposal: Proposal, read: ReviewedExtraction) -> MemoryCandidate:
    """An accepted candidate, with full confidence: as extracted before, or again if the reviewer edited it."""
    (finding, *_) = read_turn(proposal.text.reveal(), role="user", now=read.said_at, keep_whole=True)
    candidate = MemoryCandidate(
        proposal=proposal,
        text=proposal.text,
        type=read.type,
        key=read.key,
        value=read.value,
        many_valued=read.many_valued,
        parts=read.parts,
        closes=read.closes,
        event_at=read.event_at,
        event_precision=read.event_precision,
        event_range=read.event_range,
        source_strength=read.source_strength,
        extractor_confidence=1.0,
    )
    if read.is_edited:
        edited = _candidate(proposal, finding, is_others=False, has_slot=finding.type == read.type)
        candidate.key, candidate.value, candidate.closes = edited.key, edited.value, edited.closes
        candidate.many_valued, candidate.parts = edited.many_valued, edited.parts
        candidate.event_at, candidate.event_range = edited.event_at, edited.event_range
        candidate.event_precision = edited.event_precision
    if finding.decision == "discarded_policy":
        candidate.refuse(finding.decision, finding.reason)
    return candidate


def _about(key: str | None, proposal: Proposal) -> str | None:
    """The key with "user" replaced by the speaker's name, so that two speakers of one space have separate slots."""
    name = participant(proposal)
    if key is None or name is None or not (key == "user" or key.startswith("user.")):
        return key
    return _SLUG.sub("_", name.lower()).strip("_") + key[len("user") :]
