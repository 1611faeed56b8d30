"""Gives memories another type: each row is rewritten as if it had been of that type from the start.

Its slot, public id, prior and confidence follow from the type.  Of the values of its fields it keeps those that fit the
type's, and gets those that its text has; the former ones are in its history, where an undo finds them.  If another
memory has the slot or the public id already, the row is left unchanged: a change of types never replaces a memory.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import orjson

from apps.core.plaintext import Plaintext
from apps.crypto.encrypted_tables import write_columns
from apps.crypto.services import DecryptError, SpaceCipher
from apps.memories import integrity, revisions
from apps.memories.field_values import find_values
from apps.memories.lookup_keys import public_id, slot_in_group, value_mac
from apps.memories.models import Memory, Retention, Validity
from apps.memories.models.memory import HANDLES, LABEL
from apps.memories.revisions import Diff, FieldChange
from apps.memories.sealing import open_field_values, open_handles, open_text, seal_changed
from apps.memories.type_fields import TypeField, fitting
from apps.memories.types import MemoryType, confidence
from apps.projects.models import Space
from apps.projects.scope import Scope
from text.terms import normalised

_COLUMNS: Final = {
    "id": "bigint", "type": "text", "slot": "bytea", "value_mac": "bytea", "public_id": "text",
    "handles_ct": "bytea", "type_prior": "float8", "confidence": "float8", "tags_ct": "bytea", "metadata_ct": "bytea",
    "fields_ct": "bytea", "parts_ct": "bytea", "revision": "integer", "changed_txid": "bigint",
    "updated_at": "timestamptz",
}  # fmt: skip


class RetypingResult(StrEnum):
    """Of one row: it has the new type; another memory has its slot or public id there; it failed decryption."""

    CHANGED = "changed"
    TAKEN = "taken"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerType:
    """The former values of a row: all that cannot be derived from a type.

    fields: values of the type's fields; None if they are as they were.
    """

    type: str
    prior: float
    confidence: float
    had_slot: bool
    fields: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRequest:
    """The requested type of one row, and the type's fields.  back_to: former values, if they are to be restored."""

    type: MemoryType
    fields: Sequence[TypeField] = ()
    back_to: FormerType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retyped:
    """The result for one row.

    txid: the number of the space's change, if the row was changed.  fields: the names of those that have a value then.
    """

    memory_id: int
    result: RetypingResult
    was: FormerType
    txid: int | None = None
    fields: Sequence[str] = ()


def said(row: Memory, cipher: SpaceCipher) -> tuple[str | None, Plaintext]:
    """The key and the text that rules are matched with.  Raises DecryptError."""
    key = cipher.open(LABEL, row.pk, bytes(row.label_ct)).reveal() if row.label_ct else None
    return key, open_text(row, cipher)


def retype(
    scope: Scope,
    space: Space,
    cipher: SpaceCipher,
    rows: Sequence[Memory],
    wishes: Mapping[int, TypeRequest],
    *,
    dry_run: bool = False,
    now: datetime,
) -> list[Retyped]:
    """Give each row the type requested for its id.  dry_run: only return the results.

    Unless it is a dry run, in the transaction that has locked the space and the rows.
    """
    made: dict[int, list[Any]] = {}
    diffs: dict[int, Diff] = {}
    fields: dict[int, Sequence[str]] = {}
    broken: set[int] = set()
    for row in rows:
        try:
            key, text = said(row, cipher)
            fields[row.pk], diffs[row.pk] = _set_fields(row, wishes[row.pk], text, cipher)
            made[row.pk] = _columns_of(row, wishes[row.pk], key, text, cipher)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=space.pk, now=now)
            broken.add(row.pk)
    taken = _taken(scope, space, [row for row in rows if row.pk in made], made)
    changed = [row for row in rows if row.pk in made and row.pk not in taken]
    if changed and not dry_run:
        space.txid += 1
        space.save(update_fields=["txid"])
        write_columns("memories_memory", _COLUMNS, [[*made[row.pk], space.txid, now] for row in changed], scope)
        notes = [FieldChange(memory_id=row.pk, event="retyped", diff=diffs[row.pk]) for row in changed]
        revisions.write(scope, space, notes, cipher, now=now)
    ids = {row.pk for row in changed}
    return [
        Retyped(
            memory_id=row.pk,
            result=RetypingResult.CHANGED
            if row.pk in ids
            else RetypingResult.BROKEN
            if row.pk in broken
            else RetypingResult.TAKEN,
            was=FormerType(
                type=row.type, prior=row.type_prior, confidence=row.confidence, had_slot=row.slot is not None
            ),
            txid=space.txid if row.pk in ids and not dry_run else None,
            fields=fields[row.pk] if row.pk in ids else (),
        )
        for row in rows
    ]


