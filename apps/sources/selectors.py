"""Reads external objects of one space."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.core.errors import NotFound
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.encrypted_tables import report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.projects.scope import Scope
from apps.sources.models import ExternalObject, ObjectMemory
from apps.sources.sealing import OBJECT, ObjectName, OpenedObject, object_mac, open_object


class ObjectNotFound(NotFound):
    """External object not found."""

    code = "OBJECT_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPage:
    """next_before: id to continue with; None on the last page."""

    objects: Sequence[OpenedObject]
    next_before: int | None


def objects_of(scope: Scope) -> ScopedQuerySet[ExternalObject]:
    """The objects of the scope's one space, in its project and in none.  Inside the tenant's transaction."""
    return ExternalObject.objects.within(scope).in_project(scope).filter(space_id=scope.space.id)


def find_object(scope: Scope, cipher: SpaceCipher, name: ObjectName) -> ExternalObject | None:
    """The object with this name in the scope's project."""
    return objects_of(scope).filter(object_mac=object_mac(cipher, name, project_id=scope.project_id)).first()


def list_objects(scope: Scope, *, kind: str | None, before: int | None, limit: int, now: datetime) -> ObjectPage:
    """A page of the objects, last first seen first, without those that do not decrypt."""
    if not scope.spaces:
        return ObjectPage(objects=(), next_before=None)
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        rows = objects_of(scope)
        if kind is not None:
            rows = rows.filter(kind=kind)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        found = list(rows.order_by("-pk")[: limit + 1])
    page = found[:limit]
    opened = [one for row in page if (one := _opened(scope, row, cipher, now=now)) is not None]
    return ObjectPage(objects=opened, next_before=page[-1].pk if len(found) > limit else None)


def get_object(scope: Scope, object_id: int, *, now: datetime) -> tuple[OpenedObject, Sequence[int]]:
    """The object, and the ids of the memories that it states, ascending.  Raises ObjectNotFound, DecryptError."""
    if not scope.spaces or not 0 < object_id < 2**63:
        raise ObjectNotFound
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        row = objects_of(scope).filter(pk=object_id).first()
        if row is None:
            raise ObjectNotFound
        stated = memories_of(scope, object_id)
    try:
        return open_object(row, cipher), stated
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=OBJECT, now=now)
        raise


def unseen_objects(scope: Scope, connector_id: int, *, since: datetime) -> list[int]:
    """The ids of a connector's objects that were not seen since then, and are not gone yet, ascending."""
    with tenant_transaction(scope):
        rows = objects_of(scope).filter(connector_id=connector_id, gone_at=None, seen_at__lt=since)
        return list(rows.order_by("pk").values_list("pk", flat=True))


def memories_of(scope: Scope, object_id: int) -> list[int]:
    """The ids of the memories that an object of the scope's space states, ascending.  Inside the transaction."""
    links = ObjectMemory.objects.within(scope).filter(space_id=scope.space.id, object_id=object_id, withdrawn_at=None)
    return list(links.order_by("memory_id").values_list("memory_id", flat=True))


def object_of(scope: Scope, memory_id: int, *, now: datetime) -> OpenedObject | None:
    """The first object that states the memory; if none still does, the last that stated it; None if none ever did.

    Inside the tenant's transaction.
    """
    links = ObjectMemory.objects.within(scope).filter(space_id=scope.space.id, memory_id=memory_id)
    by_object = {link.object_id: link.withdrawn_at for link in links.order_by("pk")}
    stating = [object_id for object_id, withdrawn_at in by_object.items() if withdrawn_at is None]
    chosen = stating[0] if stating else next(reversed(by_object), None)
    row = objects_of(scope).filter(pk=chosen).first() if chosen else None
    return _opened(scope, row, open_space(scope.tenant, scope.space), now=now) if row else None


def stated_by_objects(scope: Scope, memory_ids: Collection[int]) -> set[int]:
    """Which of these memories an external object of the scope's space states.  Inside the tenant's transaction."""
    links = ObjectMemory.objects.within(scope).filter(space_id=scope.space.id, withdrawn_at=None)
    return set(links.filter(memory_id__in=list(memory_ids)).values_list("memory_id", flat=True))


def _opened(scope: Scope, row: ExternalObject, cipher: SpaceCipher, *, now: datetime) -> OpenedObject | None:
    try:
        return open_object(row, cipher)
    except DecryptError as error:
        report_broken(scope, error, row.pk, space_id=row.space_id, table=OBJECT, now=now)
        return None
