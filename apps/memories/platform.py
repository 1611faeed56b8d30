"""Memories of agent platforms: what identifies one for its caller, its labels, and its content.

A caller changes a memory in place.  Inside, a newer one takes its place in the same slot, so that the slot is what the
caller's id means; a memory without a slot, or with a disputed one, goes by its own id.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, open_space
from apps.memories.lookup_keys import message_token, slot_in_group
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import CATEGORY, WORKSPACE
from apps.memories.selectors import MemoryNotFound, get_memory
from apps.memories.types import TYPES
from apps.projects.scope import Scope

TYPE: Final = "fact"  # of every memory that is made here; its category is a label
_HAS: Final = " and memory.tag_tokens && %s::bigint[]"
_HAS_NOT: Final = " and not memory.tag_tokens && %s::bigint[]"
_IDS: Final = 2**63  # ids of memories are below; of 128 bits of a keyed hash, the first half is never empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file that belongs to a memory and is stored elsewhere.  url: where; it is never fetched.  type: media type.

    size: in bytes.  checksum: as its caller writes it.  None where the caller gives none.
    """

    url: str
    type: str | None = None
    name: str | None = None
    size: int | None = None
    checksum: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformContent:
    """What a memory says.  created_at: of the first memory in its slot."""

    value: str
    summary: str | None
    category: str
    created_at: datetime
    assets: Sequence[Asset] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFilter:
    """Labels that a memory has.  tag, category, session, message: None for any.  workspace: empty for memories of none.

    The category of a memory that was made elsewhere is its type.
    """

    category: str | None = None
    tag: str | None = None
    workspace: str = ""
    session: str | None = None
    message: str | None = None

    def accepts(self, memory: OpenedMemory) -> bool:
        return (
            memory.workspace == self.workspace
            and self.tag in (None, *memory.tags)
            and self.session in (None, memory.session)
            and self.message in (None, *memory.messages)
            and self.category in (None, memory.category or memory.type)
        )

    def sql(self, cipher: SpaceCipher) -> tuple[str, list[Any]]:
        """The same as conditions on ``memory`` in a searchable space, and their values."""
        live = cipher.live()
        where = _HAS if self.workspace else _HAS_NOT
        values: list[Any] = [[one.filter_token(WORKSPACE, self.workspace) for one in live]]
        if self.tag is not None:
            where += _HAS
            values.append([one.tag_token(self.tag) for one in live])
        if self.message is not None:
            where += _HAS
            values.append([message_token(one, self.message) for one in live])
        if self.session is not None:
            where += " and memory.session_token = %s"
            values.append(cipher.session_token(self.session))
        if self.category is not None:
            where += (
                " and (memory.tag_tokens && %s::bigint[] "
                "or (memory.type = %s and not memory.tag_tokens && %s::bigint[]))"
            )
            values += [
                [one.filter_token(CATEGORY, self.category) for one in live],
                self.category,
                [one.filter_token(CATEGORY, "") for one in live],
            ]
        return where, values


def content_of(memory: OpenedMemory) -> PlatformContent:
    """Of a memory that was made elsewhere: its text, and its type as the category."""
    if not memory.category or memory.content is None:
        summary = memory.summary.reveal() if memory.summary else None
        return PlatformContent(
            value=memory.text.reveal(), summary=summary, category=memory.type, created_at=memory.created_at
        )
    content = orjson.loads(memory.content.reveal())
    return PlatformContent(
        value=content["value"],
        summary=content.get("summary"),
        category=memory.category,
        created_at=datetime.fromisoformat(content["created_at"]),
        assets=[Asset(**asset) for asset in content.get("assets", ())],
    )


def handle_of(memory: OpenedMemory) -> uuid.UUID:
    """The caller's id of a memory, the same for all memories that take each other's place."""
    if memory.slot is not None and memory.validity == "current":
        return uuid.UUID(bytes=memory.slot)
    return uuid.UUID(int=memory.id)


def get_by_handle(scope: Scope, handle: uuid.UUID, labels: LabelFilter, *, now: datetime) -> OpenedMemory:
    """The current memory with this id and these labels in the scope's one space.  Raises MemoryNotFound."""
    named = {"pk": handle.int} if handle.int < _IDS else {"slot": handle.bytes, "validity": "current"}
    memory = _live(scope, named, now=now)
    if memory is None or handle_of(memory) != handle or not labels.accepts(memory):
        raise MemoryNotFound
    return memory


def find_under(scope: Scope, key: str, context: str, *, now: datetime) -> OpenedMemory | None:
    """The current memory under this key and context in the scope's one space and project."""
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        slot = slot_in_group(cipher, TYPES[TYPE].group or "", key, project_id=scope.project_id, context=context)
    return _live(scope, {"slot": slot, "validity": "current"}, now=now)


def _live(scope: Scope, named: Mapping[str, Any], *, now: datetime) -> OpenedMemory | None:
    """The live memory with these columns.  Looked up again if it is replaced while it is opened."""
    while True:
        with tenant_transaction(scope):
            live = Memory.objects.within(scope).live(now)
            memory_id = live.filter(**named).values_list("pk", flat=True).first()
        if memory_id is None:
            return None
        memory = get_memory(scope, memory_id, now=now)
        if memory.validity != "superseded":
            return memory
