"""Isolation between tenants by cryptography alone, with every filter removed: keyed terms and rotated vectors.

Many tenants store the same sentences.  Then a caller queries as one of them, without conditions on tenant or space, on
a connection that bypasses row-level security.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.adapters.instances import get_embedder
from apps.apikeys.onboarding import provision_tenant
from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher, open_space
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.nearest import signs
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Scope
from apps.tenants.models import Organization
from text.terms import terms

TOP = 10
_BATCH = 50

_WHO = (
    "My sister",
    "The landlord",
    "Our choir",
    "A neighbour",
    "The dentist",
    "My old teacher",
    "The new team",
    "Hannah",
)
_DID = ("repaired", "painted", "lost", "sold", "photographed", "borrowed", "cleaned", "described")
_WHAT = (
    "the blue lamp", "a walnut table", "seven chairs", "the kitchen tap", "a silver telescope", "two violins",
    "the garden fence", "an old map", "the ferry ticket", "a leather suitcase",
)  # fmt: skip
_WHERE = ("in Tallinn", "near the brewery", "on the roof", "at the harbour", "behind the school")


@dataclass(frozen=True, slots=True)
class Asker:
    """An end user of one tenant, with the cipher of their space."""

    scope: Scope
    cipher: SpaceCipher


def sentences(count: int) -> list[str]:
    """Distinct sentences, the same in every run; at most 3,200."""
    made = [" ".join(words) + "." for words in product(_WHO, _DID, _WHAT, _WHERE)]
    random.Random(7).shuffle(made)
    if count > len(made):
        raise ValueError(f"there are {len(made)} sentences")
    return made[:count]


def open_askers(tenants: int, texts: Sequence[str], *, now: datetime) -> list[Asker]:
    """Create tenants, each with one end user who stored all of the texts."""
    owner = Organization.objects.create(name="isolation", created_at=now)
    askers = []
    for number in range(tenants):
        opened = provision_tenant(owner, f"isolation-{number}", now=now)
        scope = opened.scope.in_spaces(get_or_create_end_user(opened.scope, "the same person", now=now))
        for at in range(0, len(texts), _BATCH):
            batch = [
                Proposal(text=Plaintext(text), importance=0.6, deduplicate=False) for text in texts[at : at + _BATCH]
            ]
            remember(scope, batch, now=now)
        askers.append(Asker(scope, open_space(scope.tenant, scope.space)))
    return askers


def lexical(cursor: Any, askers: Sequence[Asker], questions: Sequence[str], *, hits: int) -> dict[str, Any]:
    """Query by keyed terms until that many hits were seen.  cursor: of a role that sees every row.

    expected_foreign: hits in other tenants expected from collisions of 64-bit tokens.
    """
    cursor.execute("select tenant_id, count(distinct token) from memories_posting group by tenant_id")
    distinct = dict(cursor.fetchall())
    seen = foreign = asked = 0
    expected = 0.0
    for asker, question in _rounds(askers, questions):
        if seen >= hits:
            break
        tokens = asker.cipher.term_tokens(dict.fromkeys(terms(question)))
        cursor.execute("select tenant_id, count(*) from memories_posting where token = any(%s) group by 1", [tokens])
        counts = dict(cursor.fetchall())
        mine = counts.pop(asker.scope.tenant_id, 0)
        asked, seen, foreign = asked + 1, seen + mine + sum(counts.values()), foreign + sum(counts.values())
        others = sum(count for tenant, count in distinct.items() if tenant != asker.scope.tenant_id)
        expected += len(tokens) * others / 2**64
    return {
        "tenants": len(askers),
        "postings": _count(cursor, "memories_posting"),
        "queries": asked,
        "hits": seen,
        "foreign": foreign,
        "expected_foreign_by_chance": expected,
    }


def dense(cursor: Any, askers: Sequence[Asker], questions: Sequence[str]) -> dict[str, Any]:
    """Query by vectors: the share of the asker's own rows among the ten nearest of the whole table."""
    own = found = 0
    for vector, (asker, _) in zip(_embedded(questions), _rounds(askers, questions), strict=False):
        query = signs(vector, asker.cipher)
        cursor.execute(
            "select tenant_id from memories_memoryvector order by signs <~> %s::bit(384) limit %s", [query, TOP]
        )
        tenants = [tenant for (tenant,) in cursor.fetchall()]
        own, found = own + tenants.count(asker.scope.tenant_id), found + len(tenants)
    return {"queries": len(questions), "rows": _count(cursor, "memories_memoryvector"), "own_share": own / found}


def cosines(askers: Sequence[Asker], texts: Sequence[str]) -> dict[str, Any]:
    """Cosines between the stored vectors of a text in two spaces, for every text in another pair of spaces."""
    measured = []
    for place, vector in enumerate(_embedded(texts)):
        one, other = askers[place % len(askers)], askers[(place + 1 + place // len(askers)) % len(askers)]
        if one is other:
            other = askers[(place + 1) % len(askers)]
        first, second = (asker.cipher.protect_vectors(vector[None])[0] for asker in (one, other))
        measured.append(float(first @ second))
    return {
        "pairs": len(measured),
        "mean": float(np.mean(measured)),
        "sd": float(np.std(measured)),
        "largest": float(np.max(np.abs(measured))),
    }


def run(cursor: Any, *, tenants: int, texts: int, hits: int, pairs: int, queries: int, now: datetime) -> dict[str, Any]:
    """All three measurements.  cursor: of a role that sees every row."""
    said = sentences(texts)
    askers = open_askers(tenants, said, now=now)
    return {
        "lexical": lexical(cursor, askers, said, hits=hits),
        "vectors": cosines(askers, sentences(pairs)),
        "dense": dense(cursor, askers, sentences(queries)),
    }


def _rounds(askers: Sequence[Asker], questions: Sequence[str]) -> Iterator[tuple[Asker, str]]:
    """Endless (asker, question) pairs; in each round a question has another asker."""
    number = 0
    while True:
        for place, question in enumerate(questions):
            yield askers[(place + number) % len(askers)], question
        number += 1


def _embedded(texts: Sequence[str]) -> NDArray[np.float32]:
    embedder = get_embedder()
    return np.vstack([embedder.embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)])


def _count(cursor: Any, table: str) -> int:
    cursor.execute(f"select count(*) from {table}")  # noqa: S608  (one of two names above)
    return int(cursor.fetchone()[0])
