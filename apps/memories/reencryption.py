"""Re-encryption of rows: under the active data key during a rotation, under a new identity key after a compromise.

Any number of workers take rows in batches, each in a short transaction of its caller: rows are locked, decrypted under
their version, and rewritten whole under the active one, with their tokens and vector.  The remaining work is a count of
rows, so a worker may be killed at any point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.fields import encrypted_fields
from apps.core.plaintext import Plaintext
from apps.core.queries import execute, fetch_all, fetch_column
from apps.crypto.encrypted_tables import (
    TABLES,
    Broken,
    SealedColumns,
    SealedTable,
    ciphers_of,
    open_fields,
    register,
    seal_fields,
    write_columns,
)
from apps.crypto.services import DecryptError, SpaceCipher, open_space, open_tenant
from apps.memories import postings
from apps.memories.claims import CLAIM, Claims
from apps.memories.integrity import END_USER, FEEDBACK, MEMORY, TRANSITION, VECTOR, quarantine
from apps.memories.lookup_keys import (
    LookupValues,
    public_id,
    slot_in_group,
    text_mac,
    typed_public_id,
    value_mac,
)
from apps.memories.models import Memory, MemoryClaim, MemoryFeedback, MemoryTransition, MemoryVector
from apps.memories.models.memory import LABEL
from apps.memories.models.search import EMBEDDING
from apps.memories.nearest import stored_signs
from apps.memories.sealing import (
    analysis_bytes,
    label_tokens,
    open_handles,
    open_parts,
    open_said,
    open_text,
    open_typed_content,
)
from apps.memories.tenant_types import read_registry
from apps.memories.types import MemoryType
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import NAMED_KINDS, Scope, SpaceRef
from apps.projects.selectors import branches_of
from apps.tenants.models import EXTERNAL_ID, EndUser
from text.terms import terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """done: rows now under the active version.  quarantined: rows that failed decryption."""

    done: int = 0
    quarantined: int = 0


def reseal_batch(scope: Scope, *, limit: int, now: datetime) -> Resealed:
    """Re-encrypt up to ``limit`` rows of one table under the active key; none if no unlocked row is left.

    Inside the caller's tenant transaction, which holds off the next rotation until it ends.
    """
    active = open_tenant(scope.tenant, writing=True).key_version
    for table in TABLES:
        if ids := _take(scope, table, active, limit):
            broken = table.reseal(scope, ids, now=now)
            if broken:
                quarantine(scope, broken)
            failed = {one.record_id for one in broken if one.table == table.name}
            return Resealed(done=len(set(ids) - failed), quarantined=len(failed))
    return Resealed()


def behind(scope: Scope) -> dict[int, int]:
    """The number of rows under each key version, for all versions, without quarantined rows.

    Inside the tenant's transaction.
    """
    counts: dict[int, int] = {}
    for table in TABLES:
        rows = fetch_all(
            f"select key_version, count(*) from {table.table} t where tenant_id = %s "  # noqa: S608  (ours)
            f"and key_version is not null and {_NOT_PUT_ASIDE} group by key_version",
            [scope.tenant_id, table.name],
        )
        for version, count in rows:
            counts[version] = counts.get(version, 0) + count
    return counts


def rekey_identity_of_tenant(scope: Scope, version: int) -> int:
    """Look up end users by the new identity key from now on; returns how many rows were rekeyed.

    Inside the caller's tenant transaction: writers wait until it ends, and then use the new key.
    """
    before = open_tenant(scope.tenant, writing=True)
    execute(
        "update crypto_tenantkeystate set identity_version = %s, key_epoch = key_epoch + 1 where tenant_id = %s",
        [version, scope.tenant_id],
    )
    after = open_tenant(scope.tenant)
    return sum(table.rekey(scope, None, before, after) for table in TABLES)


def rekey_identity_of_space(scope: Scope, space: SpaceRef) -> int:
    """Recompute the keyed hashes of the space and its branches under the tenant's identity key; returns how many rows.

    Inside the caller's tenant transaction.  The spaces are locked: an add to one waits, and starts over.
    """
    return _rekey(scope, space.id) + sum(_rekey(scope, one.pk) for one in branches_of(scope, [space.uid]))


def _rekey(scope: Scope, space_id: int) -> int:
    row = Space.objects.within(scope).select_for_update().get(pk=space_id)
    before = open_space(scope.tenant, row.ref, writing=True)
    row.identity_version = open_tenant(scope.tenant).identity_version
    row.save(update_fields=["identity_version"])
    after = open_space(scope.tenant, row.ref)
    return sum(table.rekey(scope, row.ref, before, after) for table in TABLES)


_NOT_PUT_ASIDE: Final = (
    "not exists (select 1 from memories_quarantinedrow q "
    'where q.tenant_id = t.tenant_id and q."table" = %s and q.record_id = t.id)'
)


def _take(scope: Scope, table: SealedTable, active: int, limit: int) -> list[int]:
    """Lock rows under older versions that no one else has locked; returns their ids."""
    return fetch_column(
        f"select id from {table.table} t where tenant_id = %s and key_version < %s "  # noqa: S608  (ours)
        f"and {_NOT_PUT_ASIDE} order by key_version, id limit %s for no key update skip locked",
        [scope.tenant_id, active, table.name, limit],
    )


# --- memories, with their words and vectors --------------------------------------------------------------------------

_MEMORY_TYPES: Final = {"id": "bigint", "key_version": "integer", "tag_tokens": "bigint[]"} | dict.fromkeys(
    encrypted_fields(Memory), "bytea"
)
_VECTOR_TYPES: Final = {"id": "bigint", "key_version": "integer", "embedding_ct": "bytea", "signs": "bit(384)"}
_MAC_TYPES: Final = {
    "id": "bigint", "text_mac": "bytea", "said_mac": "bytea", "slot": "bytea", "value_mac": "bytea",
    "public_id": "text", "session_token": "bigint", "actor_token": "bigint",
}  # fmt: skip


class Memories:
    name = MEMORY
    table = "memories_memory"

    def reseal(self, scope: Scope, ids: Sequence[int], *, now: datetime) -> list[Broken]:
        rows = list(Memory.objects.within_tenant(scope).filter(pk__in=list(ids)).order_by("pk"))
        ciphers = ciphers_of(scope, {row.space_id for row in rows})
        broken: list[Broken] = []
        sealed: list[list[Any]] = []
        words: list[postings.Posting] = []
        for row in rows:
            cipher = ciphers[row.space_id]
            try:
                opened = open_fields(row, cipher)
            except DecryptError as error:
                broken.append(
                    Broken(table=MEMORY, record_id=row.pk, space_id=row.space_id, reason=error.reason, seen_at=now)
                )
                continue
            tags = orjson.loads(opened["tags_ct"]) if opened["tags_ct"] else []
            handles = LookupValues(**orjson.loads(opened["handles_ct"] or b"{}"))
            tokens = "{" + ",".join(map(str, label_tokens(tags, handles, cipher))) + "}"
            text = (opened["text_ct"] or b"").decode()
            found = terms(text)
            opened["analysis_ct"] = analysis_bytes(Plaintext(text), found)  # of the current version
            sealed.append([row.pk, cipher.key_version, tokens, *seal_fields(row, opened, cipher)])
            words.append(postings.posting_of(row, found, cipher))
        done = [row[0] for row in sealed]
        write_columns(self.table, _MEMORY_TYPES, sealed, scope)
        postings.remove(scope, done)
        postings.write(scope, words)
        return broken + _reseal_vectors(scope, done, ciphers, now=now)

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is None:
            return 0
        made: list[list[Any]] = []
        registry = read_registry(scope)
        for row in Memory.objects.within_tenant(scope).filter(space_id=space.id).order_by("pk").iterator(1_000):
            try:
                made.append(_handles_anew(row, registry.get(row.type), before, after))
            except DecryptError:
                continue  # it is in quarantine, or will be when it is next read
        for at in range(0, len(made), 1_000):
            write_columns(self.table, _MAC_TYPES, made[at : at + 1_000], scope)
        return len(made)


def _reseal_vectors(
    scope: Scope, memory_ids: Sequence[int], ciphers: dict[int, SpaceCipher], *, now: datetime
) -> list[Broken]:
    broken: list[Broken] = []
    sealed: list[list[Any]] = []
    rows = MemoryVector.objects.within(scope).filter(memory_id__in=list(memory_ids)).order_by("pk")
    for row in rows.select_for_update(no_key=True).values_list("pk", "memory_id", "space_id", "embedding_ct"):
        pk, memory_id, space_id, blob = row
        cipher = ciphers[space_id]
        try:
            raw = cipher.open_bytes(EMBEDDING, memory_id, bytes(blob))
        except DecryptError as error:
            broken.append(
                Broken(table=VECTOR, record_id=memory_id, space_id=space_id, reason=error.reason, seen_at=now)
            )
            continue
        sealed.append([pk, cipher.key_version, cipher.seal(EMBEDDING, memory_id, raw), _signs(raw, cipher)])
    write_columns("memories_memoryvector", _VECTOR_TYPES, sealed, scope)
    if lost := [one.record_id for one in broken]:
        # No data is lost: the text was decrypted, and is embedded again.
        MemoryVector.objects.within(scope).filter(memory_id__in=lost).delete()
        enqueue(scope, "embed", lost, now=now)
    return broken


def _signs(raw: bytes, cipher: SpaceCipher) -> str | None:
    vector: NDArray[np.float32] = np.frombuffer(raw, dtype="<f2").astype(np.float32)
    return stored_signs(vector, cipher)


def _handles_anew(row: Memory, type_: MemoryType, before: SpaceCipher, after: SpaceCipher) -> list[Any]:
    text, handles = open_text(row, before), open_handles(row, before)
    key = before.open(LABEL, row.pk, bytes(row.label_ct)).reveal() if row.label_ct else None
    is_keyed = key is not None or bool(handles.context)
    has_slot = row.slot is not None and is_keyed and handles.value is not None
    has_ended = row.said_ct is not None and bool(open_parts(row, before))
    if content := open_typed_content(row, handles, before):
        found = typed_public_id(after, handles.typed, key, content, project_id=row.project_id, context=handles.context)
    else:
        found = public_id(after, row.type, key, text, handles, project_id=row.project_id)
    return [
        row.pk,
        text_mac(after, text, voice=handles.voice),
        text_mac(after, open_said(row, before), voice=handles.voice) if has_ended else None,
        slot_in_group(after, type_.group or "", key or "", project_id=row.project_id, context=handles.context)
        if has_slot
        else None,
        value_mac(after, handles.value or "") if has_slot else None,
        found,
        after.session_token(handles.session) if handles.session and after.is_searchable else None,
        after.actor_token(handles.actor) if handles.actor and after.is_searchable else None,
    ]


# --- end users ------------------------------------------------------------------------------------------------------


class EndUsers(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is not None:
            return 0

        def handles(person: EndUser) -> list[bytes]:
            external_id = before.open(EXTERNAL_ID, person.pk, bytes(person.external_ct)).reveal()
            person.external_mac = after.identity_mac("end_user", external_id)
            person.bind()  # to the decrypted value, not the row's column
            return [person.external_mac, person.row_mac]

        types = {"external_mac": "bytea", "row_mac": "bytea"}
        return self.remake(scope, EndUser.objects.within(scope), types, handles)

    def open_one(self, scope: Scope, row_id: int) -> None:
        super().open_one(scope, row_id)
        person = EndUser.objects.within(scope).filter(pk=row_id)
        spaces = Space.objects.within(scope).filter(kind__in=NAMED_KINDS, owner_id=row_id)
        if not all(row.is_bound() for row in person) or not all(row.is_bound() for row in spaces):
            raise DecryptError("row_mac")


register(Memories())
register(EndUsers(END_USER, EndUser))
register(SealedColumns(TRANSITION, MemoryTransition))
register(SealedColumns(FEEDBACK, MemoryFeedback))
register(Claims(CLAIM, MemoryClaim))
