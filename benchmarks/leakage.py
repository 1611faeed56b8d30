"""What a stolen database reveals: attacks on the keyed terms, rotated vectors and sizes of a labelled set.

Terms, tokens, rotations and sizes come from the product's own code, under keys of newly created spaces.  The service's
tables are read to confirm that it stores the same.  All random draws are seeded: only the keys differ between runs.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from apps.adapters.embedders.base import Embedder
from apps.adapters.instances import get_embedder
from apps.crypto.envelope import padded_size
from apps.crypto.services import SpaceCipher, open_space
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Scope
from benchmarks import vector_attacks, word_attacks
from benchmarks.recall import Haystack, read
from benchmarks.stored import Look, look
from benchmarks.vector_attacks import Case, Vectors
from benchmarks.word_attacks import TOKENS, WORDS, Document, Index
from text import terms

CACHE = Path(__file__).parent / "results"  # git-ignored
SEED = 20_261_121
TEXTS = 6_000  # sentences from which stores and guesses are drawn
STORES, COVERAGES, PAIRS = (300, 1_000, 3_000), (0.3, 0.5, 0.9), (100, 200, 400)
SIGNS_TOLERANCE = 0.1  # approximate error of products of sign vectors
HALFVEC_TOLERANCE = 3e-4  # products of halfvecs are off by 1e-5 on average, by 5e-5 one time in a thousand
NOISE = 0.5  # length of the noise relative to the unit vector
SHORTLIST, ROWS, ASKED = 128, 1_000, 200  # vectors decrypted and ranked exactly; rows; queries

Figures = dict[str, Any]
Protection = Callable[[Vectors, np.random.Generator], Vectors]


@dataclass(slots=True)
class Report:
    """Rows of figures by topic; shares in 0..1."""

    files: list[Figures] = field(default_factory=list)
    words: list[Figures] = field(default_factory=list)
    vectors: list[Figures] = field(default_factory=list)
    pairs: list[Figures] = field(default_factory=list)
    forms: list[Figures] = field(default_factory=list)
    sizes: list[Figures] = field(default_factory=list)
    stored: list[Look] = field(default_factory=list)


def run(paths: Sequence[Path], scope: Scope, *, now: datetime) -> Report:
    """Run all attacks.  scope: of a tenant, without spaces; stores are created in it."""
    report = Report()
    sentences: dict[str, None] = {}
    for path in paths:
        haystacks = read(path)
        report.files.append({"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
        spaces = _Spaces(scope, path.stem, now)
        report.words += [{"file": path.name} | row for row in _attack_words(haystacks, spaces)]
        report.sizes += [{"file": path.name} | row for row in _sizes(haystacks)]
        report.stored += look(haystacks[0], scope, now=now)
        sentences |= dict.fromkeys(_sentences(haystacks))
    embedder = get_embedder()
    vectors = _embedded(_drawn(list(sentences), TEXTS), embedder)
    spaces = _Spaces(scope, "vectors", now)
    report.vectors = list(_attack_vectors(vectors, spaces))
    report.pairs = list(_attack_with_pairs(vectors, spaces))
    report.forms = list(_compare_forms(vectors, spaces))
    return report


class _Spaces:
    """Creates ciphers of fresh spaces."""

    def __init__(self, scope: Scope, name: str, now: datetime) -> None:
        self._scope, self._name, self._now, self._made = scope, name, now, 0

    def another(self) -> SpaceCipher:
        self._made += 1
        name = f"leakage/{self._name}/{self._made}/{self._now.timestamp()}"
        return open_space(self._scope.tenant, get_or_create_end_user(self._scope, name, now=self._now))


# -- words -------------------------------------------------------------------------------------------------------------

Texts = list[str]


def _attack_words(haystacks: Sequence[Haystack], spaces: _Spaces) -> Iterator[Figures]:
    people = [[item["text"] for item in haystack.items] for haystack in haystacks]
    rng = np.random.default_rng(SEED)
    halves = [_halves(texts, rng) for texts in people]
    own = [_others(people, at) for at in range(len(people))]
    stores: dict[str, dict[str, list[tuple[Texts, Texts]]]] = {
        "one for each space": {
            "other half of the same people's": halves,
            "other people's": list(zip(people, own, strict=True)),
        },
        "one for all": {
            "other half of the same people's": [(_joined(mine for mine, _ in halves), _joined(b for _, b in halves))],
            "other people's": [(_joined(people[::2]), _joined(people[1::2]))],
        },
    }
    for key, corpora in stores.items():
        for corpus, pairs in corpora.items():
            for vocabulary, counts in (("without stop words", (0, 10, 50)), ("all words", (10,))):
                with _stop_words(terms.STOP_WORDS if vocabulary == "without stop words" else frozenset()):
                    figures = _mean_recovered(pairs, spaces, counts)
                yield from ({"key": key, "attacker has": corpus, "index": vocabulary} | row for row in figures)
    for remedy, index in _word_remedies(people):
        figures = _mean_recovered(halves, spaces, (10,), index=index)
        about = {"key": "one for each space", "attacker has": "other half of the same people's", "index": remedy}
        yield from (about | row for row in figures)


Indexer = Callable[[str, np.random.Generator], dict[str, int]]


def _as_shipped(text: str, _: np.random.Generator) -> dict[str, int]:
    return terms.indexed(terms.terms(text))


def _word_remedies(people: Sequence[Texts]) -> Iterator[tuple[str, Indexer]]:
    """Countermeasures that the product does not use, for comparison: fewer terms, and dummy terms."""
    common = Counter(term for texts in people for text in texts for term in set(terms.terms(text)))
    ranked = sorted(common, key=lambda term: (-common[term], term))

    def without(dropped: frozenset[str]) -> Indexer:
        return lambda text, _: {
            term: tf for term, tf in terms.indexed(terms.terms(text)).items() if term not in dropped
        }

    def with_dummies(count: int) -> Indexer:
        def index(text: str, rng: np.random.Generator) -> dict[str, int]:
            drawn = rng.choice(ranked[:TOKENS], count, replace=False)
            return _as_shipped(text, rng) | dict.fromkeys(map(str, drawn), 1)

        return index

    for count in (100, 400):
        yield f"without the {count} next commonest", without(frozenset(ranked[:count]))
    yield "with 10 false words in each memory", with_dummies(10)


def _mean_recovered(
    pairs: Sequence[tuple[Texts, Texts]], spaces: _Spaces, counts: Sequence[int], *, index: Indexer = _as_shipped
) -> list[Figures]:
    """Mean over the stores, and over several draws of the known terms if there are few stores."""
    draws = math.ceil(4 / len(pairs))
    totals: dict[int, list[tuple[float, float]]] = {count: [] for count in counts}
    for number, (mine, others) in enumerate(pairs):
        rng = np.random.default_rng([SEED, number])
        store, truth = _blinded([index(text, rng) for text in mine], spaces.another())
        corpus = Index.of([_as_shipped(text, rng) for text in others], most=WORDS)
        for count in counts:
            for _ in range(draws if count else 1):
                known = word_attacks.draw_known(store, corpus, truth, count, rng) if count else {}
                totals[count].append(_best(store, corpus, truth, known))
    return [
        {"known": count, "top 100": _mean(one for one, _ in found), "top 1000": _mean(one for _, one in found)}
        for count, found in totals.items()
    ]


def _best(store: Index, corpus: Index, truth: dict[int | str, str], known: dict[int, int]) -> tuple[float, float]:
    """The best result of any attack."""
    if known:
        attempts = [word_attacks.by_company(store, corpus, known, frequency=weight) for weight in (0.0, 1.0)]
    else:
        attempts = [word_attacks.by_frequency(store, corpus)]
    first, second = (
        max(word_attacks.recovered(found, store, corpus, truth, known, of=of) for found in attempts)
        for of in (100, TOKENS)
    )
    return first, second


def _blinded(documents: Sequence[dict[str, int]], cipher: SpaceCipher) -> tuple[Index, dict[int | str, str]]:
    """The index as stored, and the word of each token, used only to score the attacks."""
    terms = sorted({term for document in documents for term in document})
    token_of = dict(zip(terms, cipher.term_tokens(terms), strict=True))
    blind: list[Document] = [{token_of[term]: tf for term, tf in document.items()} for document in documents]
    return Index.of(blind, most=TOKENS), {token: term for term, token in token_of.items()}


@contextmanager
def _stop_words(kept_out: frozenset[str]) -> Iterator[None]:
    with mock.patch.object(terms, "STOP_WORDS", kept_out):
        yield


def _halves(texts: Texts, rng: np.random.Generator) -> tuple[Texts, Texts]:
    """Two random halves of the same texts: the best corpus that an attacker could have."""
    order = rng.permutation(len(texts))
    middle = len(texts) // 2
    return [texts[at] for at in order[:middle]], [texts[at] for at in order[middle:]]


def _others(people: Sequence[Texts], but: int) -> Texts:
    return _joined(texts for at, texts in enumerate(people) if at != but)


def _joined(parts: Any) -> Texts:
    return [text for part in parts for text in part]


# -- vectors -----------------------------------------------------------------------------------------------------------


def _attack_vectors(vectors: Vectors, spaces: _Spaces) -> Iterator[Figures]:
    """Attacks without known pairs.  The guesses hold a share of the store and as many other texts."""
    for size in STORES:
        for coverage in COVERAGES:
            listed = round(size * coverage)
            if size + listed > len(vectors):
                continue  # a smaller set of texts
            case = _case(vectors, spaces.another(), size, coverage, _signs)
            yield {"store": size, "on the list": coverage} | _unaided(case, SIGNS_TOLERANCE)


def _unaided(case: Case, tolerance: float) -> Figures:
    rng = np.random.default_rng(SEED)
    return {
        "signature": case.identified(vector_attacks.by_signature(case)),
        "signature, refined": case.identified(vector_attacks.by_signature_refined(case)),
        "geometry": case.identified(vector_attacks.by_geometry(case, tolerance=tolerance, rng=rng)),
    }


def _attack_with_pairs(vectors: Vectors, spaces: _Spaces) -> Iterator[Figures]:
    """Attacks with known pairs of text and vector; the guesses are all texts."""
    here, elsewhere = spaces.another(), spaces.another()
    case, foreign = _everything(vectors, here, _signs), _everything(vectors, elsewhere, _signs)
    foreign = replace(foreign, texts=case.texts, stored=_signs(elsewhere.protect_vectors(vectors[case.texts]), _rng()))
    for count in (1, 2):
        matches = vector_attacks.by_known_pairs(case, np.arange(count))
        yield {"what": "confirm a guess exactly", "pairs": count, "right": _rest(case, matches, count)}
    for count in PAIRS:
        rotation = vector_attacks.fit(vectors[case.texts[:count]], case.stored[:count])
        matches = vector_attacks.by_fit(case, rotation)
        yield {"what": "undo the rotation", "pairs": count, "right": _rest(case, matches, count)}
    matches = vector_attacks.by_fit(foreign, rotation)
    yield {"what": "undo another space's with it", "pairs": count, "right": foreign.identified(matches)}
    yield {"what": "guess by luck", "pairs": 0, "right": 1 / len(vectors)}
    cosines = (case.stored * foreign.stored).sum(axis=1)
    yield {"what": "mean cosine of one text in two spaces", "pairs": 0, "right": float(cosines.mean())}


def _compare_forms(vectors: Vectors, spaces: _Spaces) -> Iterator[Figures]:
    """The same attacks on other stored forms of the vector.

    recall: share of the exact nearest 10 in the shortlist, which is then ranked by the sealed vectors.
    """
    forms: list[tuple[str, Protection, float]] = [
        ("sign bits, as here", _signs, SIGNS_TOLERANCE),
        (f"halfvec with noise of {NOISE}", _noisy, 0.06),
        ("halfvec", _halfvec, HALFVEC_TOLERANCE),
    ]
    for name, protection, tolerance in forms:
        case = _case(vectors, spaces.another(), STORES[0], 0.9, protection)
        everything = _everything(vectors, spaces.another(), protection)
        row: Figures = {"stored": name, "store": STORES[0], "on the list": 0.9} | _unaided(case, tolerance)
        row["two pairs"] = _rest(everything, vector_attacks.by_known_pairs(everything, np.arange(2)), 2)
        for count in (100, 400):
            rotation = vector_attacks.fit(vectors[everything.texts[:count]], everything.stored[:count])
            row[f"{count} pairs"] = _rest(everything, vector_attacks.by_fit(everything, rotation), count)
        yield row | {"recall": _shortlisted(vectors, spaces.another(), protection)}


def _case(vectors: Vectors, cipher: SpaceCipher, size: int, coverage: float, protection: Protection) -> Case:
    rng = _rng()
    order = rng.permutation(len(vectors))
    texts, listed = order[:size], round(size * coverage)
    guesses = rng.permutation(np.concatenate([texts[:listed], order[size : size + listed]]))
    return Case(protection(cipher.protect_vectors(vectors[texts]), rng), texts, vectors[guesses], guesses)


def _everything(vectors: Vectors, cipher: SpaceCipher, protection: Protection) -> Case:
    """A store of a thousand texts, with all texts as guesses."""
    rng = _rng()
    texts = rng.permutation(len(vectors))[:ROWS]
    return Case(protection(cipher.protect_vectors(vectors[texts]), rng), texts, vectors, np.arange(len(vectors)))


def _rest(case: Case, matches: NDArray[np.intp], known: int) -> float:
    """The share identified among the texts that were not known."""
    return replace(case, texts=case.texts[known:]).identified(matches[known:])


def _shortlisted(vectors: Vectors, cipher: SpaceCipher, protection: Protection) -> float:
    rng = _rng()
    order = rng.permutation(len(vectors))
    rows, asked = vectors[order[:ROWS]], vectors[order[ROWS : ROWS + ASKED]]
    near = np.argsort(-(cipher.protect_vectors(asked) @ protection(cipher.protect_vectors(rows), rng).T), axis=1)
    exact = np.argsort(-(asked @ rows.T), axis=1)[:, :10]
    return _mean(len(set(best) & set(short)) / 10 for best, short in zip(exact, near[:, :SHORTLIST], strict=True))


def _halfvec(rotated: Vectors, _: np.random.Generator) -> Vectors:
    return rotated.astype(np.float16).astype(np.float32)


def _signs(rotated: Vectors, _: np.random.Generator) -> Vectors:
    return np.where(rotated > 0, 1, -1).astype(np.float32) / np.float32(math.sqrt(rotated.shape[1]))


def _noisy(rotated: Vectors, rng: np.random.Generator) -> Vectors:
    noise = rng.standard_normal(rotated.shape, np.float32) * np.float32(NOISE / math.sqrt(rotated.shape[1]))
    loud = rotated + noise
    return _halfvec(loud / np.linalg.norm(loud, axis=1, keepdims=True), rng)


def _sentences(haystacks: Sequence[Haystack]) -> Iterator[str]:
    """Sentences of 5 to 40 words, about the length of a memory."""
    for haystack in haystacks:
        for item in haystack.items:
            for sentence in re.split(r"(?<=[.!?])\s+|\n+", item["text"]):
                if 5 <= len(sentence.split()) <= 40:
                    yield sentence.strip()


def _drawn(texts: list[str], most: int) -> list[str]:
    return [texts[at] for at in sorted(_rng().permutation(len(texts))[:most])]


def _embedded(texts: list[str], embedder: Embedder) -> Vectors:
    """Embeddings of the texts, cached between runs by model and texts."""
    digest = hashlib.sha256("\x00".join([embedder.id, *texts]).encode()).hexdigest()
    kept = CACHE / f"embeddings-{digest[:16]}.npy"
    if kept.is_file():
        return np.asarray(np.load(kept), np.float32)
    vectors = np.vstack([embedder.embed(texts[at : at + 64]) for at in range(0, len(texts), 64)])
    CACHE.mkdir(exist_ok=True)
    np.save(kept, vectors)
    return vectors


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


# -- sizes -------------------------------------------------------------------------------------------------------------


def _sizes(haystacks: Sequence[Haystack]) -> Iterator[Figures]:
    """How well sizes identify a text.  bits: entropy; alone: share of texts whose size is unique."""
    texts = [item["text"] for haystack in haystacks for item in haystack.items]
    indexes = [terms.terms(text) for text in texts]
    seen: dict[str, list[Any]] = {
        "bytes of the text (not stored)": [len(text.encode()) for text in texts],
        "bytes of the sealed text": [padded_size(len(text.encode())) for text in texts],
        "words, rounded": [terms.rounded_length(len(one)) for one in indexes],
        "tokens of the memory": [len(terms.indexed(one)) for one in indexes],
    }
    seen["all that is stored"] = list(zip(*list(seen.values())[1:], strict=True))
    for what, values in seen.items():
        counts = Counter(values)
        yield {
            "what": what,
            "classes": len(counts),
            "bits": -sum(count / len(texts) * math.log2(count / len(texts)) for count in counts.values()),
            "alone": sum(count for count in counts.values() if count == 1) / len(texts),
        }


def _mean(values: Any) -> float:
    found = list(values)
    return float(sum(found) / max(1, len(found)))
