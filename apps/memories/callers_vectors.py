"""Search among vectors that callers sent with their memories, of any number of dimensions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.core.queries import fetch_all
from apps.crypto.services import SpaceCipher
from apps.memories.models.search import DIMENSIONS
from apps.memories.nearest import decrypt_embeddings, nearest
from apps.memories.typed import embedder_of
from apps.projects.scope import Scope, SpaceRef

MOST: Final = 20_000  # vectors decrypted for one query: the newest
SURE: Final = 10


def nearest_of_caller(
    scope: Scope,
    space: SpaceRef,
    vector: NDArray[np.float32],
    cipher: SpaceCipher,
    *,
    limit: int,
    where: str,
    values: Sequence[Any],
    replaced: bool,
    among: int,
    now: datetime,
) -> list[tuple[int, float]]:
    """(memory id, cosine), best first, of callers' vectors as long as this one, which has unit length.

    where, values: SQL conditions on ``memory``.  replaced: also memories that are no longer live.  Vectors of
    DIMENSIONS dimensions are found by their signs, as ours are; of others, all are compared.
    """
    embedder = embedder_of(vector)
    if len(vector) == DIMENSIONS and cipher.is_searchable:
        return nearest(
            scope, space, vector, cipher, limit=limit, now=now, embedder=embedder, where=where, values=values,
            replaced=replaced, among=among, sure=SURE,
        )  # fmt: skip
    live = "" if replaced else "and vector.live"
    rows = fetch_all(
        "select vector.memory_id, vector.embedding_ct from memories_memoryvector vector "  # noqa: S608  (ours)
        "join memories_memory memory on memory.tenant_id = vector.tenant_id and memory.id = vector.memory_id "
        f"where vector.tenant_id = %s and vector.space_id = %s and vector.embedder = %s {live} "
        "and (vector.expires_at is null or vector.expires_at > %s) "
        f"and memory.retention_status = 'active' {where} order by vector.memory_id desc limit %s",
        [scope.tenant_id, space.id, embedder, now, *values, MOST],
        prepared=True,
    )
    found = decrypt_embeddings(scope, space, dict(rows), cipher, now=now)
    if not found:
        return []
    cosines = zip(found, (np.stack(list(found.values())) @ vector).tolist(), strict=True)
    return sorted(cosines, key=lambda one: (-one[1], -one[0]))[:limit]
