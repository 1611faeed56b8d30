"""Attacks on rotated vectors without their keys: which stored vector belongs to which text.

Pure functions.  A rotation preserves inner products.  So texts that the attacker guesses, embedded with the same public
model, have the same products among themselves as the stored vectors; matching a few hundred of them yields the
rotation.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Matches = NDArray[np.intp]  # for each stored vector its guess, or -1

QUANTILES = 64
WITNESSES = 200  # stored vectors used to test a guessed pair
ANCHORS = 12
TRIES = 800
ROUNDS = 6
CLOSEST = 0.75  # cosine above which two texts have nearly the same products with any third, and so reveal too little


@dataclass(frozen=True, slots=True)
class Case:
    """texts: the text of each stored vector.  listed: the text of each guess; guesses: their plain vectors."""

    stored: Vectors
    texts: NDArray[np.intp]
    guesses: Vectors
    listed: NDArray[np.intp]

    def identified(self, matches: Matches) -> float:
        """The share of stored vectors that are matched with their text."""
        return float(np.mean((matches >= 0) & (self.listed[matches] == self.texts)))


def by_signature(case: Case) -> Matches:
    """No known pairs: match each vector by the sorted list of its products with all others."""
    return _nearest(_signature_distance(case.stored, case.guesses))


def by_signature_refined(case: Case) -> Matches:
    """As above, then repeatedly: fit the rotation to the surest matches, and match again with it."""
    distance = _signature_distance(case.stored, case.guesses)
    for _ in range(ROUNDS):
        best = distance.argmin(axis=1)
        mutual = np.flatnonzero(distance.argmin(axis=0)[best] == np.arange(len(best)))
        first, second = np.partition(distance[mutual], 1, axis=1)[:, :2].T
        kept = mutual[np.argsort(first - second, kind="stable")][: max(30, len(mutual) // 2)]
        distance = 1 - case.stored @ (case.guesses @ fit(case.guesses[best[kept]], case.stored[kept])).T
    return _nearest(distance)


def by_geometry(case: Case, *, tolerance: float, rng: np.random.Generator) -> Matches:
    """No known pairs: find one pair of vectors and guesses with consistent geometry, then extend it to all others.

    Two guesses match two vectors if, for many a third vector, a third guess has the same products with them.
    tolerance: possible error of a product, from halfvec rounding or noise.
    """
    stored, guessed = case.stored @ case.stored.T, case.guesses @ case.guesses.T
    witnesses = rng.permutation(len(stored))[:WITNESSES]

    def agreeing(pair: tuple[int, int], guess: tuple[int, int]) -> int:
        # With a long list one witness can agree by chance; many agree only with the true pair.
        agrees = np.ones((len(witnesses), len(guessed)), bool)
        for mine, theirs in zip(pair, guess, strict=True):
            agrees &= np.abs(stored[mine, witnesses][:, None] - guessed[theirs][None]) < tolerance
        return int(agrees.any(axis=1).sum())

    def by_chance() -> int:
        mine, theirs = rng.choice(len(stored), 2, replace=False), rng.choice(len(guessed), 2, replace=False)
        return agreeing((int(mine[0]), int(mine[1])), (int(theirs[0]), int(theirs[1])))

    enough = 6 + 2 * max(by_chance() for _ in range(20))
    best = np.full(len(stored), -1)
    for pair, guess in _equal_products(stored, guessed, tolerance):
        if agreeing(pair, guess) > enough:
            matches = _grow(stored, guessed, pair, guess, witnesses, tolerance)
            best = max(best, matches, key=lambda found: int((found >= 0).sum()))
            if (best >= 0).sum() > len(stored) / 20:
                break
    return best


def _equal_products(
    stored: Vectors, guessed: Vectors, tolerance: float
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of vectors and pairs of guesses with equal products, largest first: those are the rarest."""
    mine, theirs = np.triu_indices(len(stored), 1), np.triu_indices(len(guessed), 1)
    products, others = stored[mine], guessed[theirs]
    order = np.argsort(others)
    ranked = others[order]
    tries = 0
    for at in np.argsort(-products):
        if products[at] > CLOSEST:
            continue
        low, high = np.searchsorted(ranked, [products[at] - tolerance, products[at] + tolerance])
        for other in order[low:high]:
            pair = int(mine[0][at]), int(mine[1][at])
            guess = int(theirs[0][other]), int(theirs[1][other])
            yield pair, guess
            yield pair, guess[::-1]
            tries += 2
        if tries > TRIES:
            return


