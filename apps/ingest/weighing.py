"""What a turn's sentences are worth, as the classifier says; what the rules found in them stands on that.

The rules say what may never be stored, what is filler, when something is, and which claims stand where.  The classifier
says which sentences are worth keeping, of which type, and which give a secret away in a shape that no rule knows.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.conf import settings

from apps.adapters.classifiers.base import Classifier, SentenceScores, TurnScores
from apps.adapters.errors import AdapterError
from apps.adapters.registry import get_classifier
from apps.ingest.rules.finding import Decision, Finding, Part
from apps.ingest.rules.keys import signature
from apps.ingest.rules.reader import LONG_TEXT, TOO_COSTLY, unkeyed_value
from apps.ingest.rules.roles import split_label
from apps.memories import dates
from text import patterns
from text.budget import without
from text.sentences import Span, fold, lower, sentences

logger = logging.getLogger(__name__)

POLICY: Final = "discarded_policy"
_KEPT: Final = "keep"
_ORDER: Final = "instruction"
_BINDING: Final = frozenset({_ORDER, "constraint"})
_YES_OR_NO: Final = frozenset({"yes", "no"})
# What the rules are surer of than any model: nothing but a pleasantry, too little to say anything, code.
_FIRM: Final = frozenset({"filler", "too_short", "code_only", "not_user_turn", "about_the_talk", "nothing_said"})
# What opens a sentence that leans on the one before it.
_LEANING: Final = patterns.compile(
    r"(?:it|its|it's|they|them|their|they're|he|she|his|her|hers|he's|she's|that|that's|this|those|these|there|there's"
    r"|but|and|so|or|because|cos|which|who|whose|then|also|only|just|still|not|same|both|otherwise|plus|hence"
    r"|although|though|except|unless|until|since|with|without|to|for|by|at|in|on|from)\b",
    patterns.IGNORECASE,
)
_TOGETHER: Final = 320  # characters of sentences that are kept as one, at most
_PLAIN: Final = 10  # words of a sentence that the rules know better, at most
_FEW_WORDS: Final = 5  # fewer say little by themselves


Types = Mapping[Span, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """keep: how likely a sentence must be worth keeping.  forbidden: how surely it must give something away, or plant
    an order, to be refused for it.  Both 0..1."""

    keep: float
    forbidden: float


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, or what a finding holds of several, with the findings in it."""

    span: Span
    findings: Sequence[Finding]

    @property
    def kept(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.decision == _KEPT]


def weighed(text: str, findings: Sequence[Finding], *, now: datetime, is_meant: bool) -> list[Finding]:
    """As ``weigh``, by the settings' classifier and thresholds; as they are where there is none, or it fails."""
    classifier = get_classifier()
    if classifier is None:
        return list(findings)
    thresholds = Thresholds(keep=settings.GATE_KEEP_FROM, forbidden=settings.GATE_FORBIDDEN_FROM)
    try:
        with without():  # as with every guard: it has read the text before anything of it is kept
            return weigh(text, findings, classifier, thresholds, now=now, is_meant=is_meant)
    except AdapterError as error:
        logger.warning("the classifier failed; what the rules say stands", extra={"error": type(error).__name__})
        return list(findings)


