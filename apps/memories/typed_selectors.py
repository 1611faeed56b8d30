"""Reads typed memories by their public ids, and lists the profiles of a namespace."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, open_space, open_tenant
from apps.memories import integrity
from apps.memories.integrity import END_USER
from apps.memories.lookup_keys import slot_in_group
from apps.memories.models import Memory
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import MemoryNotFound, get_memory, replaced_by
from apps.memories.spaces import find_namespace, name_in_namespace
from apps.memories.types import TYPES
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceKind
from apps.tenants.models import EXTERNAL_ID, EndUser

MOST_READ: Final = 20_000  # end users that are decrypted to find the profiles of a namespace: the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedDetails:
    """successor: public id of the memory that replaced it.  supersedes: of those that it replaced, newest first."""

    memory: OpenedMemory
    successor: str | None
    supersedes: Sequence[str]


def describe_typed(scope: Scope, public_id: str, *, now: datetime) -> TypedDetails:
    """The memory with this public id: of several the active one, else the newest.  Raises MemoryNotFound."""
    if not scope.spaces or "\x00" in public_id:
        raise MemoryNotFound
    with tenant_transaction(scope):
        same = Memory.objects.within(scope).existing(now).filter(public_id=public_id)
        memory_id = same.order_by("retention_status", "-pk").values_list("pk", flat=True).first()
        if memory_id is None:
            raise MemoryNotFound
        memory = get_memory(scope, memory_id, now=now)
        replaced = replaced_by(scope, memory_id, now=now)
        named = public_ids(scope, [*replaced, *([memory.superseded_by] if memory.superseded_by else [])])
    return TypedDetails(
        memory=memory,
        successor=named.get(memory.superseded_by) if memory.superseded_by else None,
        supersedes=[named[one] for one in replaced if one in named],
    )


def public_ids(scope: Scope, memory_ids: Collection[int]) -> dict[int, str]:
    """Memory id to public id, of those of these memories that the scope reaches."""
    if not scope.spaces or not memory_ids:
        return {}
    with tenant_transaction(scope):
        return dict(Memory.objects.within(scope).filter(pk__in=memory_ids).values_list("pk", "public_id"))


def ids_under(scope: Scope, type_: str, topic_key: str, *, now: datetime) -> list[int]:
    """Every memory under this topic key, current or replaced, oldest first.  type_: ``fact`` or ``instruction``."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        slot = slot_in_group(cipher, TYPES[type_].group or "", topic_key, project_id=scope.project_id)
        chain = Memory.objects.within(scope).existing(now).filter(slot=slot)
        return list(chain.order_by("pk").values_list("pk", flat=True))


def list_profiles(scope: Scope, namespace: str, *, limit: int, now: datetime) -> dict[str, int]:
    """The profiles of a namespace with a space in the scope's environment, the newest first: name to id of the space.

    Names that fail decryption are left out.
    """
    prefix = name_in_namespace(scope, namespace, "")
    namespace_id = find_namespace(scope, namespace) if prefix else None
    if prefix and namespace_id is None:
        return {}
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant)
        spaces = Space.objects.within(scope).filter(environment=scope.environment, kind=SpaceKind.END_USER)
        by_owner = dict(spaces.filter(namespace_id=namespace_id, branch="").values_list("owner_id", "pk"))
        people = EndUser.objects.within(scope).filter(pk__in=by_owner).order_by("-pk")
        rows = list(people.values_list("pk", "external_ct")[:MOST_READ])
    found: dict[str, int] = {}
    for person_id, blob in rows:
        try:
            name = cipher.open(EXTERNAL_ID, person_id, bytes(blob)).reveal()
        except DecryptError as error:
            integrity.note(scope, error, person_id, space_id=None, table=END_USER, now=now)
            continue
        if name.startswith(prefix) and (prefix or _is_plain(name)):
            found[name[len(prefix) :]] = by_owner[person_id]
        if len(found) == limit:
            break
    return found


def namespace_names(scope: Scope, namespace_ids: Collection[int]) -> dict[int, str]:
    """The names of these namespaces, by the ids of their rows; "?" for one that fails decryption."""
    if not namespace_ids:
        return {}
    found = dict.fromkeys(namespace_ids, "?")
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant)
        rows = EndUser.objects.within(scope).filter(pk__in=namespace_ids)
        for row_id, blob in rows.values_list("pk", "external_ct"):
            with suppress(DecryptError):
                found[row_id] = cipher.open(EXTERNAL_ID, row_id, bytes(blob)).reveal()[:-1]
    return found


def _is_plain(name: str) -> bool:
    """Whether it is of no namespace: names in one contain a control character."""
    return name.isprintable()
