"""List and rebind rows whose hash is missing or wrong (``apps.core.bound``).

Binding trusts the row's current values.  An upgrade does it once, for rows older than the hashes.  Later only the
operator of the host does it, after checking the values: after a restore or an interrupted upgrade.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from apps.apikeys.models import ApiKey
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import NotFound
from apps.core.queries import execute
from apps.core.scoping import InTenant, ScopedModel, tenant_transaction
from apps.crypto import row_keys
from apps.projects.models import Space
from apps.projects.scope import SYSTEM, Principal
from apps.projects.selectors import scope_in
from apps.tenants.models import EndUser, Membership, Tenant

BATCH: Final = 1_000

# By the key version that introduced them.  An upgrade never binds rows of a kind that was bound before: an attacker
# may have inserted a row without a hash and be waiting for the next upgrade.
KINDS: Final[Mapping[int, tuple[type[Any], ...]]] = {1: (Tenant, Membership, ApiKey), 2: (EndUser, Space)}
ALL: Final = tuple(kind for kinds in KINDS.values() for kind in kinds)


class NoSuchRow(NotFound):
    """None of the rows that fail is called so; `memsync keys bind --dry-run` lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbound:
    """A row without a valid hash, which therefore grants nothing.

    kind: name of the kind, as in its hash.  tenant_id: None for kinds that belong to no tenant.
    says: current values of the bound columns.  is_new: the row has no hash at all.
    """

    kind: str
    id: int
    tenant_id: int | None
    says: dict[str, str]
    is_new: bool

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.id}"


def list_unbound() -> Iterator[Unbound]:
    """Yield the rows without a valid hash, of all tenants.  Reads every row of the bound kinds."""
    for rows, scope in _all_rows():
        with _transaction(scope):
            yield from [_unbound(row, scope) for row in rows.iterator(BATCH) if not row.is_bound()]


def bind_first(*, now: datetime) -> int:
    """Bind the rows of an earlier version that have no hash, and return their number.  Later calls do nothing."""
    return sum(
        _bind_kinds(version, kinds, now=now) for version, kinds in KINDS.items() if not row_keys.is_in_use(version)
    )


def _bind_kinds(version: int, kinds: Sequence[type[Any]], *, now: datetime) -> int:
    row_keys.make_key(version)
    with transaction.atomic():
        unbound = ((rows.filter(row_mac=None), scope) for rows, scope in _all_rows(kinds))
        count = sum(bind_rows(rows, scope, version=version) for rows, scope in unbound)
        if count:
            record(None, actor=SYSTEM.label, action=AuditAction.INTEGRITY_BIND, reason="upgrade", count=count, now=now)
    # Last: after a crash before this step, the whole upgrade step runs again.
    row_keys.activate(version)
    return count


def bind_again(principal: Principal, names: Iterable[str], *, now: datetime) -> int:
    """Bind the rows with these ``Unbound.name`` values to their current values, and return their number.

    Writes an audit event for each.  Raises NoSuchRow before any row is bound.
    """
    wanted = set(names)
    with transaction.atomic():
        found = {one.name: one for one in list_unbound() if one.name in wanted}
        if wanted - found.keys():
            raise NoSuchRow
        for rows, scope in _all_rows():
            kind = rows.model.bound_as
            mine = [one for one in found.values() if one.kind == kind and _is_of(one, scope)]
            if not mine:
                continue
            with _transaction(scope):
                bind_rows(rows.filter(pk__in=[one.id for one in mine]), scope)
                for one in mine:
                    record(scope, actor=principal.label, action=AuditAction.INTEGRITY_BIND, target=one.name, now=now)
    return len(found)


def _all_rows(kinds: Sequence[type[Any]] = ALL) -> Iterator[tuple[Any, InTenant | None]]:
    """Yield a query and its scope for each kind of row: one per tenant for kinds that belong to tenants."""
    for kind in kinds:
        if not issubclass(kind, ScopedModel):
            yield kind.objects.order_by("pk"), None
    scoped: list[Any] = [kind for kind in kinds if issubclass(kind, ScopedModel)]
    for tenant in Tenant.objects.order_by("pk"):
        scope = scope_in(tenant)
        for kind in scoped:
            yield kind.objects.within(scope).order_by("pk"), scope


def _transaction(scope: InTenant | None) -> Any:
    return tenant_transaction(scope) if scope else transaction.atomic()


def _is_of(one: Unbound, scope: InTenant | None) -> bool:
    return scope is None or one.tenant_id == scope.tenant_id


def bind_rows(rows: Any, scope: InTenant | None, *, version: int | None = None) -> int:
    """Bind the rows of this query to their current values, and return their number.

    rows: ordered by id.  scope: None for rows that belong to no tenant.
    """
    count, last = 0, 0
    with _transaction(scope):
        while batch := list(rows.filter(pk__gt=last).select_for_update(of=("self",))[:BATCH]):
            for row in batch:
                row.bind(version=version)
            _write(batch, scope)
            count, last = count + len(batch), batch[-1].pk
    return count


def _write(rows: Sequence[Any], scope: InTenant | None) -> None:
    table = rows[0]._meta.db_table
    mine = "" if scope is None else " and t.tenant_id = %s"
    execute(
        f"update {table} t set row_mac = given.row_mac from unnest(%s::bigint[], %s::bytea[]) "  # noqa: S608  (ours)
        f"given(id, row_mac) where t.id = given.id{mine}",
        [[row.pk for row in rows], [row.row_mac for row in rows], *([scope.tenant_id] if scope else [])],
    )


def _unbound(row: Any, scope: InTenant | None) -> Unbound:
    names = (*row.bound_fields, *row.later_fields)
    says = {name: str(getattr(row, name)) for name in names if name not in _NOT_SHOWN}
    return Unbound(
        kind=row.bound_as,
        id=row.pk,
        tenant_id=scope.tenant_id if scope else None,
        says=says,
        is_new=row.row_mac is None,
    )


_NOT_SHOWN: Final = frozenset({"id", "digest", "external_mac"})
