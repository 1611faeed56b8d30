"""The nearest vectors of one space, found by sign bits and measured on what is sealed (docs/adr/0010).

The database compares bits of keyed rotations and ranks nothing finely: those that agree most are opened and ordered by
their true cosines, and then as many more as may still be among the nearest.  Exact scans of a covering index: no
approximate index to build.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.core.prepared_sql import prepared_cursor
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.integrity import VECTOR
from apps.memories.models.search import EMBEDDING
from apps.memories.sealing import as_vectors
from apps.projects.scope import Scope, SpaceRef

_SPARE: Final = 64  # how many more are opened at first than are wanted
# How many are known by their signs for each of the square root of how many there are: what is opened is among them,
# but for questions to which everything is about equally far.
_ROOTS: Final = 8
_MOST: Final = 4_000  # opened for one question: a twentieth of a second, and then it is good enough
_MOST_ROOTS: Final = (
    12  # but of a space above 110,000 so many for each of the root: of a million, an eighth of a second
)
_DEVIATIONS: Final = 2.5  # a nearest one differs in more signs than is looked at once in 160 times
_CERTAIN: Final = 4.0  # and in so many once in 30,000

_THERE = "tenant_id = %s and space_id = %s and (expires_at is null or expires_at > %s)"


def signs(vector: NDArray[np.float32], cipher: SpaceCipher) -> str:
    """One bit for each dimension of the vector, unit length, under the cipher's rotation, as SQL takes a bit string."""
    return sign_bits(vector[None], cipher)[0]


def sign_bits(vectors: NDArray[np.float32], cipher: SpaceCipher) -> list[str]:
    """As ``signs``, of each row of ``vectors``: shape (n, dimensions)."""
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
    """(memory id, cosine), best first.  vector: as the embedder made it, unit length.

    where, values: conditions on ``memory`` as SQL; they hold before the limit.  embedder: only vectors of this model,
    the only ones comparable.  replaced: also those that are live no more, of which ``where`` says which are meant.
    sure: so many of the best are the nearest there are (docs/adr/0010), of about ``among`` that the space holds.
    least: a cosine; what is certainly farther, by its signs, is not opened.
    opened: takes every embedding that was opened on the way, by memory id, for callers that measure them again.
    Vectors that fail their seal are noted and left out.
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
    """The embeddings of these memories by id.  One that fails its seal is noted and left out.

    Inside the tenant's transaction.
    """
    if not ids:
        return {}
    with prepared_cursor() as cursor:
        cursor.execute(
            "select memory_id, embedding_ct from memories_memoryvector "
            "where tenant_id = %s and memory_id = any(%s) and (%s::text is null or embedder = %s)",
            [scope.tenant_id, list(ids), embedder, embedder],
        )
        rows = cursor.fetchall()
    opened: list[int] = []
    embeddings: list[bytes] = []
    for memory_id, blob in rows:
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
    """Those beyond the first ``seen``, up to ``most``, whose cosines may be above ``worst`` by their signs.

    known: (id, differing signs), the fewest first.
    """
    within = _differing(worst, bits, deviations=_DEVIATIONS)
    if seen <= len(known) < most and known[-1][1] <= within:
        known = by_signs(most)
    return [memory_id for memory_id, distance in known[seen:most] if distance <= within]


def _differing(cosine: float, bits: int, *, deviations: float) -> float:
    """In how many signs vectors of this cosine may differ.

    Of vectors an angle apart each sign of a random rotation differs with the probability angle / pi (Charikar 2002), so
    that their number is about binomial.
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
    """(memory id, differing signs), the fewest first, over all key versions: their distances compare."""
    conditions = _THERE if replaced else f"{_THERE} and live"
    parameters: list[Any] = [scope.tenant_id, space.id, now]
    if embedder is not None:
        conditions, parameters = f"{conditions} and embedder = %s", [*parameters, embedder]
    if scope.project_id is not None:
        conditions = f"{conditions} and (project_id is null or project_id = %s)"
        parameters = [*parameters, scope.project_id]
    if where:
        # A filter on the memory itself: it holds before the limit, and reads only this space's rows.
        memory = "select 1 from memories_memory memory where memory.tenant_id = vector.tenant_id"
        memory = f"{memory} and memory.retention_status = 'active'" if replaced else memory
        conditions += f" and exists ({memory} and memory.id = vector.memory_id {where})"
        parameters = [*parameters, *values]
    # One scan for each version that rows may be under, since each has a rotation of its own.
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
    with prepared_cursor() as cursor:
        cursor.execute(sql, every)
        return list(cursor.fetchall())
