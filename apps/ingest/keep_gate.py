"""What a turn's sentences are worth, as the classifier says; what the rules found in them stands on that.

The rules say what may never be stored, what is filler, when something is, and which claims stand where.  The classifier
says which sentences are worth keeping, of which type, and which give a secret away in a shape that no rule knows.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings

from apps.adapters.classifiers.base import Classifier, SentenceScores, TurnScores
from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_classifier
from text import patterns
from text.budget import without
from text.extraction.assertion import statement_start
from text.extraction.extractor import LONG_TEXT, unkeyed_value
from text.extraction.finding import LIMIT, ORDER, PROPOSED, Decision, Finding
from text.extraction.reasons import Reason
from text.extraction.slots import order_claim
from text.sentences import Span, fold, lower

logger = logging.getLogger(__name__)

POLICY: Final = "discarded_policy"
_KEPT: Final = "keep"
# What the rules are surer of than any model.
_FIRM: Final = frozenset(
    {
        Reason.FILLER,
        Reason.TOO_SHORT,
        Reason.CODE_ONLY,
        Reason.NOT_USER_TURN,
        Reason.ABOUT_THE_TALK,
        Reason.NOTHING_SAID,
        Reason.NOT_SAID,
    }
)
# What opens a sentence that leans on the one before it.
_LEANING: Final = patterns.compile(
    r"(?:it|its|it's|they|them|their|they're|he|she|his|her|hers|he's|she's|that|that's|this|those|these|there|there's"
    r"|but|and|so|or|because|cos|which|who|whose|then|also|only|just|still|not|same|both|otherwise|plus|hence"
    r"|although|though|except|unless|until|since|with|without|to|for|by|at|in|on|from)\b",
    patterns.IGNORECASE,
)
_TOGETHER: Final = 320  # characters of sentences that are kept as one, at most
_FEW_WORDS: Final = 5  # fewer say little by themselves
_UNSURE: Final = 0.6  # less likely worth keeping than that, a sentence is no memory of its own beside another
_BESIDE: Final = 0.25  # of the likelihood from which on a sentence is kept, where another one of its turn is


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """keep: how likely a sentence must be worth keeping.  forbidden: how surely it must give something away, or plant
    an order, to be refused for it.  Both 0..1."""

    keep: float
    forbidden: float


def weighed(text: str, findings: Sequence[Finding], *, is_meant: bool) -> list[Finding]:
    """As ``weigh``, by the settings' classifier and thresholds.  Where there is none, or it fails, all is kept that the
    rules do not refuse."""
    classifier = get_classifier()
    if classifier is None:
        return list(findings)
    thresholds = Thresholds(keep=settings.GATE_KEEP_FROM, forbidden=settings.GATE_FORBIDDEN_FROM)
    try:
        with without():  # as with every guard: it has read the text before anything of it is kept
            return weigh(text, findings, classifier, thresholds, is_meant=is_meant)
    except AdapterError as error:
        logger.warning("the classifier failed; what the rules say stands", extra={"error": type(error).__name__})
        return list(findings)


def weigh(
    text: str, findings: Sequence[Finding], classifier: Classifier, thresholds: Thresholds, *, is_meant: bool
) -> list[Finding]:
    """The findings of ``read_turn`` in a user's turn, weighed; in the order of the text, never empty.

    is_meant: the caller asked for this to be remembered: then only its type is asked about, since the guards of the
    rules know secrets for certain; that the spare key lies under the flower pot is theirs to have remembered.
    A document is as the rules read it.  Raises AdapterError.
    """
    plain = fold(text)
    asked = [finding for finding in findings if finding.reason not in _FIRM]
    if len(plain) > LONG_TEXT or not asked:
        return list(findings)
    scores = classifier.read(text, [_weighed(plain, finding) for finding in asked])
    if is_meant:
        typed = (_typed(plain, one, score) for one, score in zip(asked, scores.sentences, strict=True))
        return [replace(one, worth=score.keep) for one, score in zip(typed, scores.sentences, strict=True)]
    bad = _forbidden(asked, scores, thresholds.forbidden)
    if any(finding.reason == Reason.TOO_COSTLY for finding in findings) and not bad:
        return list(findings)
    by_finding = dict(zip(map(id, asked), scores.sentences, strict=True))
    is_worth_it = any(
        score.keep >= thresholds.keep and finding.decision != POLICY and id(finding) not in bad
        for finding, score in zip(asked, scores.sentences, strict=True)
    )
    threshold = thresholds.keep * (_BESIDE if is_worth_it else 1)
    found: list[Finding] = []
    for finding in findings:
        score = by_finding.get(id(finding))
        if score is None or finding.decision == POLICY:
            found.append(finding)
        elif id(finding) in bad:
            found.append(_refused(finding, POLICY, Reason.SECRET_OR_ORDER, score.forbidden))
        elif score.keep < threshold:
            found.append(_not_kept(finding, score))
        else:
            statement = _as_sure(_typed(plain, finding, score), score)
            if found and found[-1].decision == _KEPT and _belongs(plain, found[-1], statement):
                found[-1] = _joined(plain, found[-1], statement)
            else:
                found.append(statement)
    return found


def _weighed(plain: str, finding: Finding) -> Span:
    """What of a statement is weighed: without the word that announces it."""
    return Span(statement_start(plain, finding.start, finding.end), finding.end)


def _forbidden(findings: Sequence[Finding], scores: TurnScores, threshold: float) -> set[int]:
    """Those that give something away; all of them where only the turn as a whole does."""
    bad = {id(one) for one, score in zip(findings, scores.sentences, strict=True) if score.forbidden >= threshold}
    known = any(finding.decision == POLICY for finding in findings)
    if not bad and not known and scores.forbidden >= threshold:
        return set(map(id, findings))
    return bad


def _not_kept(finding: Finding, score: SentenceScores) -> Finding:
    if score.transient > score.low_signal:
        return _refused(finding, "discarded_transient", Reason.TRANSIENT, score.transient)
    return _refused(finding, "discarded_low_signal", Reason.UNLIKELY, score.low_signal)


def _refused(finding: Finding, decision: Decision, reason: str, confidence: float) -> Finding:
    return Finding(
        start=finding.start,
        end=finding.end,
        decision=decision,
        reason=reason,
        source_strength=0.3,
        extractor_confidence=round(confidence, 3),
    )


def _typed(plain: str, finding: Finding, score: SentenceScores) -> Finding:
    """Of the type that is likeliest; where it is one claim and nothing else, of the claim's, and where a language model
    proposed it, as that says.  An order if any of these says so: it claims nothing but how to answer."""
    if finding.decision != _KEPT:
        return finding
    surest = _surest(score.types)
    if ORDER not in (finding.type, surest):
        is_told = finding.key is not None or finding.reason == PROPOSED
        return replace(finding, type=finding.type if is_told else surest)
    if finding.type == ORDER:
        return finding
    claim = None if finding.claims else order_claim(lower(plain), finding.start, finding.end)
    return replace(
        finding,
        type=ORDER,
        key=claim.key if claim else None,
        value=claim.value if claim else None,
        many_valued=False,
        parts=(),
        closes=(),
    )


def _as_sure(finding: Finding, score: SentenceScores) -> Finding:
    """As sure as the classifier is that it is worth keeping, unless it claims something; a language model's proposal no
    surer than the model."""
    keep, sure = round(score.keep, 3), finding.extractor_confidence
    if finding.reason == PROPOSED:
        sure = min(sure, keep)
    elif not finding.claims:
        sure = keep
    return replace(finding, extractor_confidence=sure, worth=keep)


def _surest(types: Mapping[str, float]) -> str:
    return max((chance, name) for name, chance in types.items())[1]


def _belongs(plain: str, first: Finding, second: Finding) -> bool:
    """Whether the second says little without the first, or the first without it."""
    start, end = first.end, second.start
    if PROPOSED in (first.reason, second.reason):
        return False
    # An order or a limit stands by itself, so that nothing hides it from review, and no change of a fact ends it.
    types = {first.type, second.type, *(part.type for part in (*first.claims, *second.claims))}
    if types & {ORDER, LIMIT} or second.end - first.start > _TOGETHER or "\n" in plain[start:end]:
        return False
    if min(first.worth, second.worth) < _UNSURE:
        return True
    said, after = plain[first.start : start], plain[end : second.end]
    return _LEANING.match(after) is not None or min(len(said.split()), len(after.split())) < _FEW_WORDS


def _joined(plain: str, first: Finding, second: Finding) -> Finding:
    """The two as one statement, with the attributes of the more informative one."""
    base = max(first, second, key=_information)
    return replace(
        base,
        start=first.start,
        end=second.end,
        key=None,
        value=unkeyed_value(lower(plain[first.start : second.end]), None),
        many_valued=False,
        parts=(*first.claims, *second.claims),
        closes=(*first.closes, *second.closes),
        worth=max(first.worth, second.worth),
        redacted=first.redacted or second.redacted,
    )


def _information(finding: Finding) -> tuple[bool, bool, float]:
    return finding.event_at is not None, bool(finding.claims), finding.extractor_confidence