def weigh(
    text: str,
    findings: Sequence[Finding],
    classifier: Classifier,
    thresholds: Thresholds,
    *,
    now: datetime,
    is_meant: bool,
) -> list[Finding]:
    """The findings of ``read_turn`` in a user's turn, weighed; in the order of the text, never empty.

    is_meant: somebody asked for just this to be remembered: then it is as the rules read it, whose guards know secrets
    for certain; that the spare key lies under the flower pot is theirs to have remembered.
    now: as of ``read_turn``.  A document is as the rules read it.  Raises AdapterError.
    """
    plain = fold(text)
    if is_meant or len(plain) > LONG_TEXT or all(finding.reason in _FIRM for finding in findings):
        return list(findings)
    units = _units(plain, findings, start=split_label(text)[1])
    if not units:
        return list(findings)
    spans = [unit.span for unit in units]
    kept = [Span(finding.start, finding.end) for unit in units for finding in unit.kept]
    scores = classifier.read(text, spans, kept)
    types = dict(zip(kept, scores.parts, strict=True))
    bad = _forbidden(units, scores, thresholds.forbidden)
    if any(finding.reason == TOO_COSTLY for finding in findings) and not bad:
        return list(findings)
    found: list[Finding | _Statement] = []
    for number, (unit, score) in enumerate(zip(units, scores.sentences, strict=True)):
        if number in bad:
            found.append(_refused(unit, POLICY, "secret_or_order", score.forbidden))
        elif any(finding.decision == POLICY for finding in unit.findings):
            found += unit.findings
        elif score.keep < thresholds.keep and _stands(plain, unit):
            found += unit.kept
        elif score.keep < thresholds.keep or _is_firm(unit):
            found += _not_kept(unit, score)
        elif any(one.closes or one.type in _BINDING for one in unit.kept):
            found += unit.findings  # an order, a limit or an end is what the rules say it is, and of just these words
        else:
            statement = _statement(plain, unit, score, types, now)
            if found and isinstance(found[-1], _Statement) and _belongs(plain, found[-1], statement):
                found[-1] = found[-1].joined(statement)
            else:
                found.append(statement)
    return [_finding(plain, one) if isinstance(one, _Statement) else one for one in found]


def _units(plain: str, findings: Sequence[Finding], *, start: int) -> list[_Unit]:
    """The sentences behind a label, each with its findings; those that a finding spans are one."""
    spans: list[list[int]] = []
    for begin, end in sentences(plain, start):
        if spans and any(one.start < spans[-1][1] and one.end > begin for one in findings):
            spans[-1][1] = end
        else:
            spans.append([begin, end])
    return [
        _Unit(Span(start, end), [one for one in findings if one.start < end and one.end > start])
        for start, end in spans
    ]


def _forbidden(units: Sequence[_Unit], scores: TurnScores, threshold: float) -> set[int]:
    """Of units, those that give something away; all of them where only the turn as a whole does."""
    bad = {number for number, score in enumerate(scores.sentences) if score.forbidden >= threshold}
    known = any(finding.decision == POLICY for unit in units for finding in unit.findings)
    if not bad and not known and scores.forbidden >= threshold:
        return set(range(len(units)))
    return bad


def _is_firm(unit: _Unit) -> bool:
    return bool(unit.findings) and all(finding.reason in _FIRM for finding in unit.findings)


def _stands(plain: str, unit: _Unit) -> bool:
    """Whether the rules' word that it is worth keeping stands against the classifier's.

    It does for a claim, and for what is short: nobody who wrote for the classifier speaks as plainly as "The pump is
    behind the door.", so that it takes such a sentence for chatter.
    """
    return any(
        one.key is not None or len(plain[unit.span.start : unit.span.end].split()) <= _PLAIN for one in unit.kept
    )


def _not_kept(unit: _Unit, score: SentenceScores) -> list[Finding]:
    """Refused by the rules as they say why, else for the likelier of two reasons."""
    if unit.findings and not unit.kept:
        return list(unit.findings)
    if score.transient > score.low_signal:
        return [_refused(unit, "discarded_transient", "transient", score.transient)]
    return [_refused(unit, "discarded_low_signal", "unlikely", score.low_signal)]


