"""What a person looks through in the browser: memories of one space, page by page, by what they are and when."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import orjson
from django.db import connection
from django.db.models import Q

from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space, open_tenant
from apps.memories import integrity
from apps.memories.lifetimes import Lifetimes, lifetimes_of
from apps.memories.lineage import FRESH
from apps.memories.models import Memory, MemoryQuerySet, Retention, Validity
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_memory
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import EXTERNAL_ID
from apps.memories.validity import AsOf, holding
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope, SpaceKind, SpaceRef
from apps.projects.selectors import SpaceNotFound
from apps.tenants.models import EndUser


class Standing(StrEnum):
    """How a memory stands; ``deleted`` ones can be brought back."""

    CURRENT = "current"
    DISPUTED = "disputed"
    REPLACED = "replaced"
    ARCHIVED = "archived"
    DELETED = "deleted"


HIDDEN: Final = "address.sought"  # the name bound into the seal
LOOKED_THROUGH: Final = 20_000  # memories of a space for one page, whatever is asked for
LABELLED: Final = 2_000  # of the newest, whose types and sources a filter offers
COUNTED: Final = 1_000  # memories of one space; beyond it there are just more


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A memory must pass all that are given.  after, before: when it was remembered, neither moment included.

    tag, session: as they were said; a sealed space has none to look for.  as_of: what held then, whatever its standing
    is now.
    """

    standing: Standing = Standing.CURRENT
    type: str = ""
    source: str = ""
    after: datetime | None = None
    before: datetime | None = None
    tag: Plaintext | None = None
    session: Plaintext | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    memory: OpenedMemory
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """memories: of this page, newest first.  unreadable: how many of it failed their seal.  next_before: where to go
    on, if anything may be left; a page may hold little and not be the last."""

    memories: Sequence[Shown]
    unreadable: int
    next_before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A space and whose it is.  name: the tenant's own id for an end user; None for what belongs to no end user."""

    space: SpaceRef
    name: Plaintext | None

    @property
    def label(self) -> str:
        """To be shown."""
        return self.name.reveal() if self.name else f"{self.space.kind.value} {self.space.owner_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """An owner as a list shows them.  count: of current memories, at most COUNTED.  last_at: of the newest memory."""

    owner: Owner
    count: int
    has_more: bool
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Residents:
    residents: Sequence[Resident]
    next_before: int | None


def browse(scope: Scope, sought: Sought, *, limit: int, before: int | None = None, now: datetime) -> Page:
    """Of the scope's one space.  before: an id; only older ones.  The audit trail says who looked, where and at how
    many.

    At most LOOKED_THROUGH rows are read for a page, so that a filter which hardly anything passes is not answered by
    reading a space of a million; the next page goes on where this one ended.
    """
    with tenant_transaction(scope):
        end = _last_looked_at(scope, before)
        rows = _sought(scope, sought, now=now)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        if end is not None:
            rows = rows.filter(pk__gte=end)
        found = list(rows.order_by("-pk").to_open()[: limit + 1])
        page = found[:limit]
        _record(scope, f"space:{scope.space.id}", len(page), now=now)
        lifetimes = lifetimes_of(scope, [scope.space.id])
    shown = _open(scope, page, lifetimes, now=now)
    next_before = page[-1].pk if len(found) > limit else end
    return Page(memories=shown, unreadable=len(page) - len(shown), next_before=next_before)


def newest_in(scope: Scope, *, limit: int, now: datetime) -> list[tuple[SpaceRef, Shown]]:
    """The newest current memories of the scope's environment, whosever they are; among the newest of the tenant."""
    with tenant_transaction(scope):
        mine = Memory.objects.within_tenant(scope)
        end = mine.order_by("-pk").values_list("pk", flat=True)[LOOKED_THROUGH : LOOKED_THROUGH + 1].first()
        rows = mine.filter(environment=scope.environment).live(now)
        if end is not None:
            rows = rows.filter(pk__gt=end)
        page = list(rows.order_by("-pk").to_open().select_related("space", "vector")[:limit])
        _record(scope, f"environment:{scope.environment.value}", len(page), now=now)
        lifetimes = lifetimes_of(scope, {row.space_id for row in page})
    found = []
    for row in page:
        ref = row.space.ref
        found += [(ref, one) for one in _open(inside(scope, ref), [row], lifetimes, now=now)]
    return found


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
        lifetimes = lifetimes_of(scope, [scope.space.id])
    found = _open(scope, [there], lifetimes, now=now)
    if not found:
        raise DecryptError("unreadable")
    return found[0]


