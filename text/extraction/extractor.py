"""Reads a turn by rules: speaker, forbidden content, small talk, hypotheses, dates, and claims of slots.

The classifier (``apps/ingest/keep_gate.py``) decides what else is worth keeping; here it is kept.  No model, database
or clock.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from text import dates, patterns
from text.budget import TooCostly, checkpoint, without
from text.extraction import code, injection, roles, small_talk
from text.extraction import secrets as credentials
from text.extraction.assertion import asks, is_condition, is_played, is_quoted, is_supposed
from text.extraction.commands import has_order
from text.extraction.finding import ORDER, ClaimPart, Decision, Finding
from text.extraction.reasons import Reason
from text.extraction.slots import Claim, Clause, claims_of, order_claim, signature
from text.extraction.subjects import spoken_of, who_of
from text.letters import kept
from text.sentences import Span, clauses, fold, lower, sentences, trimmed

LONG_TEXT: Final = 2_000  # characters; a longer text is a document and is kept whole
_SURE: Final = 0.9  # confidence of a claim
_UNSURE: Final = 0.6  # confidence of a sentence that no rule refuses
_HEARSAY: Final = patterns.compile(
    r"\b(?:says|said|told me|thinks|claims|apparently|heard|seems to|i think|i believe|probably|supposedly)\b"
)


def read_turn(
    text: str, *, role: str = "user", now: datetime, keep_whole: bool = False, min_chars: int = small_talk.MIN_CHARS
) -> list[Finding]:
    """Findings of a turn, one per sentence, in text order; at least one.  Never raises.

    now: the time of the turn, with a time zone; dates are resolved against it.
    keep_whole: the caller asked to remember this, so one finding spans the trimmed text; policy still refuses.
    min_chars: a shorter text is low signal.

    If a budget is open (``text.budget``) and spent before the text is read, the text is kept unread, with the reason
    ``too_costly``.  Policy is checked first in any case, outside the budget.
    """
    with kept():
        with without():
            who = roles.speaker(text, role)
            plain = fold(text)
            whole = trimmed(plain, who.start, len(plain))
            if who.start == 0 and not who.is_user:
                return [_refused(trimmed(plain, 0, len(plain)), "discarded_low_signal", Reason.NOT_USER_TURN)]
            low = lower(plain)
            if not who.is_user:
                planted = _planted(text, role, plain, low, whole.start)
                decision: Decision = "discarded_policy" if planted else "discarded_low_signal"
                return [_refused(whole, decision, planted or Reason.NOT_USER_TURN)]
            bad = _forbidden(plain, low)
        try:
            return _read(plain, low, whole, bad, now=now, keep_whole=keep_whole, min_chars=min_chars)
        except TooCostly:
            return [_unread(whole) if not bad else _refused(whole, "discarded_policy", bad[0].reason)]


def policy_refusal(text: str) -> str:
    """Why policy refuses a user's turn as a whole, as in ``read_turn`` with keep_whole; empty if it does not."""
    with kept(), without():
        plain = fold(text)
        low = lower(plain)
        who = roles.speaker(text, "user")
        if not who.is_user:
            return _planted(text, "user", plain, low, trimmed(plain, who.start, len(plain)).start)
        bad = _forbidden(plain, low)
        return bad[0].reason if bad else ""


def unkeyed_value(low: str, when: dates.When | None) -> str:
    """A signature that tells a repeated statement without a key from news: its content words and its day."""
    day = when.at.date().isoformat() if when and when.at and when.precision in ("day", "exact") else ""
    return "|".join(filter(None, (signature(dates.without_dates(low)), day)))


# -- what must never be stored -----------------------------------------------------------------------------------------


class _Bad(NamedTuple):
    start: int
    end: int
    reason: str


def _forbidden(plain: str, low: str) -> list[_Bad]:
    """Spans of secrets and injected orders in the whole text, including repetitions of a secret."""
    found = [_Bad(*secret) for secret in credentials.find_secrets(plain)]
    order = injection.find_order(plain, low)
    if order is not None:
        found.append(_Bad(*order))
    return sorted(found)


def _planted(text: str, role: str, plain: str, low: str, start: int) -> str:
    """Why policy refuses a line that is not the user's; else empty.  The text after its label is checked too."""
    if planted := _forbidden(plain[start:], low[start:]):
        return planted[0].reason
    poses = roles.split_label(text)[0] in roles.POSING_LABELS and role.strip().lower() in roles.USER_LABELS
    return "injection_posing" if poses else ""


def _refused(span: Span, decision: Decision, reason: str) -> Finding:
    return Finding(
        start=span.start,
        end=span.end,
        decision=decision,
        reason=reason,
        source_strength=0.3,
        extractor_confidence=_SURE,
    )