def _refused(unit: _Unit, decision: Decision, reason: str, confidence: float) -> Finding:
    return Finding(
        start=unit.span.start,
        end=unit.span.end,
        decision=decision,
        reason=reason,
        source_strength=0.3,
        extractor_confidence=round(confidence, 3),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """A sentence to keep, or several that belong together.

    base: what is known of it beside its type and its claims.  type: that of the clause or sentence that is surest of
    one, and how sure that is.  claims: each with the words that make it.
    """

    span: Span
    base: Finding
    type: tuple[float, str]
    claims: Sequence[tuple[Finding, Span]]

    @property
    def is_order(self) -> bool:
        """An order stands by itself, so that nothing hides it from review, and it claims nothing."""
        return self.type[1] == _ORDER

    def joined(self, other: "_Statement") -> "_Statement":
        return _Statement(
            span=Span(self.span.start, other.span.end),
            base=max(self.base, other.base, key=_telling),
            type=max(self.type, other.type),
            claims=[*self.claims, *other.claims],
        )


def _statement(plain: str, unit: _Unit, score: SentenceScores, types: Types, now: datetime) -> _Statement:
    kept = unit.kept
    surest = [_surest(types[Span(one.start, one.end)]) for one in kept] or [_surest(score.types)]
    # Whichever part of it, or the whole, looks like an order: it is one.
    orders = [one for one in (*surest, _surest(score.types)) if one[1] == _ORDER]
    return _Statement(
        span=unit.span,
        base=max(kept, key=_telling) if kept else _unread(plain, unit.span, score, now),
        type=max(orders or surest),
        claims=_claims(plain, kept),
    )


def _claims(plain: str, kept: Sequence[Finding]) -> list[tuple[Finding, Span]]:
    """Those with a key, each with its words.  Of several in the same words, each has those of its value alone, and one
    whose value is not found is left out: to end it would take the others along."""
    keyed = [one for one in kept if one.key is not None]
    sharing = Counter((one.start, one.end) for one in keyed)
    found = []
    for one in keyed:
        value = _value_in(plain, one)
        if sharing[one.start, one.end] > 1:
            if value is not None:
                found.append((one, value))
        else:
            found.append((one, Span(one.start, value.end if value else one.end)))
    return found


def _belongs(plain: str, first: _Statement, second: _Statement) -> bool:
    """Whether the second says little without the first, or the first without it."""
    start, end = first.span.end, second.span.start
    if first.is_order != second.is_order or second.span.end - first.span.start > _TOGETHER or "\n" in plain[start:end]:
        return False
    said, after = plain[first.span.start : start], plain[end : second.span.end]
    return _LEANING.match(after) is not None or min(len(said.split()), len(after.split())) < _FEW_WORDS


def _finding(plain: str, statement: _Statement) -> Finding:
    """As it is stored: a claim that is all of it holds a slot; of more, each is a part."""
    span, claims = statement.span, statement.claims
    whole = replace(statement.base, start=span.start, end=span.end, type=statement.type[1], key=None, many_valued=False)
    if not claims or statement.is_order:
        return whole
    (claim, words), *more = claims
    if not more and not _says_more(plain, span, words):
        # Of the claim's own type, whose slot it holds.
        return replace(whole, type=claim.type, key=claim.key, value=claim.value, many_valued=claim.many_valued)
    parts = tuple(
        Part(start=start, end=end, key=one.key or "", value=one.value or "", many_valued=one.many_valued)
        for one, (start, end) in claims
    )
    return replace(whole, value=unkeyed_value(lower(plain[span.start : span.end]), None), parts=parts)


def _unread(plain: str, span: Span, score: SentenceScores, now: datetime) -> Finding:
    """A sentence in which the rules see nothing."""
    low = lower(plain[span.start : span.end])
    when = dates.find(low, now)
    return Finding(
        start=span.start,
        end=span.end,
        decision=_KEPT,
        reason="likely",
        value=unkeyed_value(low, when),
        event_at=when.at if when else None,
        event_precision=when.precision if when else None,
        event_range=when.range if when else None,
        source_strength=0.9,
        extractor_confidence=round(score.keep, 3),
    )


def _telling(finding: Finding) -> tuple[bool, bool, float]:
    return finding.event_at is not None, finding.key is not None, finding.extractor_confidence


def _surest(types: Mapping[str, float]) -> tuple[float, str]:
    return max((chance, name) for name, chance in types.items())


def _value_in(plain: str, finding: Finding) -> Span | None:
    """Where the value stands, its last word; of what is or is not so, what that is said of.  None if nowhere."""
    low = lower(plain[finding.start : finding.end])
    named = (finding.key or "").rpartition(".")[2] if finding.value in _YES_OR_NO else finding.value or ""
    last = named.rpartition("_")[2]
    at = low.find(last) if last else -1
    while at >= 0:
        for plural in ("", "s", "es"):
            end = at + len(last) + len(plural)
            is_word = not low[max(0, at - 1) : at].isalnum() and not low[end : end + 1].isalnum()
            if is_word and low.startswith(plural, at + len(last)):
                return Span(finding.start + at, finding.start + end)
        at = low.find(last, at + 1)
    return None


def _says_more(plain: str, whole: Span, words: Span) -> bool:
    """Whether something of content stands beside the words, a date aside."""
    beside = f"{plain[whole.start : words.start]} {plain[words.end : whole.end]}"
    return bool(signature(dates.without_dates(lower(beside))))