def look_at_all(scope: Scope, memory_ids: Sequence[int], *, now: datetime) -> list[Shown]:
    """Those of these memories of the scope's one space that can be read, in the order given."""
    if not memory_ids:
        return []
    with tenant_transaction(scope):
        rows = {row.pk: row for row in Memory.objects.within(scope).filter(pk__in=memory_ids).existing(now).to_open()}
        page = [rows[memory_id] for memory_id in memory_ids if memory_id in rows]
        if page:
            _record(scope, f"space:{scope.space.id}", len(page), now=now)
        lifetimes = lifetimes_of(scope, [scope.space.id])
    return _open(scope, page, lifetimes, now=now)


def labels_of(scope: Scope) -> tuple[list[str], list[str]]:
    """Types and sources that the newest memories of the scope's one space have."""
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).order_by("-pk").values_list("type", "source")[:LABELLED]
        newest = set(rows)
    return sorted({type_ for type_, _ in newest}), sorted({source for _, source in newest if source})


def hide(scope: Scope, *, tag: str, session: str) -> str:
    """What is looked for in the scope's one space, sealed to stand in an address: it is a user's input, and addresses
    end up in logs.  Good for this space alone."""
    said = orjson.dumps({"tag": tag, "session": session})
    blob = open_space(scope.tenant, scope.space).seal(HIDDEN, scope.space.id, said)
    return base64.urlsafe_b64encode(blob).decode()


def reveal_hidden(scope: Scope, hidden: str) -> tuple[str, str]:
    """The tag and the session that ``hide`` hid.  Raises ValueError for what it did not make for this space."""
    try:
        blob = base64.b64decode(hidden, altchars=b"-_", validate=True)
        said = orjson.loads(open_space(scope.tenant, scope.space).open_bytes(HIDDEN, scope.space.id, blob))
    except (DecryptError, SpaceShredded) as error:
        raise ValueError("hidden for another space, or damaged") from error
    return said["tag"], said["session"]


def find_space(scope: Scope, space_id: int) -> Scope:
    """The scope in this space of the tenant, and in its environment.  Raises SpaceNotFound."""
    with tenant_transaction(scope):
        space = Space.objects.within(scope).filter(pk=space_id).first() if 0 < space_id < 2**63 else None
    if space is None:
        raise SpaceNotFound
    return inside(scope, space.ref)


def spaces_in(scope: Scope, space_ids: Sequence[int]) -> list[SpaceRef]:
    """Those of these that the tenant has."""
    with tenant_transaction(scope):
        return [space.ref for space in Space.objects.within(scope).filter(pk__in=space_ids)]


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
        return _owners(scope, [scope.space])[scope.space.id]


def owners_of(scope: Scope, spaces: Iterable[SpaceRef]) -> dict[int, Owner]:
    """Whose these spaces of the tenant are, by the space's id."""
    with tenant_transaction(scope):
        return _owners(scope, {space.id: space for space in spaces}.values())


def list_residents(
    scope: Scope, environment: Environment, *, limit: int, before: int | None = None, now: datetime
) -> Residents:
    """Whose memories there are in an environment, newest first.  before: the id of a space; only older ones."""
    with tenant_transaction(scope):
        rows = Space.objects.within(scope).filter(environment=environment)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        found = [space.ref for space in rows.order_by("-pk")[: limit + 1]]
        page = found[:limit]
        owners, counts = _owners(scope, page), _counts(scope, page, now=now)
    return Residents(
        residents=[
            Resident(
                owner=owners[space.id],
                count=min(counts[space.id][0], COUNTED),
                has_more=counts[space.id][0] > COUNTED,
                last_at=counts[space.id][1],
            )
            for space in page
        ],
        next_before=page[-1].id if len(found) > limit else None,
    )


def environments_in_use(scope: Scope) -> set[Environment]:
    """Those that hold a memory of the tenant."""
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(
            "select name from unnest(%s::text[]) asked(name) where exists (select from memories_memory memory "
            "where memory.tenant_id = %s and memory.environment = asked.name)",
            [[one.value for one in Environment], scope.tenant_id],
        )
        return {Environment(name) for (name,) in cursor.fetchall()}


def _last_looked_at(scope: Scope, before: int | None) -> int | None:
    """Where a page's reading ends, if the space goes on behind it.  Read from the index alone."""
    rows = Memory.objects.within_tenant(scope).filter(space_id=scope.space.id)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return rows.order_by("-pk").values_list("pk", flat=True)[LOOKED_THROUGH - 1 : LOOKED_THROUGH].first()


