"""Saves and changes memories of agent platforms.  The caller states the memory; nothing is extracted."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson

from apps.apikeys.permissions import PINS
from apps.core.errors import Conflict, Forbidden
from apps.core.plaintext import Plaintext
from apps.ingest.steps.typed_slots import ReplacedMeanwhile
from apps.ingest.typed import write_owned
from apps.memories.editing import Edit, MemoryReadOnly, edit
from apps.memories.opened import OpenedMemory
from apps.memories.platform import TYPE, Asset, content_of, find_under
from apps.memories.selectors import MemoryNotFound, get_memory
from apps.memories.spaces import SpaceOwner, find_owned, get_or_create_owned
from apps.memories.typed import PlatformLabels, TypedMemory, canonical_json
from apps.projects.scope import Scope


class MadeElsewhere(Conflict):
    """This memory was made by another route: only its tags, importance and pin can be changed here."""

    code = "MADE_ELSEWHERE"


class PinForbidden(Forbidden):
    """To pin or unpin a memory, the key needs candidates:review: retention keeps pinned memories whatever their age."""

    code = "INSUFFICIENT_SCOPE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFields:
    """Fields of a memory; None where the caller gives none.  importance: 0..1."""

    value: str | None = None
    summary: str | None = None
    category: str | None = None
    tags: Sequence[str] | None = None
    importance: float | None = None
    pinned: bool | None = None
    expires_at: datetime | None = None
    source: str | None = None
    session_id: str | None = None
    messages: Sequence[str] | None = None
    assets: Sequence[Asset] | None = None


MOST_ATTEMPTS: Final = 10
DEFAULTS = PlatformFields(value="", category="fact", tags=(), importance=4 / 9, pinned=False, source="manual")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedMemory:
    """status: created, updated, or unchanged if all of it was so before."""

    memory: OpenedMemory
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _TargetSlot:
    """Where a memory is written: key and context are its slot.  current: what is there, as its caller last read it."""

    scope: Scope
    owner: SpaceOwner
    key: str | None
    workspace: str
    context: str
    current: OpenedMemory | None = None


def save(
    scope: Scope,
    owner: SpaceOwner,
    fields: PlatformFields,
    *,
    key: str | None,
    workspace: str,
    always_creates: bool,
    now: datetime,
) -> SavedMemory:
    """Save a memory, whose value must be given, for an owner, who is created if unknown.

    The memory with this key in the same project and workspace is changed in place: what is not given stays.  Without
    a key, or with always_creates, it is a new one.  Call outside of any transaction.
    Raises ForbiddenContent, PinForbidden, ReplacedMeanwhile.
    """
    is_new = always_creates or key is None
    context = orjson.dumps([workspace, secrets.token_hex(16) if is_new else ""]).decode() if workspace or is_new else ""
    slot = _TargetSlot(scope=scope, owner=owner, key=key, workspace=workspace, context=context)
    return _write(slot if is_new else _read_again(slot, now=now), fields, now=now)


def change(
    scope: Scope, owner: SpaceOwner, memory: OpenedMemory, fields: PlatformFields, *, now: datetime
) -> SavedMemory:
    """Change a current memory of this owner in place; what is not given stays.  Call outside of any transaction.

    Raises MadeElsewhere, ForbiddenContent, PinForbidden, MemoryNotFound, MemoryReadOnly, ReplacedMeanwhile.
    """
    if memory.category:
        slot = _TargetSlot(
            scope=replace(scope, project_id=memory.project_id),
            owner=owner,
            key=memory.key,
            workspace=memory.workspace,
            context=memory.context,
            current=memory,
        )
        return _write(slot, fields, now=now)
    if replace(fields, tags=None, importance=None, pinned=None) != PlatformFields():
        raise MadeElsewhere
    _check_pin(scope, memory, fields)
    here = scope.in_spaces(get_or_create_owned(scope, owner, now=now))
    status = "updated" if _edit(here, memory.id, fields, now=now) else "unchanged"
    return SavedMemory(memory=get_memory(here, memory.id, now=now), status=status)


def _write(slot: _TargetSlot, fields: PlatformFields, *, now: datetime) -> SavedMemory:
    """Again, with what another request has written there meanwhile, as often as needed, within reason."""
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return _write_once(slot, fields, now=now)
        except ReplacedMeanwhile:
            slot = _read_again(slot, now=now)
    return _write_once(slot, fields, now=now)


def _read_again(slot: _TargetSlot, *, now: datetime) -> _TargetSlot:
    space = find_owned(slot.scope, slot.owner)
    current = find_under(slot.scope.in_spaces(space), slot.key or "", slot.context, now=now) if space else None
    return replace(slot, current=current)


def _write_once(slot: _TargetSlot, fields: PlatformFields, *, now: datetime) -> SavedMemory:
    # A memory that another route made under this key is replaced as a whole.
    scope, kept = slot.scope, slot.current if slot.current and slot.current.category else None
    _check_pin(scope, kept, fields)
    whole = _over(fields, _over(_fields_of(kept), DEFAULTS) if kept else DEFAULTS)
    written = write_owned(scope, slot.owner, [_stated(slot, whole, now=now)], now=now)
    (made,), here = written.results, scope.in_spaces(written.space)
    status = "updated" if made.superseded else made.status
    if made.status != "created":
        try:
            is_changed = _edit(here, made.memory_id, whole if made.superseded else fields, now=now)
        except MemoryReadOnly:
            raise ReplacedMeanwhile from None
        status = "updated" if made.superseded or is_changed else "unchanged"
    memory = find_under(here, slot.key or "", slot.context, now=now)
    if memory is None:
        raise MemoryNotFound
    return SavedMemory(memory=memory, status=status)


def _stated(slot: _TargetSlot, fields: PlatformFields, *, now: datetime) -> TypedMemory:
    """As the typed door takes it.  Its text is all that may be searched, its content all that identifies it."""
    value, summary, category, tags = fields.value or "", fields.summary, fields.category or "", tuple(fields.tags or ())
    words = [*([value] if summary else []), *([slot.key] if slot.key else []), category, *tags]
    messages, assets = tuple(fields.messages or ()), fields.assets or ()
    content: dict[str, Any] = {
        "value": value,
        "summary": summary or None,
        "tags": tags,
        "category": category,
        "expires_at": fields.expires_at,
        "created_at": content_of(slot.current).created_at if slot.current and slot.current.category else now,
    }
    content |= {"messages": messages} if messages else {}
    content |= {"assets": [asdict(asset) for asset in assets]} if assets else {}
    return TypedMemory(
        type=TYPE,
        topic_key=slot.key,
        summary=Plaintext(summary or value),
        keywords=Plaintext("\n".join(words)),
        content=Plaintext(canonical_json(content)),
        session_id=fields.session_id,
        source=fields.source or "",
        ttl=fields.expires_at - now if fields.expires_at else None,
        tags=tags,
        importance=fields.importance,
        pinned=bool(fields.pinned),
        metadata=slot.current.metadata if slot.current else {},
        labels=PlatformLabels(
            category=category,
            workspace=slot.workspace,
            context=slot.context,
            messages=messages,
            based_on=(slot.current.id, slot.current.updated_at) if slot.current else None,
        ),
    )


def _fields_of(memory: OpenedMemory) -> PlatformFields:
    content = content_of(memory)
    return PlatformFields(
        value=content.value,
        summary=content.summary,
        category=content.category,
        tags=memory.tags,
        importance=memory.importance,
        pinned=memory.pinned,
        expires_at=memory.expires_at,
        source=memory.source,
        session_id=memory.session,
        messages=memory.messages,
        assets=content.assets,
    )


def _over(fields: PlatformFields, others: PlatformFields) -> PlatformFields:
    """These fields, and the others where they give none."""
    names = PlatformFields.__dataclass_fields__
    given = {name: getattr(fields, name) for name in names if getattr(fields, name) is not None}
    return replace(others, **given)


def _edit(scope: Scope, memory_id: int, fields: PlatformFields, *, now: datetime) -> bool:
    """Give the memory these attributes, which do not change what it says.  Returns whether one was different."""
    changed = Edit(
        memory_id=memory_id,
        tags=fields.tags,
        importance=fields.importance,
        pinned=fields.pinned,
        source=fields.source,
    )
    return bool(edit(scope, changed, now=now).changed_fields)


def _check_pin(scope: Scope, current: OpenedMemory | None, fields: PlatformFields) -> None:
    is_pinned = current is not None and current.pinned
    if fields.pinned not in (None, is_pinned) and PINS not in scope.permissions:
        raise PinForbidden
