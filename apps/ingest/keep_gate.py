"""Keep gate: the classifier decides which of the rules' findings in a turn are kept.

The rules find forbidden content, filler, dates and claims.  The classifier decides which sentences are worth keeping
and of which type, and finds secrets in shapes that no rule knows.  It was trained on English: in another language,
only questions, greetings and the shortest sentences are left to it.
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
from text.extraction import code, language, small_talk
from text.extraction.assertion import asks_in_general, statement_start
from text.extraction.contacts import without_telephone_numbers
from text.extraction.extractor import LONG_TEXT, unkeyed_value
from text.extraction.finding import LIMIT, ORDER, PROPOSED, Decision, Finding
from text.extraction.reasons import Reason
from text.extraction.slots import order_claim
from text.sentences import Span, fold, lower

logger = logging.getLogger(__name__)

POLICY: Final = "discarded_policy"
_KEPT: Final = "keep"
# Refusals of the rules that the classifier does not review.
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
# Opening words of a sentence that depends on the one before it.
_LEANING: Final = patterns.compile(
    r"(?:it|its|it's|they|them|their|they're|he|she|his|her|hers|he's|she's|that|that's|this|those|these|there|there's"
    r"|but|and|so|or|because|cos|which|who|whose|then|also|only|just|still|not|same|both|otherwise|plus|hence"
    r"|although|though|except|unless|until|since|with|without|to|for|by|at|in|on|from)\b",
    patterns.IGNORECASE,
)
_TOGETHER: Final = 320  # most characters of sentences joined into one memory
_FEW_WORDS: Final = 5  # a sentence with fewer is joined to its neighbour
_UNSURE: Final = 0.6  # a sentence whose keep score is lower is joined to its neighbour
_ORDER_FROM: Final = 0.5  # lowest probability of an order
_FOREIGN_ORDER_FROM: Final = 0.9  # the same, and the next, outside English, where the classifier is less sure
_FOREIGN_FORBIDDEN_FROM: Final = 0.98
_FEW_FOREIGN_WORDS: Final = 2
_QUESTION_MARKS: Final = ("?", "？", "؟", ";", "՞")
_BESIDE: Final = 0.25  # factor on the keep threshold once another sentence of the turn is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """keep: lowest score at which a sentence is kept.  forbidden: lowest score at which it is refused for a secret or a
    planted order.  Both 0..1."""

    keep: float
    forbidden: float


def weighed(text: str, findings: Sequence[Finding], *, is_meant: bool) -> list[Finding]:
    """``weigh`` with the configured classifier and thresholds.  Without a classifier, or if it fails, the rules'
    findings are returned unchanged."""
    classifier = get_classifier()
    if classifier is None:
        return list(findings)
    thresholds = Thresholds(keep=settings.GATE_KEEP_FROM, forbidden=settings.GATE_FORBIDDEN_FROM)
    try:
        with without():  # no time limit, as for every guard: it must read the whole text before anything is stored
            return weigh(text, findings, classifier, thresholds, is_meant=is_meant)
    except AdapterError as error:
        logger.warning("the classifier failed; what the rules say stands", extra={"error": type(error).__name__})
        return list(findings)


def weigh(
    text: str, findings: Sequence[Finding], classifier: Classifier, thresholds: Thresholds, *, is_meant: bool
) -> list[Finding]:
    """Filter the findings of ``read_turn`` in a user's turn; in the order of the text, never empty.

    is_meant: the caller asked to remember this.  Then the classifier only sets the type and ``worth``, and only the
    rules refuse secrets: a user may store where the spare key is.
    A text above LONG_TEXT is returned as the rules read it.  Raises AdapterError.
    """
    plain = fold(text)
    asked = [finding for finding in findings if finding.reason not in _FIRM]
    if len(plain) > LONG_TEXT or not asked:
        return list(findings)
    spans = [_weighed(plain, finding) for finding in asked]
    scores = classifier.read(text, spans)
    low = lower(plain)
    is_foreign = language.is_foreign(low) and not code.has_code(plain)
    order_from = _FOREIGN_ORDER_FROM if is_foreign else _ORDER_FROM
    if is_meant:
        typed = (_typed(plain, one, score, order_from) for one, score in zip(asked, scores.sentences, strict=True))
        return [replace(one, worth=score.keep) for one, score in zip(typed, scores.sentences, strict=True)]
    forbidden_from = max(thresholds.forbidden, _FOREIGN_FORBIDDEN_FROM) if is_foreign else thresholds.forbidden
    bad = _forbidden(asked, scores, forbidden_from)
    if bad and (masked := without_telephone_numbers(text)) != text:
        bad = _forbidden(asked, classifier.read(masked, spans), forbidden_from)
    if any(finding.reason == Reason.TOO_COSTLY for finding in findings) and not bad:
        return list(findings)
    by_finding = {
        id(one): _of_foreign(low[one.start : one.end], score) if is_foreign else score
        for one, score in zip(asked, scores.sentences, strict=True)
    }
    is_worth_it = any(
        by_finding[id(one)].keep >= thresholds.keep and one.decision != POLICY and id(one) not in bad for one in asked
    )
    found: list[Finding] = []
    for finding in findings:
        score = by_finding.get(id(finding))
        if score is None or finding.decision == POLICY:
            found.append(finding)
        elif id(finding) in bad:
            found.append(_refused(finding, POLICY, Reason.SECRET_OR_ORDER, score.forbidden))
        elif score.keep < _least(low[finding.start : finding.end], thresholds.keep, is_worth_it=is_worth_it):
            found.append(_not_kept(finding, score))
        else:
            statement = _as_sure(_typed(plain, finding, score, order_from), score)
            if found and found[-1].decision == _KEPT and _belongs(plain, found[-1], statement):
                found[-1] = _joined(plain, found[-1], statement)
            else:
                found.append(statement)
    return found


def _least(low: str, keep: float, *, is_worth_it: bool) -> float:
    """Lowest score at which this sentence is kept.

    is_worth_it: another one of the turn is kept, and is lost without what it refers to; general questions are not that.
    """
    return keep * _BESIDE if is_worth_it and not asks_in_general(low) else keep


def _of_foreign(low: str, score: SentenceScores) -> SentenceScores:
    """The score of a sentence in another language than English: it is kept if it may be a statement, that is neither a
    question nor a greeting, and more than an interjection."""
    said = low.strip()
    is_long = len(said.split()) > _FEW_FOREIGN_WORDS or small_talk.is_unspaced(said)
    if not is_long or said.endswith(_QUESTION_MARKS) or small_talk.is_courtesy(said):
        return score
    return replace(score, keep=max(score.keep, _UNSURE))


def _weighed(plain: str, finding: Finding) -> Span:
    """The span that is scored: the statement without its introductory word."""
    return Span(statement_start(plain, finding.start, finding.end), finding.end)


def _forbidden(findings: Sequence[Finding], scores: TurnScores, threshold: float) -> set[int]:
    """Ids of the findings above the forbidden threshold; all of them if only the whole turn is."""
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


def _typed(plain: str, finding: Finding, score: SentenceScores, order_from: float) -> Finding:
    """The finding with the classifier's likeliest type.  A single claim, or a language model's proposal, keeps its own.

    If either type is an order, the finding becomes an order and loses its other claims.
    order_from: lowest probability of an order, 0..1.
    """
    if finding.decision != _KEPT:
        return finding
    surest = _surest(score.types, order_from)
    if ORDER not in (finding.type, surest):
        is_told = finding.key is not None or finding.reason == PROPOSED
        return replace(finding, type=finding.type if is_told else surest)
    if finding.type == ORDER:
        return replace(finding, style=score.style)
    claim = None if finding.claims else order_claim(lower(plain), finding.start, finding.end)
    return replace(
        finding,
        type=ORDER,
        key=claim.key if claim else None,
        value=claim.value if claim else None,
        many_valued=False,
        parts=(),
        closes=(),
        style=score.style,
    )


def _as_sure(finding: Finding, score: SentenceScores) -> Finding:
    """Set ``worth`` to the keep score, and also the confidence if the finding has no claims.

    A language model's proposal gets the lower of its own confidence and the keep score.
    """
    keep, sure = round(score.keep, 3), finding.extractor_confidence
    if finding.reason == PROPOSED:
        sure = min(sure, keep)
    elif not finding.claims:
        sure = keep
    return replace(finding, extractor_confidence=sure, worth=keep)


def _surest(types: Mapping[str, float], order_from: float) -> str:
    """The likeliest type; an order only if it is likely enough, because an order may have to wait for review."""
    return max((chance, name) for name, chance in types.items() if name != ORDER or chance >= order_from)[1]


def _belongs(plain: str, first: Finding, second: Finding) -> bool:
    """Whether either of two adjacent findings says little without the other."""
    start, end = first.end, second.start
    if PROPOSED in (first.reason, second.reason):
        return False
    # An order or a limit stays separate, so that it cannot bypass review and no change of a fact ends it.
    types = {first.type, second.type, *(part.type for part in (*first.claims, *second.claims))}
    if types & {ORDER, LIMIT} or second.end - first.start > _TOGETHER or "\n" in plain[start:end]:
        return False
    if min(first.worth, second.worth) < _UNSURE:
        return True
    said, after = plain[first.start : start], plain[end : second.end]
    return _LEANING.match(after) is not None or min(len(said.split()), len(after.split())) < _FEW_WORDS


def _joined(plain: str, first: Finding, second: Finding) -> Finding:
    """The two findings as one, with the attributes of the more informative one."""
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