def _sought(scope: Scope, sought: Sought, *, now: datetime) -> MemoryQuerySet:
    rows = Memory.objects.within(scope)
    if sought.as_of is not None:
        rows = holding(rows.existing(now), AsOf(at=sought.as_of, known_at=now))
    elif sought.standing == Standing.DELETED:
        rows = _deleted(rows, now)
    else:
        rows = standing_as(rows, sought.standing, now)
    if sought.tag is not None or sought.session is not None:
        rows = _labelled(rows, open_space(scope.tenant, scope.space), sought)
    if sought.type:
        rows = rows.filter(type=sought.type)
    if sought.source:
        rows = rows.filter(source=sought.source)
    if sought.after:
        rows = rows.filter(created_at__gt=sought.after)
    if sought.before:
        rows = rows.filter(created_at__lt=sought.before)
    return rows


def _labelled(rows: MemoryQuerySet, cipher: SpaceCipher, sought: Sought) -> MemoryQuerySet:
    """By keyed tokens; of a tag under each key version that rows may be under."""
    if not cipher.is_searchable:
        return rows.none()
    if sought.tag is not None:
        rows = rows.filter(tag_tokens__overlap=[one.tag_token(sought.tag.reveal()) for one in cipher.live()])
    if sought.session is not None:
        rows = rows.filter(session_token=cipher.session_token(sought.session.reveal()))
    return rows


def standing_as(rows: MemoryQuerySet, standing: str, now: datetime) -> MemoryQuerySet:
    """Of memories that can be read by their ids."""
    rows = rows.existing(now)
    if standing == Standing.ARCHIVED:
        return rows.filter(retention_status=Retention.ARCHIVED)
    rows = rows.filter(retention_status=Retention.ACTIVE)
    if standing == Standing.REPLACED:
        return rows.filter(validity=Validity.SUPERSEDED)
    if standing == Standing.DISPUTED:
        return rows.filter(validity=Validity.DISPUTED)
    return rows.exclude(validity=Validity.SUPERSEDED)


def _deleted(rows: MemoryQuerySet, now: datetime) -> MemoryQuerySet:
    """Those that ``retiring.restore`` would bring back."""
    rows = rows.filter(retention_status=Retention.SOFT_DELETED)
    return rows.filter(Q(hard_delete_at=None) | Q(hard_delete_at__gt=now), Q(expires_at=None) | Q(expires_at__gt=now))


def _open(scope: Scope, rows: Sequence[Memory], lifetimes: Lifetimes, *, now: datetime) -> list[Shown]:
    try:
        cipher = open_space(scope.tenant, scope.space)
    except SpaceShredded:
        return []
    shown = []
    for row in rows:
        try:
            memory = open_memory(row, cipher, scope.space, lifetimes)
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
        else:
            shown.append(Shown(memory=memory, deleted_at=row.deleted_at))
    return shown


def _owners(scope: Scope, spaces: Iterable[SpaceRef]) -> dict[int, Owner]:
    """Inside the tenant's transaction."""
    spaces = list(spaces)
    people = {
        row.pk: row
        for row in EndUser.objects.within(scope).filter(
            pk__in=[space.owner_id for space in spaces if space.kind == SpaceKind.END_USER]
        )
    }
    cipher = open_tenant(scope.tenant) if people else None
    found = {}
    for space in spaces:
        row = people.get(space.owner_id) if space.kind == SpaceKind.END_USER else None
        name = cipher.open(EXTERNAL_ID, row.pk, bytes(row.external_ct)) if row and cipher else None
        found[space.id] = Owner(space=space, name=name)
    return found


# Each space's own rows, along the index that begins with tenant and space, and no more of them than are counted.
_COUNTS: Final = f"""
select asked.id,
    (select count(*) from (
        select from memories_memory memory
        where memory.tenant_id = %(tenant)s and memory.space_id = asked.id and memory.retention_status = 'active'
          and memory.validity <> 'superseded' and (memory.expires_at is null or memory.expires_at > %(now)s)
          and {FRESH.replace("%s", "%(now)s")}
        limit %(most)s) counted),
    (select newest.created_at from memories_memory newest
     where newest.tenant_id = %(tenant)s and newest.space_id = asked.id order by newest.id desc limit 1)
from unnest(%(spaces)s::bigint[]) asked(id)
"""  # noqa: S608  (ours)


def _counts(scope: Scope, spaces: Sequence[SpaceRef], *, now: datetime) -> dict[int, tuple[int, datetime | None]]:
    """Of each space how many are current, at most one more than COUNTED, and when its newest came.  Inside the tenant's
    transaction."""
    ids = [space.id for space in spaces]
    asked: dict[str, Any] = {"tenant": scope.tenant_id, "spaces": ids, "most": COUNTED + 1, "now": now}
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, asked)
        return {space_id: (count, last_at) for space_id, count, last_at in cursor.fetchall()}


def _record(scope: Scope, target: str, count: int, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action="memory.browse", target=target, count=count, now=now)