def _set_fields(row: Memory, wish: TypeRequest, text: Plaintext, cipher: SpaceCipher) -> tuple[Sequence[str], Diff]:
    """Encrypt the values that the row will have, if they differ, into the row; returns their names, and its history.

    A value that it has already precedes one that is found in the text.
    """
    before = open_field_values(row, cipher)
    diff: dict[str, dict[str, Any]] = {revisions.TYPE: {"old": row.type, "new": wish.type.name}}
    if open_handles(row, cipher).typed:
        return (), diff  # its content is the caller's
    if wish.back_to is None:
        found = find_values(wish.fields, text.reveal(), now=row.valid_from or row.created_at)
        after = fitting(wish.fields, before, found)
    else:
        after = before if wish.back_to.fields is None else dict(wish.back_to.fields)
    if after != before:
        seal_changed(row, cipher, fields=after)
        diff[revisions.FIELDS] = {"old": before, "new": after}
    return tuple(after), diff


def _columns_of(row: Memory, wish: TypeRequest, key: str | None, text: Plaintext, cipher: SpaceCipher) -> list[Any]:
    """The new values in the order of ``_COLUMNS``, without the last two."""
    handles, type_, before = open_handles(row, cipher), wish.type, wish.back_to
    has_slot = bool(type_.group and (key or handles.context)) and (before is None or before.had_slot)
    if has_slot and handles.value is None:
        handles = replace(handles, value=normalised(text.reveal()))
    prior = before.prior if before else type_.prior
    return [
        row.pk,
        type_.name,
        slot_in_group(cipher, type_.group or "", key or "", project_id=row.project_id, context=handles.context)
        if has_slot
        else None,
        value_mac(cipher, handles.value or "") if has_slot else None,
        row.public_id  # of a typed memory, it is of the type that the caller stated
        if handles.typed
        else public_id(cipher, type_.name, key, text, handles, project_id=row.project_id),
        cipher.seal(HANDLES, row.pk, orjson.dumps(asdict(handles))),
        prior,
        before.confidence
        if before
        else confidence(
            source_strength=row.source_strength,
            repetition_count=row.repetition_count,
            extractor_confidence=row.extractor_confidence,
            prior=prior,
        ),
        row.tags_ct,
        row.metadata_ct,
        row.fields_ct,
        row.parts_ct,
        row.revision,
    ]


def _taken(scope: Scope, space: Space, rows: Sequence[Memory], made: Mapping[int, Sequence[Any]]) -> set[int]:
    """Rows whose slot or public id another memory has; of two rows that want the same, the first gets it."""
    active = [row for row in rows if row.retention_status == Retention.ACTIVE]
    holding = [row for row in active if row.validity == Validity.CURRENT and made[row.pk][2] is not None]
    there = Memory.objects.within_tenant(scope).filter(space_id=space.pk, retention_status=Retention.ACTIVE)
    slots = _held(
        there.filter(validity=Validity.CURRENT, slot__in=[made[row.pk][2] for row in holding]).values_list("slot", "pk")
    )
    names = _held(there.filter(public_id__in=[made[row.pk][4] for row in active]).values_list("public_id", "pk"))
    taken: set[int] = set()
    for row in active:
        slot = made[row.pk][2] if row.validity == Validity.CURRENT else None
        name = made[row.pk][4]
        if slots.get(slot, row.pk) != row.pk or names.get(name, row.pk) != row.pk:
            taken.add(row.pk)
            continue
        names[name] = row.pk
        if slot is not None:
            slots[slot] = row.pk
    return taken


def _held(pairs: Collection[tuple[Any, int]]) -> dict[Any, int]:
    return {bytes(name) if isinstance(name, memoryview) else name: pk for name, pk in pairs}
