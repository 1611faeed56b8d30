"""Copies the memories of a space into a new branch of it, under the branch's own keys.

Every ciphertext is decrypted and encrypted again, because it is bound to its row and its space.  Words, tags and
vectors get new tokens and sign bits.  The keyed hashes of the identity key are the same in both spaces and are copied,
and so are public ids, validity and times.  Summaries, relations, entities, turns and links to sources are not copied.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import uuid4

import orjson
from django.db.models import Model, Q

from apps.core.errors import Conflict
from apps.core.prepared_sql import insert
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import open_fields, seal_fields
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity, postings
from apps.memories.claims import CLAIM
from apps.memories.ended_parts import packed, unpacked
from apps.memories.integrity import VECTOR
from apps.memories.lookup_keys import LookupValues
from apps.memories.models import (
    Memory,
    MemoryCheckpoint,
    MemoryClaim,
    MemoryPeriod,
    MemoryQuerySet,
    MemoryTransition,
    MemoryVector,
)
from apps.memories.nearest import stored_signs
from apps.memories.sealing import label_tokens, open_embedding, seal_embedding
from apps.memories.spaces import write_counts
from apps.memories.validity_changes import VALIDITY_EVENTS
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope
from text.terms import terms

MOST: Final = 10_000  # memories of a branch: they are copied in one transaction
BATCH: Final = 500
UNEMBEDDED: Final = ("task",)

Row = TypeVar("Row", bound=Model)


class TooLargeToBranch(Conflict):
    """This end user has more than 10,000 memories, too many for a branch."""

    code = "TOO_LARGE_TO_BRANCH"


@dataclass(slots=True, kw_only=True)
class _Copying:
    """scope: of the origin.  ids: a memory of the origin to its copy.  lost: copies that could not be made."""

    scope: Scope
    space: Space
    before: SpaceCipher
    after: SpaceCipher
    txid: int
    now: datetime
    ids: Mapping[int, int]
    lost: set[int] = field(default_factory=set)
    claims: dict[int, int] = field(default_factory=dict)


def copy_memories(
    scope: Scope, space: Space, before: SpaceCipher, after: SpaceCipher, *, txid: int, now: datetime
) -> int:
    """Copy what the scope reaches of its one space and what existed after the change ``txid``; returns how many.

    space: the branch, whose counts are written.  Under the lock of the origin.  Raises TooLargeToBranch.
    """
    origin_ids = list(_copied(scope, txid, now=now).order_by("pk").values_list("pk", flat=True)[: MOST + 1])
    if len(origin_ids) > MOST:
        raise TooLargeToBranch
    ids = dict(zip(origin_ids, reserve_ids(len(origin_ids), sequence="memories_memory_id_seq"), strict=True))
    work = _Copying(scope=scope, space=space, before=before, after=after, txid=txid, now=now, ids=ids)
    for start in range(0, len(origin_ids), BATCH):
        _copy_batch(work, origin_ids[start : start + BATCH])
    if work.lost:
        branch = Memory.objects.within_tenant(scope).filter(space_id=space.pk)
        branch.filter(superseded_by_id__in=work.lost).update(superseded_by_id=None)
    _copy_checkpoints(work)
    write_counts(scope, space)
    return len(ids) - len(work.lost)


def _copied(scope: Scope, txid: int, *, now: datetime) -> MemoryQuerySet:
    rows = Memory.objects.within(scope).filter(is_summary=False, created_txid__lte=txid)
    return rows.filter(Q(expires_at=None) | Q(expires_at__gt=now), retention_status__in=("active", "archived"))


def _copy_batch(work: _Copying, origin_ids: Sequence[int]) -> None:
    claims = _copy_claims(work, origin_ids)
    made: list[Memory] = []
    words: list[postings.Posting] = []
    for row in Memory.objects.within(work.scope).filter(pk__in=origin_ids).order_by("pk"):
        try:
            memory, text_terms = _copy_memory(work, row)
        except DecryptError as error:
            integrity.note(work.scope, error, row.pk, space_id=row.space_id, now=work.now)
            work.lost.add(work.ids[row.pk])
            continue
        made.append(memory)
        words.append(postings.posting_of(memory, text_terms, work.after))
        work.space.doc_count += 1
        work.space.term_total += len(text_terms)
    insert(made)
    postings.write(work.scope, words)
    there = {row.copied_from: row for row in made if row.copied_from is not None}
    _copy_vectors(work, there)
    insert(claim for claim in claims if claim.memory_id not in work.lost)
    _copy_history(work, list(there))


def _copy_memory(work: _Copying, row: Memory) -> tuple[Memory, list[str]]:
    opened = open_fields(row, work.before)
    if opened["parts_ct"] is not None:
        opened["parts_ct"] = packed(
            replace(part, by=work.ids.get(part.by, 0), claim_id=work.claims.get(part.claim_id or 0))
            for part in unpacked(opened["parts_ct"])
        )
    made = _sealed_again(row, work.ids[row.pk], opened, work)
    made.space_id, made.copied_from, made.legal_hold = work.space.pk, row.pk, False
    made.superseded_by_id = work.ids.get(row.superseded_by_id or 0)
    made.outdated_by_id = work.ids.get(row.outdated_by_id or 0)
    tags = orjson.loads(opened["tags_ct"]) if opened["tags_ct"] else []
    made.tag_tokens = label_tokens(tags, LookupValues(**orjson.loads(opened["handles_ct"] or b"{}")), work.after)
    return made, terms((opened["text_ct"] or b"").decode())


def _copy_claims(work: _Copying, origin_ids: Sequence[int]) -> list[MemoryClaim]:
    """Claims are copied first, because the ended parts of a memory name them."""
    rows = list(MemoryClaim.objects.within(work.scope).filter(memory_id__in=origin_ids).order_by("pk"))
    made: list[MemoryClaim] = []
    for row, claim_id in zip(rows, reserve_ids(len(rows), sequence="memories_memoryclaim_id_seq"), strict=True):
        try:
            claim = _sealed_again(row, claim_id, open_fields(row, work.before), work)
        except DecryptError as error:
            integrity.note(work.scope, error, row.pk, space_id=row.space_id, table=CLAIM, now=work.now)
            continue
        claim.space_id, claim.memory_id = work.space.pk, work.ids[row.memory_id]
        claim.superseded_by_id = work.ids.get(row.superseded_by_id or 0)
        work.claims[row.pk] = claim_id
        made.append(claim)
    return made


def _copy_vectors(work: _Copying, there: Mapping[int, Memory]) -> None:
    """A memory whose vector is not made yet, or does not decrypt, is embedded later."""
    made: dict[int, MemoryVector] = {}
    for row in MemoryVector.objects.within(work.scope).filter(memory_id__in=list(there)).order_by("pk"):
        try:
            vector = open_embedding(row.memory_id, bytes(row.embedding_ct), work.before)
        except DecryptError as error:
            integrity.note(work.scope, error, row.memory_id, space_id=row.space_id, table=VECTOR, now=work.now)
            continue
        twin = _twin(row, None)
        twin.space_id, twin.memory_id, twin.vector_id = work.space.pk, work.ids[row.memory_id], uuid4()
        twin.key_version = work.after.key_version
        twin.embedding_ct = seal_embedding(twin.memory_id, vector, work.after)
        twin.signs = stored_signs(vector, work.after)
        made[row.memory_id] = twin
    insert(made.values())
    without = (there[one] for one in there.keys() - made.keys())
    if waiting := sorted(one.pk for one in without if one.is_live() and one.type not in UNEMBEDDED):
        enqueue(work.scope, "embed", waiting, now=work.now)


def _copy_history(work: _Copying, origin_ids: Sequence[int]) -> None:
    """The periods of memories, and which changes began or ended them: a branch can be rewound to each of them."""
    periods = MemoryPeriod.objects.within(work.scope).filter(memory_id__in=origin_ids).order_by("pk")
    insert(_moved(work, periods))
    notes = MemoryTransition.objects.within(work.scope).filter(memory_id__in=origin_ids, txid__lte=work.txid)
    notes = notes.filter(event__in=VALIDITY_EVENTS).order_by("pk")
    made = _moved(work, notes)
    for note in made:
        note.other_id = work.ids.get(note.other_id or 0)
        note.changed_fields, note.diff_ct, note.key_version = [], None, None
    insert(made)


def _copy_checkpoints(work: _Copying) -> None:
    origin = work.scope.space.id
    names = MemoryCheckpoint.objects.within(work.scope).filter(space_id=origin, txid__lte=work.txid).order_by("pk")
    made = [_twin(row, None) for row in names]
    for one in made:
        one.space_id = work.space.pk
    insert(made)


def _moved(work: _Copying, rows: Iterable[Any]) -> list[Any]:
    """Copies of rows about memories, in the branch."""
    made = [_twin(row, None) for row in rows]
    for one in made:
        one.space_id, one.memory_id = work.space.pk, work.ids[one.memory_id]
    return made


def _sealed_again(row: Row, new_id: int, opened: Mapping[str, bytes | None], work: _Copying) -> Row:
    made: Any = _twin(row, new_id)
    made.key_version = work.after.key_version
    for column, blob in zip(opened, seal_fields(made, opened, work.after), strict=True):
        setattr(made, column, blob)
    return made  # type: ignore[no-any-return]  # a row like the one given


def _twin(row: Row, new_id: int | None) -> Row:
    made = copy(row)
    made.pk = new_id
    return made
