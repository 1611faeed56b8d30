"""Attacks on the keyed terms of a store without its keys: which token is which word.  Pure functions.

The attacker knows the program, and builds an unkeyed index from a corpus of similar plain texts.  Then they match
tokens to words by frequency and co-occurrence.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

TOKENS, WORDS = 1000, 1500  # commonest tokens of the store to attack; commonest words of the corpus to try
STEP = 25  # guesses accepted per round; more once more is known
_LEAST = 1e-12

Document = Mapping[int, int] | Mapping[str, int]
Pairs = Mapping[int, int]  # index of a token -> index of a word


@dataclass(frozen=True, slots=True)
class Index:
    """names: tokens or words, commonest first.  together: share of documents with both, a square matrix."""

    names: Sequence[int | str]
    together: NDArray[np.float32]

    @classmethod
    def of(cls, documents: Sequence[Document], *, most: int) -> Self:
        frequencies = Counter(name for document in documents for name in document)
        # Break ties by name: tokens are random, so the order of words is not revealed.
        names = sorted(frequencies, key=lambda name: (-frequencies[name], str(name)))[:most]
        place = {name: at for at, name in enumerate(names)}
        holds = np.zeros((len(names), len(documents)), np.float32)
        for column, document in enumerate(documents):
            holds[[place[name] for name in document if name in place], column] = 1
        together: NDArray[np.float32] = holds @ holds.T / np.float32(max(1, len(documents)))
        return cls(names, together)


def by_frequency(store: Index, corpus: Index) -> dict[int, int]:
    """Nothing known: the commonest token is the commonest word, and so on."""
    return {place: place for place in range(min(len(store.names), len(corpus.names)))}


def by_company(store: Index, corpus: Index, known: Pairs, *, frequency: float) -> dict[int, int]:
    """Refined score attack: Damie, Hahn and Peter 2021, section 5.

    A word is guessed by its co-occurrence with each known word; the most certain guesses then count as known, and so
    on.
    frequency: weight of a word's own frequency relative to one known word; 0 in the paper.
    """
    alone = np.diag(store.together)[:, None] - np.diag(corpus.together)[None]
    distance = (frequency * alone**2).astype(np.float32)
    found = dict(known)
    _learn(distance, store, corpus, known)
    tokens = np.ones(len(store.names), bool)
    words = np.ones(len(corpus.names), bool)
    tokens[list(known)], words[list(known.values())] = False, False
    while tokens.any() and words.sum() > 1:
        sure = _surest(distance, np.flatnonzero(tokens), np.flatnonzero(words), most=max(STEP, len(found) // 2))
        found |= sure
        tokens[list(sure)], words[list(sure.values())] = False, False
        _learn(distance, store, corpus, sure)
    return found


def _learn(distance: NDArray[np.float32], store: Index, corpus: Index, pairs: Pairs) -> None:
    if pairs:
        near, far = store.together[:, list(pairs)], corpus.together[:, list(pairs.values())]
        distance += (near**2).sum(1)[:, None] + (far**2).sum(1)[None] - 2 * near @ far.T


def _surest(
    distance: NDArray[np.float32], tokens: NDArray[np.intp], words: NDArray[np.intp], *, most: int
) -> dict[int, int]:
    """The guesses with the widest margin, each word at most once."""
    near = distance[np.ix_(tokens, words)]
    best = near.argmin(axis=1)
    first, second = np.maximum(np.partition(near, 1, axis=1)[:, :2], _LEAST).T
    sure: dict[int, int] = {}
    taken: set[int] = set()
    # The paper's scores are logarithms, so their margin is a ratio here.
    for at in np.argsort(first / second, kind="stable"):
        if best[at] not in taken:
            taken.add(int(best[at]))
            sure[int(tokens[at])] = int(words[best[at]])
        if len(sure) == most:
            break
    return sure


def draw_known(
    store: Index, corpus: Index, truth: Mapping[int | str, str], count: int, rng: np.random.Generator
) -> dict[int, int]:
    """Words whose tokens the attacker knows, among the 200 commonest, which help most."""
    place = {name: at for at, name in enumerate(corpus.names)}
    possible = [at for at, token in enumerate(store.names[:200]) if truth[token] in place]
    drawn = rng.choice(possible, min(count, len(possible)), replace=False)
    return {int(at): place[truth[store.names[at]]] for at in drawn}


def recovered(
    found: Pairs, store: Index, corpus: Index, truth: Mapping[int | str, str], known: Pairs, *, of: int
) -> float:
    """The share of the store's commonest tokens whose word was found, excluding those that were known."""
    asked = [at for at in range(min(of, len(store.names))) if at not in known]
    right = sum(at in found and corpus.names[found[at]] == truth[store.names[at]] for at in asked)
    return right / max(1, len(asked))
