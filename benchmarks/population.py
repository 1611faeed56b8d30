"""Fills tables faster than the service: readable rows for spaces that are queried, and filler rows.

A readable row has what a search reads of an added memory: row, vector, keyed terms, and the counts of its space.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import orjson
from django.db import connection
from django.db.models import F
from numpy.typing import NDArray

from apps.adapters.instances import get_embedder
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, open_space
from apps.memories import postings
from apps.memories.lookup_keys import text_mac
from apps.memories.models import Memory
from apps.memories.models.memory import HANDLES, TEXT
from apps.memories.nearest import sign_bits
from apps.memories.sealing import as_sealed, open_handles, seal_embedding
from apps.projects.models import Space
from apps.projects.scope import Scope
from benchmarks.instance import superuser
from text.terms import indexed, rounded_length, terms

CHUNK: Final = 5_000
EMBEDDED: Final = 2_000  # sentences embedded by the model; all other vectors lie near one of theirs
NEAR: Final = 0.35  # length of the noise added to a unit vector for a vector near it
FILLER_SPACE: Final = 1_000  # rows in each filler space
FILLER_WORDS: Final = 8
TABLES: Final = ("memories_memory", "memories_memoryvector", "memories_posting")

# Columns that a copy takes over from its template row.
COPIED: Final = (
    "environment, updated_at, created_txid, changed_txid, type, key_version, revision, "
    "source, source_kind, event_type, tier, is_summary, pinned, tag_tokens, from_assistant, validity, "
    "superseded_reason, retention_status, deletion_method, legal_hold, source_strength, repetition_count, "
    "extractor_confidence, type_prior, confidence, importance, platform_importance, access_count, event_precision, "
    "created_at, tenant_id, project_id"
)

# Each vector has its own bits, so that no scan over equal keys is measured.  lot, made_at: random values per row, for
# columns that are not copied.
_CROWD: Final = """
with spaces as (
    insert into projects_space (uid, environment, kind, profile, identity_version, owner_id, txid, doc_count,
        term_total, created_at, tenant_id)
    select gen_random_uuid(), environment, kind, profile, identity_version, (random() * 1e15)::bigint, 1, %(each)s,
        %(each)s * 8, created_at, tenant_id
    from projects_space, generate_series(1, %(spaces)s) where tenant_id = %(tenant)s and id = %(space)s
    returning id
), places as (
    select spaces.id as place, random() as lot, now() - random() * interval '80 days' as made_at
    from spaces, generate_series(1, %(each)s)
), made as (
    insert into memories_memory (public_id, text_ct, handles_ct, text_mac, space_id, {columns})
    select 'mem_' || md5(random()::text), text_ct, handles_ct, decode(md5(random()::text), 'hex'), place, {values}
    from places, (select * from memories_memory where tenant_id = %(tenant)s and id = %(template)s) one
    returning id, space_id, project_id, created_at, retention_status = 'active' and validity <> 'superseded' as live
), vectors as (
    insert into memories_memoryvector (memory_id, vector_id, signs, embedding_ct, live, embedder, key_version,
        created_at, tenant_id, space_id, project_id)
    select made.id, gen_random_uuid(),
        (select string_agg(('x' || md5(made.id::text || part))::bit(128)::text, '') from generate_series(1, 3) part)
            ::bit(384),
        embedding_ct, made.live, embedder, key_version, made.created_at, tenant_id, made.space_id, made.project_id
    from made, (select * from memories_memoryvector where tenant_id = %(tenant)s and memory_id = %(template)s) one
)
insert into memories_posting (tenant_id, space_id, token, memory_id, tf, length)
select %(tenant)s, space_id, (random() * 1e15)::bigint, id, 1, 8 from made, generate_series(1, %(words)s)
on conflict do nothing
"""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """ids, vectors: of each written row, with vectors as they are sealed.  Shape (n, dimensions)."""

    ids: NDArray[np.int64]
    vectors: Vectors


def fill(scope: Scope, rows: int, said: Iterator[str], *, embeds: bool = True, notes: bool = False) -> Filled:
    """Add ``rows`` memories to the scope's space, as copies of its first memory with their own ids, texts and vectors.

    embeds: with vectors.  notes: also write what an add writes but no search reads: history, candidates and outbox
    events.
    """
    texts = list(itertools.islice(said, rows))
    vectors = _vectors(texts) if embeds else np.empty((rows, 0), dtype=np.float32)
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        template = Memory.objects.within(scope).order_by("pk").first()
        assert template is not None, "an add over HTTP made it"
        handles = orjson.dumps(asdict(open_handles(template, cipher)))
    ids: list[int] = []
    for start in range(0, rows, CHUNK):
        part = slice(start, start + CHUNK)
        with tenant_transaction(scope):
            ids += _write(scope, template.pk, texts[part], vectors[part], handles, cipher, notes=notes)
    return Filled(ids=np.array(ids), vectors=vectors)


def _vectors(texts: Sequence[str]) -> Vectors:
    embedder, chosen = get_embedder(), np.random.default_rng(7)
    read = np.stack([embedder.embed([text])[0] for text in texts[:EMBEDDED]])
    vectors = np.empty((len(texts), read.shape[1]), dtype=np.float32)
    vectors[: len(read)] = read
    for start in range(len(read), len(texts), CHUNK):
        part = vectors[start : start + CHUNK]
        noise = chosen.standard_normal(part.shape, dtype=np.float32)
        part[:] = read[chosen.integers(len(read), size=len(part))]
        part += NEAR * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return as_sealed(vectors)


def _write(
    scope: Scope,
    template: int,
    texts: Sequence[str],
    vectors: Vectors,
    handles: bytes,
    cipher: SpaceCipher,
    *,
    notes: bool,
) -> list[int]:
    """Write one chunk; returns the ids."""
    ids = reserve_ids(len(texts), sequence="memories_memory_id_seq")
    words = [terms(text) for text in texts]
    sealed = [cipher.seal(TEXT, one, Plaintext(text)) for one, text in zip(ids, texts, strict=True)]
    digests = [text_mac(cipher, Plaintext(text), voice="") for text in texts]
    with connection.cursor() as cursor:
        cursor.execute(
            f"insert into memories_memory (id, public_id, text_ct, handles_ct, text_mac, space_id, {COPIED}) "  # noqa: S608
            f"select fresh.id, 'mem_' || md5(random()::text), fresh.text, fresh.handles, fresh.mac, %s, {COPIED} "
            "from unnest(%s::bigint[], %s::bytea[], %s::bytea[], %s::bytea[]) fresh(id, text, handles, mac), "
            "(select * from memories_memory where tenant_id = %s and id = %s) one",
            [scope.space.id, ids, sealed, [cipher.seal(HANDLES, one, handles) for one in ids], digests,
             scope.tenant_id, template],
        )  # fmt: skip
    if vectors.size:
        _write_vectors(scope, template, ids, vectors, cipher)
    postings.write(scope, [_posting(scope, one, said, cipher) for one, said in zip(ids, words, strict=True)])
    if notes:
        _write_notes(scope, ids, digests)
    Space.objects.within(scope).filter(pk=scope.space.id).update(
        doc_count=F("doc_count") + len(ids), term_total=F("term_total") + sum(map(len, words)), txid=F("txid") + 1
    )
    return ids


def _write_notes(scope: Scope, ids: Sequence[int], digests: Sequence[bytes]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into memories_memorytransition (created_at, tenant_id, memory_id, space_id, txid, event, actor, "
            "changed_fields) select now(), %s, id, %s, 1, 'created', 'benchmark', '{}' from unnest(%s::bigint[]) id",
            [scope.tenant_id, scope.space.id, list(ids)],
        )
        cursor.execute(
            "insert into ingest_candidate (created_at, tenant_id, space_id, decision, reason, type, memory_id, digest) "
            "select now(), %s, %s, 'created', '', 'fact', fresh.id, fresh.digest "
            "from unnest(%s::bigint[], %s::bytea[]) fresh(id, digest)",
            [scope.tenant_id, scope.space.id, list(ids), list(digests)],
        )
        cursor.execute(
            "insert into outbox_outboxevent (tenant_id, kind, subject_id, run_after, created_at, attempts, error) "
            "select %s, 'embed', id, now(), now(), 0, '' from unnest(%s::bigint[]) id",
            [scope.tenant_id, list(ids)],
        )


def _write_vectors(scope: Scope, template: int, ids: Sequence[int], vectors: Vectors, cipher: SpaceCipher) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into memories_memoryvector (memory_id, vector_id, signs, embedding_ct, live, embedder, "
            "key_version, created_at, tenant_id, space_id, project_id) "
            "select fresh.id, gen_random_uuid(), fresh.signs, fresh.embedding, true, one.embedder, one.key_version, "
            "one.created_at, one.tenant_id, one.space_id, one.project_id "
            "from unnest(%s::bigint[], %s::bit(384)[], %s::bytea[]) fresh(id, signs, embedding), "
            "(select * from memories_memoryvector where tenant_id = %s and memory_id = %s) one",
            [list(ids), sign_bits(vectors, cipher),
             [seal_embedding(one, vector, cipher) for one, vector in zip(ids, vectors, strict=True)],
             scope.tenant_id, template],
        )  # fmt: skip


def _posting(scope: Scope, memory_id: int, said: Sequence[str], cipher: SpaceCipher) -> postings.Posting:
    counts = indexed(said)
    return postings.Posting(
        memory_id=memory_id,
        space_id=scope.space.id,
        counts=dict(zip(cipher.term_tokens(counts), counts.values(), strict=True)),
        length=rounded_length(len(said)),
    )


def crowd(scope: Scope, template: int, rows: int, *, but: Mapping[str, str] | None = None) -> None:
    """Add filler rows to the tables, in spaces of their own that nobody queries.  They cannot be decrypted.

    but: columns that are not copied, with SQL for their values; it may use lot (0 to 1) and made_at (in the last 80
    days).
    """
    columns = dict(zip(COPIED.split(", "), COPIED.split(", "), strict=True)) | dict(but or {})
    statement = _CROWD.format(columns=", ".join(columns), values=", ".join(columns.values()))
    with superuser() as cursor:
        for start in range(0, rows, FILLER_SPACE * 20):
            _crowd(cursor, statement, scope, template, min(FILLER_SPACE * 20, rows - start))
            cursor.connection.commit()


def _crowd(cursor: Any, statement: str, scope: Scope, template: int, rows: int) -> None:
    cursor.execute(
        statement,
        {
            "each": FILLER_SPACE, "spaces": max(1, round(rows / FILLER_SPACE)), "tenant": scope.tenant_id,
            "space": scope.space.id, "template": template, "words": FILLER_WORDS,
        },
    )  # fmt: skip


def settle() -> None:
    """VACUUM ANALYZE, as autovacuum would after a bulk load: update statistics and the visibility map."""
    with superuser(autocommit=True) as cursor:
        cursor.execute(f"vacuum (analyze) {', '.join(TABLES)}, projects_space")


def rows_there() -> int:
    with superuser() as cursor:
        cursor.execute("select count(*) from memories_memory")
        row = cursor.fetchone()
    return int(row[0]) if row else 0
