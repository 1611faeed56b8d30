"""The nearest vectors of one space: exact scans of covering indexes, no approximate index to build or to tune."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray
from pgvector import HalfVector

from apps.crypto.services import SpaceCipher
from apps.projects.scope import Scope, SpaceRef

# Above this many rows it is quicker to scan sign bits and rerank the best of them exactly (recall@10 ≥ .99 measured).
SIGNS_FROM = 8_000
SIGNS_KEPT = 800

_LIVE = "tenant_id = %s and space_id = %s and live and (expires_at is null or expires_at > %s) and key_version = %s"

RotatedQuery = Sequence[tuple[int, NDArray[np.float32]]]  # (key version, the vector under its rotation)


def parameter(vector: NDArray[np.float32]) -> str:
    """The vector as SQL takes it, to be cast to halfvec: psycopg does not know the type by itself."""
    return str(HalfVector(vector).to_text())


def nearest(
    scope: Scope,
    space: SpaceRef,
    vectors: RotatedQuery,
    *,
    limit: int,
    now: datetime,
    rows: int = 0,
    embedder: str | None = None,
    where: str = "",
    values: Sequence[Any] = (),
) -> list[tuple[int, float]]:
    """(memory id, cosine), best first.

    rows: about how many the space has.  where, values: conditions on ``memory`` as SQL; they hold before the limit.
    embedder: only vectors of this model, the only ones comparable.
    """
    found = [
        one
        for version, vector in vectors
        for one in _nearest(scope, space, version, vector, limit, now, rows, embedder, where, values)
    ]
    return found if len(vectors) == 1 else sorted(found, key=lambda one: (-one[1], one[0]))[:limit]


def rotate(vector: NDArray[np.float32], cipher: SpaceCipher) -> RotatedQuery:
    """The query, unit length, under the rotation of each live key version: cosines of all of them compare."""
    return [(one.key_version, one.protect_vectors(vector[None])[0]) for one in cipher.live()]


def _nearest(
    scope: Scope,
    space: SpaceRef,
    version: int,
    vector: NDArray[np.float32],
    limit: int,
    now: datetime,
    rows: int,
    embedder: str | None,
    where: str,
    values: Sequence[Any],
) -> list[tuple[int, float]]:
    query = parameter(vector)
    conditions = _LIVE
    parameters: list[Any] = [scope.tenant_id, space.id, now, version]
    if embedder is not None:
        conditions, parameters = f"{conditions} and embedder = %s", [*parameters, embedder]
    if scope.project_id is not None:
        conditions = f"{conditions} and (project_id is null or project_id = %s)"
        parameters = [*parameters, scope.project_id]
    if where:
        # A filter on the memory itself: the join keeps it inside the limit; it reads only this space's rows.
        sql = f"""
            select memory.id, -(vector.embedding <#> %s::halfvec) from memories_memoryvector vector
            join memories_memory memory on memory.id = vector.memory_id
            where memory.tenant_id = %s and vector.memory_id in (
                select memory_id from memories_memoryvector where {conditions}) {where}
            order by vector.embedding <#> %s::halfvec, memory.id limit %s"""  # noqa: S608
        parameters = [query, scope.tenant_id, *parameters, *values, query, limit]
    elif rows > SIGNS_FROM:
        sql = f"""
            with close as materialized (
                select memory_id from memories_memoryvector where {conditions}
                order by signs <~> binary_quantize(%s::halfvec) limit %s
            )
            select memory_id, -(embedding <#> %s::halfvec) from memories_memoryvector
            where tenant_id = %s and memory_id in (select memory_id from close)
            order by embedding <#> %s::halfvec, memory_id limit %s"""  # noqa: S608
        parameters = [*parameters, query, SIGNS_KEPT, query, scope.tenant_id, query, limit]
    else:
        sql = f"""
            select memory_id, -(embedding <#> %s::halfvec) from memories_memoryvector where {conditions}
            order by embedding <#> %s::halfvec, memory_id limit %s"""  # noqa: S608
        parameters = [query, *parameters, query, limit]
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [(memory_id, float(cosine)) for memory_id, cosine in cursor.fetchall()]
