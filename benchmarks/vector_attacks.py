"""What an attacker with the rotated vectors of a store, and none of its keys, can find out: whose vector is which text.

Pure.  A rotation keeps every inner product.  So texts that the attacker guesses, embedded by the same public model,
show among themselves the very products that the stored vectors show among themselves; one who matches a few
hundred of them undoes the rotation.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Matches = NDArray[np.intp]  # for each stored vector the guess it is, or -1

QUANTILES = 64
WITNESSES = 200  # stored vectors that a guessed pair is tried on
ANCHORS = 12
TRIES = 800
CLOSEST = 0.75  # two texts nearer than this stand at nearly the same products from any third, and show too little


@dataclass(frozen=True, slots=True)
class Case:
    """texts: which text each stored vector is of.  listed: which text each guess is; guesses: their plain vectors."""

    stored: Vectors
    texts: NDArray[np.intp]
    guesses: Vectors
    listed: NDArray[np.intp]

    def identified(self, matches: Matches) -> float:
        """The share of the stored vectors that are matched with the text they are of."""
        return float(np.mean((matches >= 0) & (self.listed[matches] == self.texts)))


def by_signature(case: Case) -> Matches:
    """Nothing known: each vector by the sorted list of its products with all the others."""
    return _nearest(_signature_distance(case.stored, case.guesses))


def by_signature_refined(case: Case, *, rounds: int = 6) -> Matches:
    """As above, then over and over: the rotation that fits the surest matches, and new matches under it."""
    distance = _signature_distance(case.stored, case.guesses)
    for _ in range(rounds):
        best = distance.argmin(axis=1)
        mutual = np.flatnonzero(distance.argmin(axis=0)[best] == np.arange(len(best)))
        first, second = np.partition(distance[mutual], 1, axis=1)[:, :2].T
        kept = mutual[np.argsort(first - second, kind="stable")][: max(30, len(mutual) // 2)]
        distance = 1 - case.stored @ (case.guesses @ fit(case.guesses[best[kept]], case.stored[kept])).T
    return _nearest(distance)


def by_geometry(case: Case, *, tolerance: float, rng: np.random.Generator) -> Matches:
    """Nothing known: two guesses stand for two vectors if, for many a third vector, there is a third guess at the same
    two products from them.  One such pair finds all the others.

    tolerance: how far a product may be off; of what halfvec rounds away, or of noise.
    """
    stored, guessed = case.stored @ case.stored.T, case.guesses @ case.guesses.T
    witnesses = rng.permutation(len(stored))[:WITNESSES]

    def agreeing(pair: tuple[int, int], guess: tuple[int, int]) -> int:
        # One witness could agree with anything when the list is long; many agree with the true pair alone.
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
    """Pairs of vectors and pairs of guesses with the same product, the closest first: those are the rarest."""
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
    """Everything that has the right products with the pair, and then with what was found by it."""
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
    """How far the worst product with the anchors is off, for each vector and each guess."""
    worst = np.zeros((len(stored), len(guessed)), np.float32)
    for one, other in zip(mine, theirs, strict=True):
        np.maximum(worst, np.abs(stored[:, one][:, None] - guessed[:, other][None]), out=worst)
    return worst


def by_known_pairs(case: Case, known: NDArray[np.intp]) -> Matches:
    """A few texts of the store are known: any other guess is confirmed by its products with them.

    known: places among the stored vectors whose texts are on the list.
    """
    place = {text: at for at, text in enumerate(case.listed)}
    theirs = tuple(place[case.texts[at]] for at in known)
    mine, guessed = case.stored @ case.stored[known].T, case.guesses @ case.guesses[list(theirs)].T
    off = np.zeros((len(mine), len(guessed)), np.float32)
    for column in range(len(known)):
        np.maximum(off, np.abs(mine[:, column][:, None] - guessed[:, column][None]), out=off)
    return _nearest(off)


def by_fit(case: Case, rotation: Vectors) -> Matches:
    """The rotation is known, or nearly: each vector is the guess that comes to lie nearest."""
    return _nearest(-case.stored @ (case.guesses @ rotation).T)


def fit(plain: Vectors, rotated: Vectors) -> Vectors:
    """The rotation that best takes the one to the other (orthogonal Procrustes, Schönemann 1966)."""
    left, _, right = np.linalg.svd(plain.T @ rotated)
    return np.asarray(left @ right, np.float32)


def _signature_distance(stored: Vectors, guesses: Vectors) -> Vectors:
    mine, theirs = _signature(stored), _signature(guesses)
    distance: Vectors = (mine**2).sum(1)[:, None] + (theirs**2).sum(1)[None] - 2 * mine @ theirs.T
    return distance


def _nearest(distance: Vectors) -> Matches:
    """For each stored vector the guess at the least distance."""
    matches: Matches = distance.argmin(axis=1)
    return matches


def _signature(vectors: Vectors) -> Vectors:
    """The products of each vector with all the others, sorted and taken at even steps: of one length for any store."""
    products = np.sort(vectors @ vectors.T, axis=1)[:, :-1]  # the last is its product with itself
    at = np.linspace(0, products.shape[1] - 1, QUANTILES)
    low = np.floor(at).astype(int)
    share = (at - low).astype(np.float32)
    high = np.minimum(low + 1, products.shape[1] - 1)
    return np.asarray(products[:, low] * (1 - share) + products[:, high] * share, np.float32)
