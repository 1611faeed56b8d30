"""Lists the memories of one space for a user in the browser: page by page, filtered by attributes and time."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.console.space_list import inside
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.memories import integrity
from apps.memories.lifetimes import Lifetimes, lifetimes_of
from apps.memories.models import Memory, MemoryQuerySet
from apps.memories.opened import OpenedMemory
from apps.memories.sealing import open_memory
from apps.memories.selectors import MemoryNotFound
from apps.memories.status import MemoryStatus, restorable, with_status
from apps.memories.validity import AsOf, holding
from apps.projects.scope import Scope, SpaceRef

HIDDEN: Final = "address.sought"  # name bound into the encryption
LOOKED_THROUGH: Final = 20_000  # most rows read for one page
LABELLED: Final = 2_000  # newest rows whose types and sources the filter offers


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """A memory must match every given filter.  after, before: creation time, both exclusive.

    tag, session: as the caller wrote them; a sealed space has none to search.  as_of: what held then, whatever its
    status is now.
    """

    standing: MemoryStatus = MemoryStatus.CURRENT
    type: str = ""
    source: str = ""
    after: datetime | None = None
    before: datetime | None = None
    tag: Plaintext | None = None
    session: Plaintext | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """A memory in a list.  deleted_at: set if it is deleted and can be restored."""

    memory: OpenedMemory
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryListPage:
    """memories: of this page, newest first.  unreadable: rows that could not be decrypted.  next_before: cursor of the
    next page, if anything may be left; a page may be short and not the last."""

    memories: Sequence[MemoryRow]
    unreadable: int
    next_before: int | None


def browse(
    scope: Scope, wanted: MemoryFilter, *, limit: int, before: int | None = None, now: datetime
) -> MemoryListPage:
    """Memories of the scope's one space.  before: an id; only older ones.  The audit trail records who browsed, where,
    and how many memories.

    At most LOOKED_THROUGH rows are read for a page, so that a selective filter does not read a space of a million rows;
    the next page continues where this one ended.
    """
    with tenant_transaction(scope):
        end = _last_looked_at(scope, before)
        rows = _filtered(scope, wanted, now=now)
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
    return MemoryListPage(memories=shown, unreadable=len(page) - len(shown), next_before=next_before)


def newest_in(scope: Scope, *, limit: int, now: datetime) -> list[tuple[SpaceRef, MemoryRow]]:
    """The newest current memories in the scope's environment, over all its spaces, among the newest LOOKED_THROUGH of
    the tenant."""
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


def look_at(scope: Scope, memory_id: int, *, now: datetime) -> MemoryRow:
    """One memory of the scope's one space, including deleted ones that can be restored.  Raises MemoryNotFound,
    DecryptError."""
    if not 0 < memory_id < 2**63:
        raise MemoryNotFound
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).filter(pk=memory_id)
        there = rows.existing(now).to_open().first() or restorable(rows, now).to_open().first()
        if there is None:
            raise MemoryNotFound
        _record(scope, f"memory:{memory_id}", 1, now=now)
        lifetimes = lifetimes_of(scope, [scope.space.id])
    found = _open(scope, [there], lifetimes, now=now)
    if not found:
        raise DecryptError("unreadable")
    return found[0]


def look_at_all(scope: Scope, memory_ids: Sequence[int], *, now: datetime) -> list[MemoryRow]:
    """The readable ones of these memories of the scope's one space, in the order given."""
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
    """Types and sources of the newest memories of the scope's one space."""
    with tenant_transaction(scope):
        rows = Memory.objects.within(scope).order_by("-pk").values_list("type", "source")[:LABELLED]
        newest = set(rows)
    return sorted({type_ for type_, _ in newest}), sorted({source for _, source in newest if source})


def hide(scope: Scope, said: Mapping[str, str]) -> str:
    """Encrypt what a user typed, by field, for use in a URL: URLs end up in logs.  The result is valid for the scope's
    one space only."""
    blob = open_space(scope.tenant, scope.space).seal(HIDDEN, scope.space.id, orjson.dumps(said))
    return base64.urlsafe_b64encode(blob).decode()


def reveal_hidden(scope: Scope, hidden: str) -> dict[str, str]:
    """The fields that ``hide`` encrypted.  Raises ValueError for a value not made for this space."""
    try:
        blob = base64.b64decode(hidden, altchars=b"-_", validate=True)
        said: dict[str, str] = orjson.loads(
            open_space(scope.tenant, scope.space).open_bytes(HIDDEN, scope.space.id, blob)
        )
    except (DecryptError, SpaceShredded) as error:
        raise ValueError("hidden for another space, or damaged") from error
    return said


def _last_looked_at(scope: Scope, before: int | None) -> int | None:
    """The lowest id that a page may read, if the space has more rows below it.  Index-only."""
    rows = Memory.objects.within_tenant(scope).filter(space_id=scope.space.id)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return rows.order_by("-pk").values_list("pk", flat=True)[LOOKED_THROUGH - 1 : LOOKED_THROUGH].first()


def _filtered(scope: Scope, wanted: MemoryFilter, *, now: datetime) -> MemoryQuerySet:
    rows = Memory.objects.within(scope)
    if wanted.as_of is not None:
        rows = holding(rows.existing(now), AsOf(at=wanted.as_of, known_at=now))
    elif wanted.standing == MemoryStatus.DELETED:
        rows = restorable(rows, now)
    else:
        rows = with_status(rows, wanted.standing, now)
    if wanted.tag is not None or wanted.session is not None:
        rows = _labelled(rows, open_space(scope.tenant, scope.space), wanted)
    if wanted.type:
        rows = rows.filter(type=wanted.type)
    if wanted.source:
        rows = rows.filter(source=wanted.source)
    if wanted.after:
        rows = rows.filter(created_at__gt=wanted.after)
    if wanted.before:
        rows = rows.filter(created_at__lt=wanted.before)
    return rows


def _labelled(rows: MemoryQuerySet, cipher: SpaceCipher, wanted: MemoryFilter) -> MemoryQuerySet:
    """Filter by keyed tokens; for tags, one token per key version in use."""
    if not cipher.is_searchable:
        return rows.none()
    if wanted.tag is not None:
        rows = rows.filter(tag_tokens__overlap=[one.tag_token(wanted.tag.reveal()) for one in cipher.live()])
    if wanted.session is not None:
        rows = rows.filter(session_token=cipher.session_token(wanted.session.reveal()))
    return rows


def _open(scope: Scope, rows: Sequence[Memory], lifetimes: Lifetimes, *, now: datetime) -> list[MemoryRow]:
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
            shown.append(MemoryRow(memory=memory, deleted_at=row.deleted_at))
    return shown


def _record(scope: Scope, target: str, count: int, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=AuditAction.MEMORY_BROWSE, target=target, count=count, now=now)
