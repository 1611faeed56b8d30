"""Edit the attributes of memories: labels, tags, importance, metadata, values of fields.  Text cannot be edited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded
from apps.memories import integrity, revisions
from apps.memories.models import Memory
from apps.memories.revisions import Diff, FieldChange
from apps.memories.sealing import REVISED_COLUMNS, open_field_values, open_metadata, open_tags, seal_changed
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import lock_space
from apps.memories.tenant_types import Registry, registry_of
from apps.memories.type_fields import check_values
from apps.projects.models import Space
from apps.projects.scope import Scope


class MemoryReadOnly(Conflict):
    """This memory is archived or was replaced by a newer one: it can be read but not changed."""

    code = "MEMORY_READ_ONLY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New values for one memory; None leaves a field unchanged.  metadata: replaces all of the caller's metadata.

    fields: replaces all values of the fields of the memory's type.
    """

    memory_id: int
    tags: Sequence[str] | None = None
    importance: float | None = None
    metadata: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] | None = None
    source: str | None = None
    event_type: str | None = None
    pinned: bool | None = None


class EditStatus(StrEnum):
    UPDATED = "updated"
    NOT_FOUND = "not_found"
    READ_ONLY = "read_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """Result of one edit.  changed_fields: fields whose value changed; empty if the memory had all values already."""

    memory_id: int
    status: EditStatus
    changed_fields: Sequence[str] = ()


def edit(scope: Scope, one: Edit, *, now: datetime) -> Edited:
    """Apply one edit.

    Raises MemoryNotFound, MemoryReadOnly, BadFieldValues; DecryptError if the memory fails decryption.
    """
    (edited,) = _edit_all(scope, [one], leave_broken=False, now=now)
    if edited.status == EditStatus.NOT_FOUND:
        raise MemoryNotFound
    if edited.status == EditStatus.READ_ONLY:
        raise MemoryReadOnly
    return edited


def edit_many(scope: Scope, edits: Sequence[Edit], *, now: datetime) -> list[Edited]:
    """Apply the edits in one transaction; returns the result of each, in order.  At most one edit per memory.

    A memory that is out of reach or fails decryption is reported as not found and does not block the others.  Raises
    BadFieldValues, and then changes none of them.
    """
    return _edit_all(scope, edits, leave_broken=True, now=now)


def _edit_all(scope: Scope, edits: Sequence[Edit], *, leave_broken: bool, now: datetime) -> list[Edited]:
    if not scope.spaces:
        return [_absent(one) for one in edits]
    try:
        with tenant_transaction(scope):
            return _edit_locked(scope, edits, leave_broken=leave_broken, now=now)
    except SpaceShredded:
        return [_absent(one) for one in edits]


def _edit_locked(scope: Scope, edits: Sequence[Edit], *, leave_broken: bool, now: datetime) -> list[Edited]:
    space, cipher = lock_space(scope)
    ids = [one.memory_id for one in edits if 0 < one.memory_id < 2**63]
    # Locked in id order, as in all code that changes memories.
    found = Memory.objects.within(scope).existing(now).filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    rows = {row.pk: row for row in found}
    types = registry_of(scope) if any(one.fields is not None for one in edits) else Registry()
    results: list[Edited] = []
    changes: list[FieldChange] = []
    space.txid += 1
    for one in edits:
        row = rows.get(one.memory_id)
        if row is None:
            results.append(_absent(one))
        elif not row.is_live():
            results.append(Edited(memory_id=one.memory_id, status=EditStatus.READ_ONLY))
        else:
            try:
                diff = _apply(row, one, space, cipher, types, now=now)
            except DecryptError as error:
                integrity.note(scope, error, row.pk, space_id=space.pk, now=now)
                if not leave_broken:
                    raise
                results.append(_absent(one))
                continue
            results.append(Edited(memory_id=row.pk, status=EditStatus.UPDATED, changed_fields=tuple(diff)))
            if diff:
                changes.append(FieldChange(memory_id=row.pk, event="updated", diff=diff))
    if changes:
        space.save(update_fields=["txid"])
        revisions.write(scope, space, changes, cipher, now=now)
        _record(scope, changes, now=now)
    return results


def _apply(row: Memory, one: Edit, space: Space, cipher: SpaceCipher, types: Registry, *, now: datetime) -> Diff:
    """Write the fields that differ; returns the old and new value of each."""
    tags, metadata, fields = open_tags(row, cipher), open_metadata(row, cipher), open_field_values(row, cipher)
    before = {
        "tags": tags,
        "importance": row.importance,
        "metadata": metadata,
        "fields": fields,
        "source": row.source or None,
        "event_type": row.event_type or None,
        "pinned": row.pinned,
    }
    wanted: dict[str, Any] = {
        "tags": tags if one.tags is None else list(one.tags),
        "importance": row.importance if one.importance is None else one.importance,
        "metadata": metadata if one.metadata is None else dict(one.metadata),
        "fields": fields if one.fields is None else check_values(types.fields(row.type), one.fields),
        "source": (row.source if one.source is None else one.source) or None,
        "event_type": (row.event_type if one.event_type is None else one.event_type) or None,
        "pinned": row.pinned if one.pinned is None else one.pinned,
    }
    diff = {name: {"old": before[name], "new": new} for name, new in wanted.items() if not _is_same(before[name], new)}
    if not diff:
        return diff
    columns = ["updated_at", "changed_txid"]
    row.updated_at, row.changed_txid = now, space.txid
    for name in {"importance", "source", "event_type", "pinned"} & diff.keys():
        setattr(row, name, "" if wanted[name] is None else wanted[name])
        columns.append(name)
    if {"tags", "metadata", "fields"} & diff.keys():
        values = wanted["fields"] if "fields" in diff else None
        seal_changed(row, cipher, tags=wanted["tags"], metadata=wanted["metadata"], fields=values)
        columns += REVISED_COLUMNS
    row.save(update_fields=columns)
    return diff


def _is_same(old: object, new: object) -> bool:
    """Whether both are the same JSON: Python treats true, 1 and 1.0 as equal."""
    return orjson.dumps(old, option=orjson.OPT_SORT_KEYS) == orjson.dumps(new, option=orjson.OPT_SORT_KEYS)


def _absent(one: Edit) -> Edited:
    return Edited(memory_id=one.memory_id, status=EditStatus.NOT_FOUND)


def _record(scope: Scope, changes: Sequence[FieldChange], *, now: datetime) -> None:
    names = sorted({name for change in changes for name in change.diff})
    target = f"memory:{changes[0].memory_id}" if len(changes) == 1 else f"space:{scope.space.id}"
    record(
        scope,
        actor=scope.principal.label,
        action=AuditAction.MEMORY_UPDATE,
        target=target,
        reason=",".join(names),
        count=len(changes),
        now=now,
    )
