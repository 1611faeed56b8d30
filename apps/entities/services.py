"""Merges two entities, and undoes a merge."""

from datetime import datetime
from typing import Any, Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceShredded
from apps.entities.models import Entity, EntityAlias, EntityClaim, EntityMention
from apps.entities.selectors import EntityNotFound, canonical
from apps.memories.spaces import lock_space, touch
from apps.projects.scope import Scope

# The columns that a merge changes, each with the column of the original entity.
_MOVES: Final[tuple[tuple[Any, str, str], ...]] = (
    (EntityAlias, "entity_id", "origin_id"),
    (EntityMention, "entity_id", "origin_id"),
    (EntityClaim, "subject_id", "subject_origin_id"),
    (EntityClaim, "object_id", "object_origin_id"),
)


class SameEntity(Invalid):
    """with_entity_id: is the same entity"""

    code = "SAME_ENTITY"


class NotMerged(Conflict):
    """This entity was not merged into another."""

    code = "NOT_MERGED"


def merge(scope: Scope, entity_id: int, other_id: int, *, now: datetime) -> int:
    """Merge two entities: names, mentions and claims move to the older, or to the end user; returns its id.

    Raises EntityNotFound, SameEntity.
    """
    _check_ids(scope, entity_id, other_id)
    try:
        with tenant_transaction(scope):
            lock_space(scope)
            ends = [canonical(scope, one, now=now) for one in (entity_id, other_id)]
            stays, goes = sorted(ends, key=lambda row: (not row.is_user, row.pk))
            if stays.pk == goes.pk:
                raise SameEntity
            for model, end, _ in _MOVES:
                rows = model.objects.within(scope).filter(space_id=scope.space.id)
                rows.filter(**{end: goes.pk}).update(**{end: stays.pk})
            mine = Entity.objects.within(scope).filter(space_id=scope.space.id)
            mine.filter(merged_into_id=goes.pk).update(merged_into_id=stays.pk)
            mine.filter(pk=goes.pk).update(merged_into_id=stays.pk)
            mine.filter(pk=stays.pk).update(type=stays.type or goes.type, needs_review=False)
            touch(scope, scope.space.id)
            record(
                scope,
                actor=scope.principal.label,
                action=AuditAction.ENTITY_MERGE,
                target=f"entity:{stays.pk}",
                now=now,
            )
    except SpaceShredded:
        raise EntityNotFound from None
    return stays.pk


def unmerge(scope: Scope, entity_id: int, *, now: datetime) -> int:
    """Undo the merge of this entity; returns its id.  Earlier statements about it move back; later ones stay.

    Raises EntityNotFound, NotMerged.
    """
    _check_ids(scope, entity_id)
    try:
        with tenant_transaction(scope):
            lock_space(scope)
            canonical(scope, entity_id, now=now)
            mine = Entity.objects.within(scope).filter(space_id=scope.space.id)
            if not mine.filter(pk=entity_id, merged_into__isnull=False).update(merged_into=None):
                raise NotMerged
            for model, end, origin in _MOVES:
                rows = model.objects.within(scope).filter(space_id=scope.space.id)
                rows.filter(**{origin: entity_id}).update(**{end: entity_id})
            touch(scope, scope.space.id)
            record(
                scope,
                actor=scope.principal.label,
                action=AuditAction.ENTITY_UNMERGE,
                target=f"entity:{entity_id}",
                now=now,
            )
    except SpaceShredded:
        raise EntityNotFound from None
    return entity_id


def _check_ids(scope: Scope, *ids: int) -> None:
    if not scope.spaces or not all(0 < one < 2**63 for one in ids):
        raise EntityNotFound
