"""Read analyses of memories, and their texts where there is none: what recall ranks by.

A snapshot's statements; undecryptable rows are noted and left out.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_all
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity
from apps.memories.sealing import open_analysis, open_text_then
from apps.memories.validity import AsOf, Moment
from apps.projects.scope import Scope, SpaceRef
from text.analysis import TextAnalysis

# The stored analysis of a row ``memory``, or null where it is of another text: it is of the text as it holds now.
# Parameter: whether another time is asked about.
ANALYSIS_SQL: Final = "case when {memory}.said_ct is null or not %s::boolean then {memory}.analysis_ct end"

_BY_ID: Final = """from unnest(%s::bigint[]) wanted(id)
cross join lateral (
    select * from memories_memory where tenant_id = %s and space_id = %s and id = wanted.id limit 1
) memory"""
_TEXTS: Final = f"select memory.id, memory.revision, memory.text_ct, memory.said_ct, memory.parts_ct {_BY_ID}"
_ANALYSES: Final = (
    f"select memory.id, {ANALYSIS_SQL.format(memory='memory')}, memory.metadata_ct, memory.revision {_BY_ID}"
)


class SealedAnalysis(NamedTuple):
    """analysis: None if there is none of the text asked about.  revision: of the metadata."""

    id: int
    analysis: bytes | None
    metadata: bytes | None
    revision: int


def fetch_analyses(scope: Scope, space: SpaceRef, ids: Sequence[int], moment: Moment | None) -> list[SealedAnalysis]:
    """Of these memories of the space, which the caller has found to be visible."""
    if not ids:
        return []
    values = [isinstance(moment, AsOf), list(ids), scope.tenant_id, space.id]
    return [SealedAnalysis(*row) for row in fetch_all(_ANALYSES, values, prepared=True)]


def open_analyses(
    scope: Scope,
    space: SpaceRef,
    sealed: Mapping[int, bytes | None],
    cipher: SpaceCipher,
    moment: Moment | None,
    *,
    now: datetime,
) -> dict[int, TextAnalysis]:
    """Memory id to analysis.  sealed: as fetched; where it is missing or of another version, the text is analysed."""
    found: dict[int, TextAnalysis] = {}
    without: list[int] = []
    for memory_id, blob in sealed.items():
        try:
            analysis = open_analysis(memory_id, blob, cipher)
        except DecryptError as error:
            integrity.note(scope, error, memory_id, space_id=space.id, now=now)
            continue
        if analysis is None:
            without.append(memory_id)
        else:
            found[memory_id] = analysis
    texts = open_texts(scope, space, without, cipher, moment, now=now)
    return found | {memory_id: TextAnalysis.of(text.reveal()) for memory_id, text in texts.items()}


def open_texts(
    scope: Scope, space: SpaceRef, ids: Sequence[int], cipher: SpaceCipher, moment: Moment | None, *, now: datetime
) -> dict[int, Plaintext]:
    """Memory id to text as of the moment, of memories of this space."""
    if not ids:
        return {}
    rows = fetch_all(_TEXTS, [list(ids), scope.tenant_id, space.id], prepared=True)
    texts: dict[int, Plaintext] = {}
    for memory_id, revision, text, said, parts in rows:
        try:
            texts[memory_id] = open_text_then(cipher, memory_id, revision, text, said, parts, moment)
        except DecryptError as error:
            integrity.note(scope, error, memory_id, space_id=space.id, now=now)
    return texts
