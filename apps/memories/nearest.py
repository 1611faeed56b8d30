"""Search for the nearest vectors of one space: candidates by sign bits, then true cosines (docs/adr/0010).

The database compares bits of keyed rotations, which rank only roughly.  The candidates that agree most are decrypted
and ordered by their true cosines, and then as many more as may still be among the nearest.  Exact scans of a covering
index: there is no approximate index to build.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.core.queries import fetch_all
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.integrity import VECTOR
from apps.memories.models.search import DIMENSIONS, EMBEDDING
from apps.memories.sealing import as_vectors
from apps.projects.scope import Scope, SpaceRef

_SPARE: Final = 64  # candidates decrypted at first beyond the limit
# Candidates fetched by signs, times the square root of the number of vectors.  All decrypted ones are among them,
# except for queries from which everything is about equally far.
_ROOTS: Final = 8
_MOST: Final = 4_000  # decrypted for one query, in a twentieth of a second: good enough
# Above 110,000 vectors, so many times the square root instead: of a million, in an eighth of a second.
_MOST_ROOTS: Final = 12
_DEVIATIONS: Final = 2.5  # one nearest vector in 160 differs in more signs
_CERTAIN: Final = 4.0  # one in 30,000 differs in more signs

_THERE = "tenant_id = %s and space_id = %s and (expires_at is null or expires_at > %s)"


def signs(vector: NDArray[np.float32], cipher: SpaceCipher) -> str:
    """One bit per dimension of a unit-length vector under the cipher's rotation, as an SQL bit string."""
    return sign_bits(vector[None], cipher)[0]


def stored_signs(vector: NDArray[np.float32], cipher: SpaceCipher) -> str | None:
    """The signs that a row stores: none in a sealed space, or of a caller's vector of another length."""
    return signs(vector, cipher) if cipher.is_searchable and len(vector) == DIMENSIONS else None


def sign_bits(vectors: NDArray[np.float32], cipher: SpaceCipher) -> list[str]:
    """As ``signs``, for each row of ``vectors``: shape (n, dimensions)."""
    above = np.where(cipher.protect_vectors(vectors) > 0, np.uint8(ord("1")), np.uint8(ord("0")))
    return [row.tobytes().decode() for row in above]


def nearest(
    scope: Scope,
    space: SpaceRef,
    vector: NDArray[np.float32],
    cipher: SpaceCipher,
    *,
    limit: int,
    now: datetime,
    embedder: str | None = None,
    where: str = "",
    values: Sequence[Any] = (),
    replaced: bool = False,
    among: int = 0,
    sure: int = 0,
    least: float = -1.0,
    opened: dict[int, NDArray[np.float32]] | None = None,
) -> list[tuple[int, float]]:
    """(memory id, cosine), best first.  Vectors that fail decryption are noted and left out.

    Args:
        vector: as the embedder returned it, unit length.
        where, values: SQL conditions on ``memory``, applied before the limit.
        embedder: only vectors of this model; others are not comparable.
        replaced: also memories that are no longer live; ``where`` selects which.
        sure: the best ``sure`` results are the true nearest (docs/adr/0010), of about ``among`` memories in the space.
        least: a cosine; vectors certainly farther, by their signs, are not decrypted.
        opened: receives every embedding decrypted on the way, by memory id, for callers that measure them again.
    """
    by_signs = partial(_by_signs, scope, space, vector, cipher, now, embedder, where, values, replaced=replaced)
    vectors = {} if opened is None else opened
    cosines: dict[int, float] = {}

    def measure(ids: Sequence[int]) -> None:
        found = open_embeddings(scope, space, ids, cipher, embedder=embedder, now=now)
        vectors.update(found)
        if found:
            cosines.update(zip(found, (np.stack(list(found.values())) @ vector).tolist(), strict=True))

    at_first = limit + _SPARE
    known = by_signs(max(at_first, round(_ROOTS * math.sqrt(among)) if sure else 0))
    farthest = _differing(least, len(vector), deviations=_CERTAIN)
    measure([memory_id for memory_id, distance in known[:at_first] if distance <= farthest])
    if sure and len(cosines) >= sure:
        most = max(_MOST, round(_MOST_ROOTS * math.sqrt(among)))
        measure(_maybe_nearer(known, at_first, most, sorted(cosines.values())[-sure], len(vector), by_signs))
    return sorted(cosines.items(), key=lambda one: (-one[1], one[0]))[:limit]