# -- the turn ----------------------------------------------------------------------------------------------------------


def _read(
    plain: str, low: str, whole: Span, bad: Sequence[_Bad], *, now: datetime, keep_whole: bool, min_chars: int
) -> list[Finding]:
    checkpoint()
    said = plain[whole.start : whole.end]
    if bad and keep_whole:
        return [_refused(whole, "discarded_policy", bad[0].reason)]
    if not bad:
        if len(said) < min_chars and not small_talk.is_unspaced(said):
            claimed = [one for one in _Turn(plain, low, bad, now).findings(whole) if one.claims]
            return claimed or [_refused(whole, "discarded_low_signal", Reason.TOO_SHORT)]
        if small_talk.is_filler(said):
            return [_refused(whole, "discarded_low_signal", Reason.FILLER)]
        if keep_whole:
            return [_as_one(plain, low, whole, now)]
    if len(said) > LONG_TEXT:
        return _document(plain, whole, bad)
    if not bad and code.is_code_only(said):
        return [_refused(whole, "discarded_low_signal", Reason.CODE_ONLY)]
    return _Turn(plain, low, bad, now).findings(whole) or [_refused(whole, "discarded_low_signal", Reason.NOTHING_SAID)]


def _unread(whole: Span) -> Finding:
    return Finding(
        start=whole.start,
        end=whole.end,
        decision="keep",
        reason=Reason.TOO_COSTLY,
        source_strength=0.8,
        extractor_confidence=0.5,
    )


def _as_one(plain: str, low: str, whole: Span, now: datetime) -> Finding:
    """The whole text as one memory, with the date and claims of its most informative sentence."""
    head = Span(whole.start, min(whole.end, whole.start + LONG_TEXT))
    found = [one for one in _Turn(plain, low, (), now).findings(head) if one.decision == "keep"]
    if not found:
        return Finding(start=whole.start, end=whole.end, decision="keep", reason="explicit", extractor_confidence=0.8)
    best = max(found, key=_information)
    if len(found) == 1 and (best.start, best.end) == whole:
        return replace(best, start=whole.start, end=whole.end, reason="explicit")
    orders = any(one.type == ORDER for one in found)  # one order makes the memory an order, which needs approval
    return replace(
        best,
        start=whole.start,
        end=whole.end,
        reason="explicit",
        type=ORDER if orders else best.type,
        key=None,
        value=unkeyed_value(low[whole.start : whole.end], None),
        many_valued=False,
        parts=() if orders else tuple(part for one in found for part in one.claims),
        closes=() if orders else tuple(closed for one in found for closed in one.closes),
    )


def _information(finding: Finding) -> tuple[bool, bool, float]:
    return finding.key is not None, finding.event_at is not None, finding.extractor_confidence


def _document(plain: str, whole: Span, bad: Sequence[_Bad]) -> list[Finding]:
    """A long text as one memory, without the lines that policy refuses."""
    if code.is_code_only(plain[whole.start : whole.end]):
        return [_refused(whole, "discarded_low_signal", Reason.CODE_ONLY)]
    found: list[Finding] = []
    begin = whole.start
    for piece in [*bad, _Bad(whole.end, whole.end, "")]:
        checkpoint()
        line = Span(max(begin, plain.rfind("\n", 0, piece.start) + 1, _sentence_start(plain, piece.start)), piece.end)
        before = trimmed(plain, begin, min(line.start, piece.start) if piece.reason else whole.end)
        if before.end - before.start >= small_talk.MIN_CHARS:
            found.append(
                Finding(
                    start=before.start,
                    end=before.end,
                    decision="keep",
                    reason="document",
                    source_strength=0.8,
                    extractor_confidence=_UNSURE,
                    redacted=bool(bad),
                )
            )
        if piece.reason:
            end_of_line = plain.find("\n", piece.end, piece.end + 400)
            stop = min(whole.end, end_of_line if end_of_line >= 0 else piece.end)
            if stop > begin:
                refused = trimmed(plain, max(begin, line.start), max(stop, piece.end))
                found.append(_refused(refused, "discarded_policy", piece.reason))
            begin = max(begin, stop, piece.end)
    return found


def _sentence_start(plain: str, at: int) -> int:
    return max(plain.rfind(". ", max(0, at - 400), at) + 1, at - 400)


