"""Whether a rotation lost or mixed rows: every row decrypted and compared, every token and vector recomputed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection

from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, key_version_of, open_space
from apps.memories.lifetimes import Lifetimes
from apps.memories.models import Memory, MemoryVector
from apps.memories.nearest import signs
from apps.memories.postings import posting_of
from apps.memories.sealing import open_embedding, open_memory
from apps.projects.models import Space
from apps.projects.scope import Scope
from text.terms import terms

BATCH = 1_000
SEALED = ("text_ct", "summary_ct", "label_ct", "tags_ct", "metadata_ct", "handles_ct")
# Key versions in bytes 3 to 6 of seals that differ from the row's.
_MIXED = """
select count(*) from memories_memory m left join memories_memoryvector v on v.memory_id = m.id
 where m.tenant_id = %s and (
    get_byte(m.text_ct, 5) <> m.key_version or get_byte(m.handles_ct, 5) <> m.key_version
    or v.key_version <> m.key_version or get_byte(v.embedding_ct, 5) <> m.key_version)
"""
_BEHIND = """
select (select count(*) from memories_memory where tenant_id = %(tenant)s and key_version <> %(active)s)
     + (select count(*) from memories_memoryvector where tenant_id = %(tenant)s and key_version <> %(active)s)
     + (select count(*) from tenants_enduser where tenant_id = %(tenant)s and key_version <> %(active)s)
     + (select count(*) from ingest_ingestreceipt where tenant_id = %(tenant)s and key_version <> %(active)s)
"""


@dataclass(slots=True)
class Found:
    """lost: acknowledged memories that are missing or have another text.

    mixed: sealed under several key versions, or indexed under another version.  behind: not under the active version.
    """

    rows: int = 0
    lost: int = 0
    mixed: int = 0
    behind: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, name: str, memory_id: int) -> None:
        setattr(self, name, getattr(self, name) + 1)
        self.examples = [*self.examples, f"{name}: memory {memory_id}"][:10]


def count_mixed(scope: Scope) -> int:
    """Number of mixed rows, in a single statement."""
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(_MIXED, [scope.tenant_id])
        (count,) = cursor.fetchone()
    return int(count)


def check_all(scope: Scope, written: Mapping[int, str], *, active: int) -> Found:
    """Decrypt every row, including expired ones.  written: acknowledged texts by id."""
    found = Found()
    ids = sorted(written)
    with tenant_transaction(scope):
        spaces = {space.pk: space for space in Space.objects.within(scope)}
        ciphers = {pk: open_space(scope.tenant, space.ref) for pk, space in spaces.items()}
        for batch in (ids[at : at + BATCH] for at in range(0, len(ids), BATCH)):
            _check_batch(scope, batch, written, spaces, ciphers, found)
        with connection.cursor() as cursor:
            cursor.execute(_BEHIND, {"tenant": scope.tenant_id, "active": active})
            (found.behind,) = cursor.fetchone()
    return found


def _check_batch(
    scope: Scope,
    ids: Sequence[int],
    written: Mapping[int, str],
    spaces: Mapping[int, Space],
    ciphers: Mapping[int, SpaceCipher],
    found: Found,
) -> None:
    rows = {row.pk: row for row in Memory.objects.within_tenant(scope).filter(pk__in=ids).select_related("vector")}
    tokens = _tokens(scope, ids)
    for memory_id in ids:
        found.rows += 1
        row = rows.get(memory_id)
        cipher = ciphers.get(row.space_id) if row else None
        try:
            space = spaces[row.space_id].ref if row else None
            said = open_memory(row, cipher, space, Lifetimes(())).text.reveal() if row and cipher and space else None
        except DecryptError:
            said = None
        if row is None or cipher is None or said != written[memory_id]:
            found.note("lost", memory_id)
        elif not _is_whole(row, cipher, said, tokens.get(memory_id, set())):
            found.note("mixed", memory_id)


def _is_whole(row: Memory, cipher: SpaceCipher, said: str, tokens: set[int]) -> bool:
    vector: MemoryVector | None = getattr(row, "vector", None)
    seals = [getattr(row, name) for name in SEALED] + ([vector.embedding_ct] if vector else [])
    versions = {key_version_of(bytes(blob)) for blob in seals if blob} | {row.key_version}
    expected = set(posting_of(row, terms(said), cipher).counts)
    return (
        versions == {cipher.key_version}
        and tokens == expected
        and vector is not None
        and vector.key_version == cipher.key_version
        and _has_its_signs(row, vector, cipher)
    )


def _has_its_signs(row: Memory, vector: MemoryVector, cipher: SpaceCipher) -> bool:
    embedding = open_embedding(row.pk, bytes(vector.embedding_ct), cipher)
    return vector.signs is not None and str(vector.signs) == signs(embedding, cipher)


def _tokens(scope: Scope, ids: Sequence[int]) -> dict[int, set[int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select memory_id, array_agg(token) from memories_posting where tenant_id = %s and memory_id = any(%s) "
            "group by memory_id",
            [scope.tenant_id, list(ids)],
        )
        return {memory_id: set(tokens) for memory_id, tokens in cursor.fetchall()}
