"""Check a language model's proposals for a turn with the rules, before any of them is used.  Pure.

Refuses quotes that are not in the turn, secrets, planted orders and filler.  ``keep_gate`` refuses what is transient or
not worth keeping, as it does without a model.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from apps.adapters.extractors.base import Proposed
from text import patterns
from text.extraction.extractor import read_turn
from text.extraction.finding import ORDER, PROPOSED, Finding
from text.extraction.reasons import Reason

MOST_CONFIDENCE: Final = 0.95  # cap on a model's confidence: the rules' confidence in plain wording
_KEY: Final = patterns.compile(r"[a-z][a-z0-9_]{0,31}(?:\.[a-z0-9_]{1,32}){1,5}")
_KEYED: Final = frozenset({"fact", "preference", "instruction", "constraint", "relation"})
_NOT_SAID: Final = Finding(start=0, end=0, decision="discarded_low_signal", reason=Reason.NOT_SAID)


def findings_of(text: str, proposed: Sequence[Proposed], *, now: datetime) -> list[Finding]:
    """Return a finding, kept or refused, for each distinct proposal, in the order of the text; never empty.

    text: the turn.  now: as for ``read_turn``.
    """
    found: list[Finding] = []
    spans: set[tuple[int, int]] = set()
    for one in proposed:
        finding = _checked(text, one, now=now)
        if (finding.start, finding.end) not in spans or finding.start == finding.end:
            spans.add((finding.start, finding.end))
            found.append(finding)
    if not found:
        return [Finding(start=0, end=len(text), decision="discarded_low_signal", reason=Reason.NOTHING_SAID)]
    return sorted(found, key=lambda finding: (finding.start, finding.end))


def _checked(text: str, one: Proposed, *, now: datetime) -> Finding:
    quote = one.quote.strip()
    start = text.find(quote)
    if start < 0:
        return _NOT_SAID
    read = read_turn(quote, role="user", now=now)
    for finding in read:
        if finding.decision == "discarded_policy":
            return replace(finding, start=start, end=start + len(quote))
    kept = [finding for finding in read if finding.decision == "keep"]
    if not kept:
        return replace(read[0], start=start, end=start + len(quote))
    # Prefer the rules' key, so that the memory gets the same slot as older ones, whichever extractor read those.
    best, is_one = kept[0], len(kept) == 1 and kept[0].key is not None
    # An order stays an order even if the model calls it a fact: it must not bypass review.
    is_order = any(finding.type == ORDER for finding in kept)
    type_ = ORDER if is_order else best.type if is_one else one.type
    parts = () if is_one or is_order else tuple(part.moved(start) for finding in kept for part in finding.claims)
    key, value = (best.key, best.value) if is_one else (None, None) if parts else _named(one)
    return replace(
        best,
        start=start,
        end=start + len(quote),
        reason=PROPOSED,
        type=type_,
        key=key if type_ in _KEYED else None,
        value=value,
        many_valued=best.many_valued and is_one,
        parts=parts,
        closes=() if is_order else tuple(closed for finding in kept for closed in finding.closes),
        event_at=best.event_at or _day(one, now),
        event_precision=best.event_precision or ("day" if one.event_at else None),
        extractor_confidence=min(one.confidence, MOST_CONFIDENCE),
    )


def _named(one: Proposed) -> tuple[str | None, str | None]:
    """The model's own key and value, if the key is well-formed."""
    key = (one.key or "").strip().lower()
    return (key, (one.value or "").strip().lower() or None) if _KEY.fullmatch(key) else (None, None)


def _day(one: Proposed, now: datetime) -> datetime | None:
    return one.event_at.replace(tzinfo=now.tzinfo) if one.event_at else None
