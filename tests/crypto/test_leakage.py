"""The attacks of the leakage report find what is there to be found: a report of weak attacks would be worth nothing."""

import numpy as np
import pytest

from apps.crypto.vectors import Rotation
from benchmarks import vector_attacks, word_attacks
from benchmarks.vector_attacks import Case, Vectors
from benchmarks.word_attacks import Index

DIMENSIONS = 64


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def talk(rng: np.random.Generator, *, memories: int) -> list[dict[str, int]]:
    """Memories of words that keep company: each topic has ten of its own, and the first topics come up more often."""
    topics = rng.zipf(1.3, memories) % 30
    return [{f"{topic}-{word}": 1 for word in rng.zipf(1.5, 6) % 10} for topic in topics]


def blinded(documents: list[dict[str, int]], rng: np.random.Generator) -> tuple[Index, dict[int | str, str]]:
    words = sorted({word for document in documents for word in document})
    token = dict(zip(words, map(int, rng.permutation(10**6)[: len(words)]), strict=True))
    store = Index.of([{token[word]: 1 for word in document} for document in documents], most=1000)
    return store, {number: word for word, number in token.items()}


def test_thief_who_has_the_texts_and_ten_words_finds_most_of_the_others(rng: np.random.Generator) -> None:
    documents = talk(rng, memories=2000)
    store, truth = blinded(documents, rng)
    corpus = Index.of(documents, most=1000)
    known = word_attacks.draw_known(store, corpus, truth, 10, rng)

    found = word_attacks.by_company(store, corpus, known, frequency=1.0)

    assert word_attacks.recovered(found, store, corpus, truth, known, of=100) > 0.8


def test_words_that_stand_beside_no_other_are_found_by_frequency_alone(rng: np.random.Generator) -> None:
    documents = [{name: 1} for name, times in (("often", 9), ("sometimes", 4), ("once", 1)) for _ in range(times)]
    store, truth = blinded(documents, rng)
    corpus = Index.of(documents, most=10)

    found = word_attacks.by_frequency(store, corpus)

    assert word_attacks.recovered(found, store, corpus, truth, {}, of=100) == 1.0


def test_known_words_do_not_count_as_found(rng: np.random.Generator) -> None:
    documents = [{"known": 1}, {"known": 1, "other": 1}]
    store, truth = blinded(documents, rng)
    corpus = Index.of([{"known": 1}], most=10)

    assert word_attacks.recovered({0: 0}, store, corpus, truth, {0: 0}, of=100) == 0.0


def store_of(rng: np.random.Generator, *, size: int, listed: int, noise: float = 0.0) -> Case:
    """size vectors, listed of them among the guesses, and as many guesses that are not stored."""
    plain = rng.standard_normal((size + listed, DIMENSIONS)).astype(np.float32)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    rotated = Rotation.from_key(rng.bytes(32), DIMENSIONS).apply(plain[:size])
    rotated += noise * rng.standard_normal(rotated.shape).astype(np.float32) / np.float32(DIMENSIONS**0.5)
    guesses = rng.permutation(np.concatenate([np.arange(listed), np.arange(size, size + listed)]))
    stored: Vectors = rotated.astype(np.float16).astype(np.float32)
    return Case(stored, np.arange(size), plain[guesses], guesses)


def test_guesses_find_their_vectors_by_nothing_but_distances(rng: np.random.Generator) -> None:
    case = store_of(rng, size=200, listed=100)

    matches = vector_attacks.by_geometry(case, tolerance=1e-3, rng=rng)

    assert case.identified(matches) == pytest.approx(0.5, abs=0.02)


def test_distances_tell_nothing_about_another_store(rng: np.random.Generator) -> None:
    case, other = store_of(rng, size=200, listed=100), store_of(rng, size=200, listed=100)
    foreign = Case(other.stored, case.texts, case.guesses, case.listed)

    assert foreign.identified(vector_attacks.by_geometry(foreign, tolerance=1e-3, rng=rng)) < 0.02


def test_two_known_pairs_confirm_all_other_guesses(rng: np.random.Generator) -> None:
    case = store_of(rng, size=100, listed=100)

    assert case.identified(vector_attacks.by_known_pairs(case, np.arange(2))) > 0.95


def test_rotation_is_undone_by_as_many_pairs_as_it_has_dimensions(rng: np.random.Generator) -> None:
    case = store_of(rng, size=200, listed=200)
    plain = case.guesses[[list(case.listed).index(text) for text in range(DIMENSIONS)]]

    rotation = vector_attacks.fit(plain, case.stored[:DIMENSIONS])

    assert case.identified(vector_attacks.by_fit(case, rotation)) == 1.0
