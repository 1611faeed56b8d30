"""A classifier that says what a test tells it to, by the words that stand in a sentence."""

from collections.abc import Mapping, Sequence

from apps.adapters.classifiers.base import TYPES, SentenceScores, Span, TurnScores
from apps.adapters.errors import AdapterError


class FakeClassifier:
    """junk, passing, secret: words.  A sentence with one of them is chatter, a passing state, or gives something away;
    any other is worth keeping.  types: by word, "fact" where none stands there."""

    id = "fake-classifier/1"

    def __init__(
        self,
        *,
        junk: Sequence[str] = ("junk",),
        passing: Sequence[str] = ("passing",),
        secret: Sequence[str] = ("sesame",),
        types: Mapping[str, str] | None = None,
    ) -> None:
        self._junk, self._passing, self._secret, self._types = junk, passing, secret, types or {}

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        scores = [self._scores(text[start:end]) for start, end in sentences]
        return TurnScores(
            sentences=scores,
            forbidden=max((one.forbidden for one in scores), default=0.0),
            parts=[self._scores(text[start:end]).types for start, end in parts],
        )

    def _scores(self, said: str) -> SentenceScores:
        junk, passing = _has(said, self._junk), _has(said, self._passing)
        type_ = next((name for word, name in self._types.items() if word in said), "fact")
        return SentenceScores(
            keep=0.02 if junk or passing else 0.96,
            low_signal=0.96 if junk else 0.02,
            transient=0.96 if passing and not junk else 0.02,
            forbidden=0.98 if _has(said, self._secret) else 0.02,
            types={name: 0.9 if name == type_ else 0.1 for name in TYPES},
        )


class FailingClassifier:
    id = "failing-classifier/1"

    def read(self, text: str, sentences: Sequence[Span], parts: Sequence[Span] = ()) -> TurnScores:
        raise AdapterError("The classifier is gone.", permanent=False)


def _has(said: str, words: Sequence[str]) -> bool:
    return any(word in said for word in words)
