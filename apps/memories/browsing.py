"""What a person looks through in the browser: memories of one space, page by page, by what they are and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import Count, Q

from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceShredded, open_space, open_tenant
from apps.memories import integrity
from apps.memories.models import Memory, MemoryQuerySet, Retention, Validity
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_memory
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import EXTERNAL_ID
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope, SpaceKind, SpaceRef
from apps.projects.selectors import SpaceNotFound
from apps.tenants.models import EndUser


class Standing(StrEnum):
    """How a memory stands; ``deleted`` ones can be brought back."""

    CURRENT = "current"
    REPLACED = "replaced"
    ARCHIVED = "archived"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A memory must pass all that are given.  after, before: when it was remembered, neither moment included."""

    standing: Standing = Standing.CURRENT
    type: str = ""
    source: str = ""
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """gone_at: when a deleted one is gone for good."""

    memory: OpenedMemory
    is_held: bool
    deleted_at: datetime | None = None
    gone_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """memories: of this page, newest first.  unreadable: how many of it failed their seal.  total: of all pages."""

    memories: Sequence[Shown]
    unreadable: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A space and whose it is.  name: the tenant's own id for an end user; None for what is nobody's."""

    space: SpaceRef
    name: Plaintext | None
    count: int


def browse(scope: Scope, sought: Sought, *, limit: int, offset: int = 0, now: datetime) -> Page:
    """Of the scope's one space.  The audit trail says who looked, where and at how many."""
    with tenant_transaction(scope):
        rows = _sought(scope, sought, now=now)
        total = rows.count()
        page = list(rows.order_by("-created_at", "-pk").to_open()[offset : offset + limit])
        _record(scope, f"space:{scope.space.id}", len(page), now=now)
    shown = _open(scope, page, now=now)
    return Page(memories=shown, unreadable=len(page) - len(shown), total=total)


def look_at(scope: Scope, memory_id: int, *, now: datetime) -> Shown:
    """One memory of the scope's one space, deleted ones that can be brought back included.  Raises MemoryNotFound,
    DecryptError."""
    if not 0 < memory_id < 2**63:
        raise MemoryNotFound
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).filter(pk=memory_id)
        there = rows.existing(now).to_open().first() or _deleted(rows, now).to_open().first()
        if there is None:
            raise MemoryNotFound
        _record(scope, f"memory:{memory_id}", 1, now=now)
    found = _open(scope, [there], now=now)
    if not found:
        raise DecryptError("unreadable")
    return found[0]


def labels_of(scope: Scope) -> tuple[list[str], list[str]]:
    """Types and sources that memories of the scope's one space have."""
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope)
        types = list(rows.order_by("type").values_list("type", flat=True).distinct())
        sources = list(rows.exclude(source="").order_by("source").values_list("source", flat=True).distinct()[:100])
    return types, sources


def find_space(scope: Scope, space_id: int) -> Scope:
    """The scope in this space of the tenant, and in its environment.  Raises SpaceNotFound."""
    with tenant_transaction(scope):
        space = Space.objects.within(scope).filter(pk=space_id).first() if 0 < space_id < 2**63 else None
    if space is None:
        raise SpaceNotFound
    return inside(scope, space.ref)


def inside(scope: Scope, space: SpaceRef) -> Scope:
    return type(scope)(
        tenant=scope.tenant,
        environment=space.environment,
        principal=scope.principal,
        project_id=scope.project_id,
        permissions=scope.permissions,
        spaces=(space,),
    )


def owner_of(scope: Scope, *, now: datetime) -> Owner:
    """Whose the scope's one space is."""
    with tenant_transaction(scope):
        return _owners(scope, list(Space.objects.within(scope).filter(pk=scope.space.id)), now=now)[0]


def list_owners(
    scope: Scope, environment: Environment, *, limit: int, offset: int = 0, now: datetime
) -> tuple[list[Owner], int]:
    """Whose memories there are in an environment, newest first, with how many are current; and how many they are."""
    with tenant_transaction(scope):
        rows = Space.objects.within(scope).filter(environment=environment)
        total = rows.count()
        return _owners(scope, list(rows.order_by("-pk")[offset : offset + limit]), now=now), total


def _sought(scope: Scope, sought: Sought, *, now: datetime) -> MemoryQuerySet:
    rows = Memory.objects.within(scope)
    rows = _deleted(rows, now) if sought.standing == Standing.DELETED else standing_as(rows, sought.standing, now)
    if sought.type:
        rows = rows.filter(type=sought.type)
    if sought.source:
        rows = rows.filter(source=sought.source)
    if sought.after:
        rows = rows.filter(created_at__gt=sought.after)
    if sought.before:
        rows = rows.filter(created_at__lt=sought.before)
    return rows


def standing_as(rows: MemoryQuerySet, standing: str, now: datetime) -> MemoryQuerySet:
    """Of memories that can be read by their ids."""
    rows = rows.existing(now)
    if standing == Standing.ARCHIVED:
        return rows.filter(retention_status=Retention.ARCHIVED)
    rows = rows.filter(retention_status=Retention.ACTIVE)
    if standing == Standing.REPLACED:
        return rows.filter(validity=Validity.SUPERSEDED)
    return rows.exclude(validity=Validity.SUPERSEDED)


def _deleted(rows: MemoryQuerySet, now: datetime) -> MemoryQuerySet:
    """Those that ``retiring.restore`` would bring back."""
    rows = rows.filter(retention_status=Retention.SOFT_DELETED)
    return rows.filter(Q(hard_delete_at=None) | Q(hard_delete_at__gt=now), Q(expires_at=None) | Q(expires_at__gt=now))


def _open(scope: Scope, rows: Sequence[Memory], *, now: datetime) -> list[Shown]:
    try:
        cipher = open_space(scope.tenant, scope.space)
    except SpaceShredded:
        return []
    shown = []
    for row in rows:
        try:
            memory = open_memory(row, cipher, scope.space)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
        else:
            shown.append(
                Shown(memory=memory, is_held=row.legal_hold, deleted_at=row.deleted_at, gone_at=row.hard_delete_at)
            )
    return shown


def _owners(scope: Scope, spaces: Sequence[Space], *, now: datetime) -> list[Owner]:
    """Inside the tenant's transaction."""
    ids = [space.pk for space in spaces]
    current = standing_as(Memory.objects.within_tenant(scope).filter(space_id__in=ids), Standing.CURRENT, now)
    if scope.project_id is not None:
        current = current.filter(Q(project_id=scope.project_id) | Q(project_id=None))
    counts = dict(current.order_by().values_list("space_id").annotate(n=Count("pk")))
    people = {
        row.pk: row
        for row in EndUser.objects.within(scope).filter(
            pk__in=[space.owner_id for space in spaces if space.kind == SpaceKind.END_USER]
        )
    }
    cipher = open_tenant(scope.tenant) if people else None
    found = []
    for space in spaces:
        row = people.get(space.owner_id) if space.kind == SpaceKind.END_USER else None
        name = cipher.open(EXTERNAL_ID, row.pk, bytes(row.external_ct)) if row and cipher else None
        found.append(Owner(space=space.ref, name=name, count=counts.get(space.pk, 0)))
    return found


def _record(scope: Scope, target: str, count: int, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action="memory.browse", target=target, count=count, now=now)
