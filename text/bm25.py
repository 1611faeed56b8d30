"""Okapi BM25 over terms: k1, b, idf and the score of one text.  Pure functions; ``text.terms`` defines the terms."""

import math
from collections.abc import Mapping, Sequence


def bm25_parameters(average_length: float) -> tuple[float, float]:
    """(k1, b).  Short turns need little length normalisation, long messages the textbook's (measured on both)."""
    return (0.9, 0.4) if average_length < 40 else (1.2, 0.75)


def bm25(
    query_terms: Sequence[str],
    text_terms: Sequence[str],
    *,
    frequencies: Mapping[str, int],
    documents: int,
    average_length: float,
) -> float:
    """Okapi BM25 of one text for a query (Robertson and Zaragoza 2009, with the +1 inside the logarithm, so ≥ 0).

    frequencies: query term to how many of the ``documents`` hold it.  A term repeated in the query counts once.
    """
    counts = dict.fromkeys(query_terms, 0)
    if counts.keys().isdisjoint(text_terms):
        return 0.0
    for term in text_terms:
        if term in counts:
            counts[term] += 1
    weights = {term: idf(frequencies[term], documents) for term in counts}
    return weighted_bm25(weights, counts, len(text_terms), average_length=average_length)


def weighted_bm25(
    weights: Mapping[str, float], counts: Mapping[str, int], length: int, *, average_length: float
) -> float:
    """``bm25`` of one text.  weights: idf of each query term.  counts: of those in the text.  length: in terms."""
    k1, b = bm25_parameters(average_length)
    norm = k1 * (1 - b + b * length / max(average_length, 1e-9))
    score = 0.0
    # In the query's order, so that floating-point sums do not depend on the order of words in a text.
    for term, weight in weights.items():
        tf = counts.get(term, 0)
        if tf:
            score += weight * tf * (k1 + 1) / (tf + norm)
    return score


def idf(frequency: int, documents: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