class _Turn:
    """Reads one turn.

    last: the person mentioned last, for "she chairs the board".  is_of_user: whether that was the user, for "moved to
    Hull".
    is_played: whether the rest of the turn is role play, so that it claims nothing.
    """

    def __init__(self, plain: str, low: str, bad: Sequence[_Bad], now: datetime) -> None:
        self.plain, self.low, self.bad, self.now = plain, low, bad, now
        self.last: str | None = None
        self.is_of_user = True
        self.is_played = False

    def findings(self, whole: Span) -> list[Finding]:
        found: list[Finding] = []
        self.is_played = is_quoted(self.plain[whole.start : whole.end])
        for sentence in sentences(self.plain, whole.start, whole.end) or [whole]:
            checkpoint()
            found += self._sentence(sentence)
        return found

    def _sentence(self, sentence: Span) -> Iterator[Finding]:
        spoilt = [bad for bad in self.bad if bad.start < sentence.end and bad.end > sentence.start]
        if spoilt:
            yield from self._beside(sentence, spoilt)
            return
        low = self.low[sentence.start : sentence.end]
        if small_talk.is_chatter(low):
            yield _refused(sentence, "discarded_low_signal", Reason.FILLER)
        elif small_talk.is_about_the_exchange(low):
            yield _refused(sentence, "discarded_low_signal", Reason.ABOUT_THE_TALK)
        elif low.startswith("```"):
            yield _refused(sentence, "discarded_low_signal", Reason.CODE_ONLY)
        else:
            yield self._said(sentence)

    def _beside(self, sentence: Span, spoilt: Sequence[_Bad]) -> Iterator[Finding]:
        """Refuse the clause with the secret; keep what the sentence says before it."""
        first = min(bad.start for bad in spoilt)
        end = sentence.start
        for part in clauses(self.plain, Span(sentence.start, max(sentence.start, min(first, sentence.end)))):
            if part.end >= first - 2:
                break
            end = part.end
        before = trimmed(self.plain, sentence.start, end)
        is_said = before.end - before.start >= small_talk.MIN_CHARS
        if is_said and not small_talk.is_chatter(self.low[before.start : before.end]):
            yield replace(self._said(before), redacted=True)
        else:
            end = sentence.start
        yield _refused(trimmed(self.plain, end, sentence.end), "discarded_policy", spoilt[0].reason)

    def _said(self, span: Span) -> Finding:
        low = self.low[span.start : span.end]
        when = dates.find(low, self.now)
        parts = clauses(self.plain, span)
        orders = has_order(self.low, span, parts)
        self.is_played = self.is_played or is_played(low)
        claims = [] if self.is_played or asks(low) or is_supposed(low) else list(self._claims(parts))
        if orders:
            claims = list(_order_alone(self.low, span, claims))
        finding = Finding(
            start=span.start,
            end=span.end,
            decision="keep",
            reason="claimed" if claims else "said",
            type=ORDER if orders else "fact" if when is None or when.at is None or claims else "event",
            value=unkeyed_value(low, when),
            event_at=when.at if when else None,
            event_precision=when.precision if when else None,
            event_range=when.range if when else None,
            source_strength=0.7 if _HEARSAY.search(low) else 0.95,
            extractor_confidence=_SURE if claims else _UNSURE,
            parts=tuple(_part(claim) for claim in claims if not claim.is_over),
            closes=tuple((claim.key, claim.value) for claim in claims if claim.is_over),
        )
        return _holding(self.plain, finding) if len(claims) == 1 and finding.parts else finding

    def _claims(self, parts: Sequence[Span]) -> Iterator[Claim]:
        who: str | None = "user" if self.is_of_user else None
        is_if = any(is_condition(self.low[start:end]) for start, end in parts)
        for part in parts:
            who = who_of(self.plain, self.low, *part, last=self.last, before=who)
            self.last = spoken_of(self.plain, self.low, *part, who)
            if not is_if:
                yield from claims_of(Clause(self.plain, self.low, *part, who))
        self.is_of_user = who == "user"


def _order_alone(low: str, span: Span, claims: Sequence[Claim]) -> Iterator[Claim]:
    """The claim of an order: a response trait, and only if the order says nothing else."""
    if any(claim.type != ORDER for claim in claims):
        return
    claim = next(iter(claims), None) or order_claim(low, *span)
    if claim is not None:
        yield claim


def _part(claim: Claim) -> ClaimPart:
    return ClaimPart(
        start=claim.start,
        end=claim.end,
        key=claim.key[:64],
        value=claim.value,
        many_valued=claim.many_valued,
        type=claim.type,
    )


def _holding(plain: str, finding: Finding) -> Finding:
    """Give the finding the key and type of a claim that is its whole statement, apart from a date."""
    (part,) = finding.parts
    beside = f"{plain[finding.start : part.start]} {plain[part.end : finding.end]}"
    if signature(dates.without_dates(lower(beside))):
        return finding
    return replace(finding, type=part.type, key=part.key, value=part.value, many_valued=part.many_valued, parts=())
