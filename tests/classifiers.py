"""Classifiers that go by the words of a sentence: what a test tells them to, and what is plain to anybody."""

import re
from collections.abc import Iterator, Mapping, Sequence

from apps.adapters.classifiers.base import (
    CHANGES,
    RELATIONS,
    TYPES,
    ChangeScores,
    SentenceScores,
    Span,
    TurnScores,
    WordScore,
)  # fmt: skip
from apps.adapters.errors import AdapterError


class FakeClassifier:
    """junk, passing, secret: words.  A sentence with one of them is chatter, a passing state, or gives something away;
    any other is worth keeping.  types: by word, "fact" where none stands there.  style: words of wishes about style;
    doubted: of what may be one.

    changes: by words of a later statement, the words of an earlier one that are over by them, or, with "=" before
    them, that it repeats, or, with "?" before them, that may be over.
    """

    id = "fake-classifier/1"

    def __init__(
        self,
        *,
        junk: Sequence[str] = ("junk",),
        passing: Sequence[str] = ("passing",),
        secret: Sequence[str] = ("sesame",),
        types: Mapping[str, str] | None = None,
        style: Sequence[str] = (),
        doubted: Sequence[str] = (),
        changes: Mapping[str, str] | None = None,
    ) -> None:
        self._junk, self._passing, self._secret, self._types = junk, passing, secret, types or {}
        self._style, self._doubted, self._changes = style, doubted, changes or {}

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        scores = [self._scores(text[start:end]) for start, end in sentences]
        return TurnScores(
            sentences=scores,
            forbidden=max((one.forbidden for one in scores), default=0.0),
            parts=[self._scores(text[start:end]).types for start, end in parts],
        )

    def compare(self, later: str, earlier: Sequence[str]) -> Sequence[ChangeScores]:
        return [self._compared(later, one) for one in earlier]

    def _compared(self, later: str, earlier: str) -> ChangeScores:
        told = next((words for said, words in self._changes.items() if said in later), "")
        relation, words = _TOLD.get(told[:1], "replaces"), told.lstrip("=?")
        at = earlier.find(words) if words else -1
        if at < 0:
            relation, words = "unrelated", ""
        is_doubtful = told.startswith("?") and bool(words)
        chance = 0.36 if is_doubtful else 0.96
        spans = [(start, start + len(word)) for start, word in _words(earlier)]
        relations = {name: chance if name == relation else (1 - chance) / 4 for name in RELATIONS}
        return ChangeScores(
            relations=relations,
            over=0.2 if is_doubtful else sum(relations[name] for name in CHANGES),
            repeated=relations["repeats"],
            words=[WordScore(*one, 0.95 if at < one[1] and one[0] < at + len(words) else 0.05) for one in spans],
        )

    def _scores(self, said: str) -> SentenceScores:
        junk, passing = _has(said, self._junk), _has(said, self._passing)
        type_ = next((name for word, name in self._types.items() if word in said), "fact")
        return SentenceScores(
            keep=0.02 if junk or passing else 0.96,
            low_signal=0.96 if junk else 0.02,
            transient=0.96 if passing and not junk else 0.02,
            forbidden=0.98 if _has(said, self._secret) else 0.02,
            style=0.98 if _has(said, self._style) else 0.4 if _has(said, self._doubted) else 0.02,
            types={name: 0.9 if name == type_ else 0.1 for name in TYPES},
        )


_TOLD = {"=": "repeats", "?": "replaces"}


class PlainClassifier(FakeClassifier):
    """What is plain to anybody, for tests of everything else: a question asks, "I prefer" tells a taste."""

    id = "plain-classifier/1"

    def _scores(self, said: str) -> SentenceScores:
        low = said.lower()
        junk = low.rstrip().endswith("?") or re.search(_JUNK, low) is not None
        passing = re.search(_PASSING, low) is not None
        type_ = next((name for name, cue in _CUES.items() if re.search(cue, low)), "fact")
        return SentenceScores(
            keep=0.02 if junk or passing else 0.96,
            low_signal=0.96 if junk else 0.02,
            transient=0.96 if passing and not junk else 0.02,
            forbidden=0.02,
            style=0.02,
            types={name: 0.9 if name == type_ else 0.1 for name in TYPES},
        )


_JUNK = r"^(?:what|how|why|who|when|where|if|maybe|imagine|write|translate|explain|could you|can you)\b|\bis a star\b"
_PASSING = r"\bright now\b|\bat the moment\b|^i'?m (?:so )?(?:tired|hungry|bored)\b|\btoday\W*$"
_CUES = {
    "instruction": r"^(?:please |from now on,? )*(?:always|never|don't|do not|stop|answer|reply|call"
    " me|use|keep|write|avoid)"
    r"\b|\bplease (?:answer|reply|call|use)\b",
    "task": r"\bremind me\b|^todo\b|\bneed to\b|\bhave to\b",
    "constraint": r"\bmust\b|\bnot allowed\b|\bcan't\b|\bcannot\b|\bforbidden\b|\bat most\b|^no \w+ (?:on|after|in)\b",
    "decision": r"\bdecided\b|\bwe (?:chose|went with)\b",
    "relation": r"\breports? to\b|\bjoined the\b|\bworks? with\b|\bmanage[sd]?\b|\bis my \w+"
    r"|^my (?:manager|boss|sister|brother|wife|husband) is",
    "entity": r"\bshort for\b|\bcode name\b|\bstands for\b",
    "preference": r"\b(?:prefers?|loves?|likes?|hates?|enjoys?|favou?rite|can't stand|fan of)\b",
    "event": r"\byesterday\b|\btomorrow\b|\blast (?:week|month|year|\w+day)\b|\bnext \w+\b|\bused to\b"
    r"|\bno longer\b|\bon \d|\bon \w+day\b|\b(?:broke|bought|sold|visited|met|went)\b",
}


class FailingClassifier:
    id = "failing-classifier/1"

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        raise AdapterError("The classifier is gone.", permanent=False)

    def compare(self, later: str, earlier: Sequence[str]) -> Sequence[ChangeScores]:
        raise AdapterError("The classifier is gone.", permanent=False)


def _words(said: str) -> Iterator[tuple[int, str]]:
    at = 0
    for word in said.split():
        at = said.index(word, at)
        yield at, word
        at += len(word)


def _has(said: str, words: Sequence[str]) -> bool:
    return any(word in said for word in words)
