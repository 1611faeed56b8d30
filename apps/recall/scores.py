"""A hit's score on a scale that questions share, 0..1, for callers that compare it with a threshold."""

from typing import Final

from apps.recall.results import Hit

_HALF: Final = 4.0  # BM25 of words that count as half of a certain match


def score_of(hit: Hit) -> float:
    """Its relevance, a calibrated probability.  Without one, a mere measure: of how near it is in meaning, and of its
    words; 0 if only a relation led to it."""
    if hit.relevance is not None:
        return hit.relevance
    legs = hit.explanation.legs
    near = min(max(legs.get("dense", {}).get("score", 0.0), 0.0), 1.0)
    words = max(legs.get("lexical", {}).get("score", 0.0), 0.0)
    return 1 - (1 - near) * (1 - words / (words + _HALF))
