"""The nearest vectors of one space, found by sign bits and measured on what is sealed (docs/adr/0010).

The database compares bits of keyed rotations and ranks nothing finely: of its nearest a few times more are taken than
are wanted, opened, and ordered by their true cosines.  Exact scans of a covering index: no approximate index to build.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.core.statements import prepared_cursor
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.integrity import VECTOR
from apps.memories.sealing import EMBEDDING, as_vectors
from apps.projects.scope import Scope, SpaceRef

# How many more are opened than are wanted.  Of 2,000 dialogue turns the nearest ten are among the nearest 128 by their
# signs in 99.9 of 100 questions; the more there are, the more lie between, fewer than in proportion.
_SPARE: Final = 64
_ROOTS: Final = 8  # opened for each of the square root of how many there are

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
    opened: dict[int, NDArray[np.float32]] | None = None,
) -> list[tuple[int, float]]:
    """(memory id, cosine), best first.  vector: as the embedder made it, unit length.

    where, values: conditions on ``memory`` as SQL; they hold before the limit.  embedder: only vectors of this model,
    the only ones comparable.  replaced: also those that are live no more, of which ``where`` says which are meant.
    among: about how many the space holds; the more, the more are opened.
    opened: takes every embedding that was opened on the way, by memory id, for whoever measures them once more.
    Vectors that fail their seal are noted and left out.
    """
    ids: list[int] = []
    embeddings: list[bytes] = []
    most = max(limit + _SPARE, round(_ROOTS * math.sqrt(among)))
    for memory_id, blob in _close(scope, space, vector, cipher, most, now, embedder, where, values, replaced=replaced):
        try:
            embeddings.append(cipher.open_bytes(EMBEDDING, memory_id, blob))
            ids.append(memory_id)
        except DecryptError as error:
            integrity.note(scope, error, memory_id, space_id=space.id, table=VECTOR, now=now)
    if not ids:
        return []
    vectors = as_vectors(embeddings)
    if opened is not None:
        opened.update(zip(ids, vectors, strict=True))
    found = zip(ids, (vectors @ vector).tolist(), strict=True)
    return sorted(found, key=lambda one: (-one[1], one[0]))[:limit]


def _close(
    scope: Scope,
    space: SpaceRef,
    vector: NDArray[np.float32],
    cipher: SpaceCipher,
    limit: int,
    now: datetime,
    embedder: str | None,
    where: str,
    values: Sequence[Any],
    *,
    replaced: bool,
) -> list[tuple[int, bytes]]:
    """(memory id, sealed embedding) of those whose signs agree most, over all key versions: their distances compare."""
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
            f"(select memory_id, signs <~> %s::bit({len(vector)}) as distance "  # noqa: S608  (ours)
            f"from memories_memoryvector vector where {conditions} and key_version = %s "
            "order by distance, memory_id limit %s)"
        )
        every += [signs(vector, one), *parameters, one.key_version, limit]
    sql = (
        f"with close as materialized (select memory_id from ({' union all '.join(scans)}) each "  # noqa: S608  (ours)
        "order by distance, memory_id limit %s) "
        "select vector.memory_id, vector.embedding_ct from memories_memoryvector vector "
        "where vector.tenant_id = %s and vector.memory_id in (select memory_id from close)"
    )
    with prepared_cursor(is_replanned=True) as cursor:
        cursor.execute(sql, [*every, limit, scope.tenant_id])
        return list(cursor.fetchall())