def open_embeddings(
    scope: Scope, space: SpaceRef, ids: Sequence[int], cipher: SpaceCipher, *, embedder: str | None, now: datetime
) -> dict[int, NDArray[np.float32]]:
    """The embeddings of these memories, by id.  Those that fail decryption are noted and left out.

    Inside the tenant's transaction.
    """
    if not ids:
        return {}
    rows = fetch_all(
        "select memory_id, embedding_ct from memories_memoryvector "
        "where tenant_id = %s and memory_id = any(%s) and (%s::text is null or embedder = %s)",
        [scope.tenant_id, list(ids), embedder, embedder],
        prepared=True,
    )
    return decrypt_embeddings(scope, space, dict(rows), cipher, now=now)


def decrypt_embeddings(
    scope: Scope, space: SpaceRef, sealed: Mapping[int, bytes], cipher: SpaceCipher, *, now: datetime
) -> dict[int, NDArray[np.float32]]:
    """The same, of embeddings that were read.  sealed: by memory id."""
    opened: list[int] = []
    embeddings: list[bytes] = []
    for memory_id, blob in sealed.items():
        try:
            embeddings.append(cipher.open_bytes(EMBEDDING, memory_id, blob))
            opened.append(memory_id)
        except DecryptError as error:
            integrity.note(scope, error, memory_id, space_id=space.id, table=VECTOR, now=now)
    return dict(zip(opened, as_vectors(embeddings), strict=True)) if opened else {}


def _maybe_nearer(
    known: Sequence[tuple[int, int]],
    seen: int,
    most: int,
    worst: float,
    bits: int,
    by_signs: Callable[[int], Sequence[tuple[int, int]]],
) -> list[int]:
    """Candidates after the first ``seen``, up to ``most``, whose cosine may be above ``worst`` by their signs.

    known: (id, differing signs), the fewest first.
    """
    within = _differing(worst, bits, deviations=_DEVIATIONS)
    if seen <= len(known) < most and known[-1][1] <= within:
        known = by_signs(most)
    return [memory_id for memory_id, distance in known[seen:most] if distance <= within]


def _differing(cosine: float, bits: int, *, deviations: float) -> float:
    """The number of signs in which vectors of this cosine may differ.

    Under a random rotation, each sign of two vectors differs with the probability angle / pi (Charikar 2002), so the
    number of differing signs is about binomial.
    """
    share = math.acos(max(-1.0, min(1.0, cosine))) / math.pi
    return bits * share + deviations * math.sqrt(bits * share * (1 - share))


def _by_signs(
    scope: Scope,
    space: SpaceRef,
    vector: NDArray[np.float32],
    cipher: SpaceCipher,
    now: datetime,
    embedder: str | None,
    where: str,
    values: Sequence[Any],
    limit: int,
    *,
    replaced: bool,
) -> list[tuple[int, int]]:
    """(memory id, differing signs), the fewest first, over all key versions: the distances are comparable."""
    conditions = _THERE if replaced else f"{_THERE} and live"
    parameters: list[Any] = [scope.tenant_id, space.id, now]
    if embedder is not None:
        conditions, parameters = f"{conditions} and embedder = %s", [*parameters, embedder]
    if scope.project_id is not None:
        conditions = f"{conditions} and (project_id is null or project_id = %s)"
        parameters = [*parameters, scope.project_id]
    if where:
        # A filter on the memory: applied before the limit, and reads only this space's rows.
        memory = "select 1 from memories_memory memory where memory.tenant_id = vector.tenant_id"
        memory = f"{memory} and memory.retention_status = 'active'" if replaced else memory
        conditions += f" and exists ({memory} and memory.id = vector.memory_id {where})"
        parameters = [*parameters, *values]
    # One scan per key version, because each version has a rotation of its own.
    scans: list[str] = []
    every: list[Any] = []
    for one in cipher.live():
        scans.append(
            f"select memory_id, signs <~> %s::bit({len(vector)}) as distance "  # noqa: S608  (ours)
            f"from memories_memoryvector vector where {conditions} and key_version = %s "
            "order by distance, memory_id limit %s"
        )
        every += [signs(vector, one), *parameters, one.key_version, limit]
    sql = scans[0]
    if len(scans) > 1:
        both = " union all ".join(f"({one})" for one in scans)
        sql = f"select memory_id, distance from ({both}) each order by distance, memory_id limit %s"  # noqa: S608  (ours)
        every.append(limit)
    return fetch_all(sql, every, prepared=True)