def _grow(
    stored: Vectors,
    guessed: Vectors,
    pair: tuple[int, int],
    guess: tuple[int, int],
    witnesses: NDArray[np.intp],
    tolerance: float,
) -> Matches:
    """Match everything that has the right products with the pair, and then with what was found."""
    first = _off_by(stored[:, witnesses].T, guessed, pair, guess)
    best = first.argmin(axis=1)
    near = np.flatnonzero((first.min(axis=1) < tolerance) & (first.argmin(axis=0)[best] == np.arange(len(best))))[
        :ANCHORS
    ]
    off = _off_by(stored, guessed, tuple(witnesses[near]), tuple(best[near]))
    matches = off.argmin(axis=1)
    certain = (off.min(axis=1) < 2 * tolerance) & (off.argmin(axis=0)[matches] == np.arange(len(matches)))
    return np.where(certain, matches, -1)


def _off_by(stored: Vectors, guessed: Vectors, mine: tuple[int, ...], theirs: tuple[int, ...]) -> Vectors:
    """The largest error of a product with the anchors, for each vector and each guess."""
    worst = np.zeros((len(stored), len(guessed)), np.float32)
    for one, other in zip(mine, theirs, strict=True):
        np.maximum(worst, np.abs(stored[:, one][:, None] - guessed[:, other][None]), out=worst)
    return worst


def by_known_pairs(case: Case, known: NDArray[np.intp]) -> Matches:
    """Some stored texts are known: confirm any other guess by its products with them.

    known: indexes of stored vectors whose texts are on the list.
    """
    place = {text: at for at, text in enumerate(case.listed)}
    theirs = tuple(place[case.texts[at]] for at in known)
    mine, guessed = case.stored @ case.stored[known].T, case.guesses @ case.guesses[list(theirs)].T
    off = np.zeros((len(mine), len(guessed)), np.float32)
    for column in range(len(known)):
        np.maximum(off, np.abs(mine[:, column][:, None] - guessed[:, column][None]), out=off)
    return _nearest(off)


def by_fit(case: Case, rotation: Vectors) -> Matches:
    """The rotation is known, at least approximately: match each vector with the nearest rotated guess."""
    return _nearest(-case.stored @ (case.guesses @ rotation).T)


def fit(plain: Vectors, rotated: Vectors) -> Vectors:
    """The rotation that best maps one set to the other (orthogonal Procrustes, Schönemann 1966)."""
    left, _, right = np.linalg.svd(plain.T @ rotated)
    return np.asarray(left @ right, np.float32)


def _signature_distance(stored: Vectors, guesses: Vectors) -> Vectors:
    mine, theirs = _signature(stored), _signature(guesses)
    distance: Vectors = (mine**2).sum(1)[:, None] + (theirs**2).sum(1)[None] - 2 * mine @ theirs.T
    return distance


def _nearest(distance: Vectors) -> Matches:
    """For each stored vector the nearest guess."""
    matches: Matches = distance.argmin(axis=1)
    return matches


def _signature(vectors: Vectors) -> Vectors:
    """Products of each vector with all others, sorted and sampled at even steps, so that the length is fixed."""
    products = np.sort(vectors @ vectors.T, axis=1)[:, :-1]  # the last is its product with itself
    at = np.linspace(0, products.shape[1] - 1, QUANTILES)
    low = np.floor(at).astype(int)
    share = (at - low).astype(np.float32)
    high = np.minimum(low + 1, products.shape[1] - 1)
    return np.asarray(products[:, low] * (1 - share) + products[:, high] * share, np.float32)
