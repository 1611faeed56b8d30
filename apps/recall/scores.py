"""A hit's score on a scale that callers can compare: 0..1."""

from apps.recall.results import Hit


def score_of(hit: Hit) -> float:
    return hit.relevance or 0.0
