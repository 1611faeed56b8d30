"""Selection and soft deletion of memories: hidden from every response immediately, restorable for a week."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Self

from django.db.models import Q

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Invalid
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.erasure.hard_delete import copies_of
from apps.memories import integrity
from apps.memories.models import Memory, MemoryQuerySet
from apps.memories.sealing import open_tags
from apps.memories.soft_delete import soft_delete
from apps.memories.spaces import lock_space
from apps.memories.status import with_status
from apps.projects.scope import Scope
from apps.projects.selectors import branches_of


class NothingChosen(Invalid):
    """Say which memories: their ids, or at least one filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySelection:
    """Selects memories by id, or by all given filters.

    tags: a memory must have all of them.  before, after: exclusive bounds of the creation time.  standing: ``current``,
    ``replaced`` or ``archived``; None selects every memory that can be read by id.
    """

    memory_ids: tuple[int, ...] = ()
    source: str | None = None
    event_type: str | None = None
    tags: tuple[str, ...] = ()
    tier: str | None = None
    before: datetime | None = None
    after: datetime | None = None
    type: str | None = None
    standing: str | None = None

    @property
    def filters(self) -> dict[str, Any]:
        """The filters that were given."""
        return {name: value for name, value in asdict(self).items() if name != "memory_ids" and value}

    @property
    def is_empty(self) -> bool:
        return not self.memory_ids and not self.filters

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Self:
        moments = {name: datetime.fromisoformat(said[name]) for name in ("before", "after") if said[name]}
        lists = {name: tuple(said[name]) for name in ("memory_ids", "tags")}
        return cls(**(said | lists | moments))


def preview(scope: Scope, choice: MemorySelection, *, now: datetime) -> list[int]:
    """Return the ids that ``soft_delete_selection`` would delete now.  Changes nothing."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space)
        if cipher.is_searchable or not choice.tags:
            return list(_passing(scope, choice, cipher, now=now).values_list("pk", flat=True))
        return [row.pk for row in _chosen(scope, choice, cipher, now=now)]


def soft_delete_selection(
    scope: Scope, choice: MemorySelection, *, reason: str = "", method: str = "user_request", now: datetime
) -> list[int]:
    """Soft-delete the selected memories of the scope's one space, and return their ids, ascending.

    Skips memories that the scope may not read, that are deleted already or that are under a legal hold.  A memory that
    a deleted one replaced stays replaced.  Raises NothingChosen.
    """
    if choice.is_empty:
        raise NothingChosen
    if not scope.spaces:
        return []
    try:
        with tenant_transaction(scope):
            space, cipher = lock_space(scope)
            rows = list(_chosen(scope, choice, cipher, locked=True, now=now))
            soft_delete(scope, space, rows, cipher, method=method, reason=reason, now=now)
            record(
                scope,
                actor=scope.principal.label,
                action=AuditAction.MEMORY_FORGET,
                target=f"memory:{rows[0].pk}" if len(rows) == 1 else f"space:{space.pk}",
                reason="ids" if choice.memory_ids else ",".join(choice.filters),
                count=len(rows),
                now=now,
            )
    except SpaceShredded:
        return []
    return [row.pk for row in rows]


def soft_delete_with_branches(scope: Scope, choice: MemorySelection, *, reason: str = "", now: datetime) -> list[int]:
    """As ``soft_delete_selection``, and the same in the branches of the space: copies of memories given by id."""
    ids = soft_delete_selection(scope, choice, reason=reason, now=now)
    with tenant_transaction(scope):
        branches = branches_of(scope, [scope.space.uid])
        copies = copies_of(scope, choice.memory_ids) if branches else []
    there = replace(choice, memory_ids=(*choice.memory_ids, *copies))
    for branch in branches:
        ids += soft_delete_selection(scope.in_spaces(branch.ref), there, reason=reason, now=now)
    return ids


def _chosen(
    scope: Scope, choice: MemorySelection, cipher: SpaceCipher, *, locked: bool = False, now: datetime
) -> Iterator[Memory]:
    rows = _passing(scope, choice, cipher, now=now)
    if locked:
        rows = rows.select_for_update(no_key=True)
    for row in rows.only("pk", "tenant_id", "space_id", "retention_status", "validity", "tags_ct", "revision"):
        # A sealed space has no tag tokens, so the tags are decrypted and compared.
        if cipher.is_searchable or not choice.tags or set(choice.tags) <= _tags(scope, row, cipher, now=now):
            yield row


def _passing(scope: Scope, choice: MemorySelection, cipher: SpaceCipher, *, now: datetime) -> MemoryQuerySet:
    """Return the matching rows in id order, the order in which all code locks memories.

    In a sealed space, the filter by tags is not applied yet.
    """
    rows = Memory.objects.within(scope).existing(now).filter(legal_hold=False)
    return _narrowed(rows, choice, cipher, now=now).order_by("pk")


def _narrowed(rows: MemoryQuerySet, choice: MemorySelection, cipher: SpaceCipher, *, now: datetime) -> MemoryQuerySet:
    if choice.memory_ids:
        rows = rows.filter(pk__in=[memory_id for memory_id in choice.memory_ids if 0 < memory_id < 2**63])
    if choice.source:
        rows = rows.filter(source=choice.source)
    if choice.event_type:
        rows = rows.filter(event_type=choice.event_type)
    if choice.type:
        rows = rows.filter(type=choice.type)
    if choice.standing:
        rows = with_status(rows, choice.standing, now)
    if choice.tier:
        rows = rows.filter(tier=choice.tier)
    if choice.before:
        rows = rows.filter(created_at__lt=choice.before)
    if choice.after:
        rows = rows.filter(created_at__gt=choice.after)
    if choice.tags and cipher.is_searchable:
        rows = rows.filter(_has_all(choice.tags, cipher))
    return rows


def _has_all(tags: Sequence[str], cipher: SpaceCipher) -> Q:
    """Match rows with all tags under any live key version; one row's tokens are all under the same version."""
    has = Q()
    for one in cipher.live():
        has |= Q(tag_tokens__contains=[one.tag_token(tag) for tag in tags])
    return has


def _tags(scope: Scope, row: Memory, cipher: SpaceCipher, *, now: datetime) -> set[str]:
    try:
        return set(open_tags(row, cipher))
    except DecryptError as error:
        integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
        return set()
