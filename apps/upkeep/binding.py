"""Rows that do not say what the service wrote (``apps.core.bound``): counted, shown, and bound again.

Binding believes what a row says now.  It is done once by itself, for rows from before there were hashes, and then by
whoever runs the host, after a look at what would be believed: after a restore, or an upgrade that was broken off.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from apps.apikeys.models import ApiKey
from apps.audit.services import record
from apps.core.errors import NotFound
from apps.core.scoping import InTenant, tenant_transaction
from apps.crypto import row_keys
from apps.projects.scope import SYSTEM, Principal
from apps.projects.selectors import scope_in
from apps.tenants.models import Membership, Tenant

BATCH: Final = 1_000

OF_A_TENANT: Final[tuple[type[Any], ...]] = (ApiKey,)


class NoSuchRow(NotFound):
    """None of the rows that fail is called so; `memsync keys bind --dry-run` lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbound:
    """A row that grants nothing.  kind: as in its hash.  tenant_id: None of a membership.  says: what it would grant.
    is_new: it has no hash at all."""

    kind: str
    id: int
    tenant_id: int | None
    says: dict[str, str]
    is_new: bool

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.id}"


def list_unbound() -> Iterator[Unbound]:
    """Every one there is, of all tenants.  Reads every row that grants something."""
    for rows, scope in _all_rows():
        with _transaction(scope):
            yield from [_unbound(row, scope) for row in rows.iterator(BATCH) if not row.is_bound()]


def bind_first(*, now: datetime) -> int:
    """Bind the rows of an earlier version, which have no hash; how many.  Once: nothing happens where it was done."""
    if row_keys.is_first_key_active():
        return 0
    row_keys.make_first_key()
    with transaction.atomic():
        count = sum(_bind_all(rows.filter(row_mac=None), scope, version=row_keys.FIRST) for rows, scope in _all_rows())
        if count:
            record(None, actor=SYSTEM.label, action="integrity.bind", reason="upgrade", count=count, now=now)
    # Last: until then nobody can write with it, and a crash before it has all this done again.
    row_keys.activate_first_key()
    return count


def bind_again(principal: Principal, names: Iterable[str], *, now: datetime) -> int:
    """Bind these rows, by ``Unbound.name``, to what they say now; how many.  The trail has a row for each.

    Raises NoSuchRow, before anything is bound.
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
                _bind_all(rows.filter(pk__in=[one.id for one in mine]), scope)
                for one in mine:
                    record(scope, actor=principal.label, action="integrity.bind", target=one.name, now=now)
    return len(found)


def _all_rows() -> Iterator[tuple[Any, InTenant | None]]:
    """Each kind of row, tenant by tenant where it belongs to one."""
    for rows in (Tenant.objects, Membership.objects):
        yield rows.order_by("pk"), None
    for tenant in Tenant.objects.order_by("pk"):
        scope = scope_in(tenant)
        for model in OF_A_TENANT:
            yield model.objects.within(scope).order_by("pk"), scope


def _transaction(scope: InTenant | None) -> Any:
    return tenant_transaction(scope) if scope else transaction.atomic()


def _is_of(one: Unbound, scope: InTenant | None) -> bool:
    return scope is None or one.tenant_id == scope.tenant_id


def _bind_all(rows: Any, scope: InTenant | None, *, version: int | None = None) -> int:
    """In the caller's transaction."""
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
    with connection.cursor() as cursor:
        cursor.execute(
            f"update {table} t set row_mac = given.row_mac from unnest(%s::bigint[], %s::bytea[]) "  # noqa: S608  (ours)
            f"given(id, row_mac) where t.id = given.id{mine}",
            [[row.pk for row in rows], [row.row_mac for row in rows], *([scope.tenant_id] if scope else [])],
        )


def _unbound(row: Any, scope: InTenant | None) -> Unbound:
    says = {name: str(getattr(row, name)) for name in row.bound_fields if name not in _NOT_SHOWN}
    return Unbound(
        kind=row.bound_as,
        id=row.pk,
        tenant_id=scope.tenant_id if scope else None,
        says=says,
        is_new=row.row_mac is None,
    )


_NOT_SHOWN: Final = frozenset({"id", "digest", "external_mac"})
