"""Queries on the audit log: a tenant's own rows, and all chains for verification."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from django.db.models import F, Q, QuerySet

from apps.audit.chain import NAMES, Entry
from apps.audit.checkpoint_statement import Head
from apps.audit.models import AuditEvent, ChainHead
from apps.core.queries import fetch_all
from apps.core.scoping import InTenant, tenant_transaction

LOOKED_THROUGH: Final = 200_000  # maximum number of rows read for one page, whatever the filter
AT_ONCE: Final = 2_000  # rows in memory while a chain is streamed
# For recalls, the index ``audit_recalls`` covers this query.
_BY_DAY: Final = """
select (created_at at time zone 'utc')::date, split_part(actor, ':', 1), sum(count)::bigint
from audit_auditevent where tenant_id = %s and action = %s and created_at >= %s group by 1, 2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Filters on audit rows.  action: exact, or a prefix that ends with a dot.  since: inclusive.  until: exclusive."""

    action: str | None = None
    actor: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def among(self, rows: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        exact = {"actor": self.actor, "outcome": self.outcome, "created_at__gte": self.since,
                 "created_at__lt": self.until}  # fmt: skip
        rows = rows.filter(**{name: value for name, value in exact.items() if value is not None})
        if self.action is None:
            return rows
        is_beginning = self.action.endswith(".")
        return rows.filter(Q(action__startswith=self.action) if is_beginning else Q(action=self.action))


def list_events(scope: InTenant, wanted: AuditFilter, *, before: int | None = None, limit: int) -> list[Entry]:
    """Return the tenant's newest rows, newest first.  before: a seq; only rows older than that one."""
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id, seq__isnull=False)
        if before is not None:
            rows = rows.filter(seq__lt=before)
        return [_entry(row) for row in wanted.among(rows).order_by("-seq")[:limit]]


def browse(
    scope: InTenant, wanted: AuditFilter, *, before: int | None = None, limit: int
) -> tuple[list[Entry], int | None]:
    """As ``list_events``, for paging in the console; also returns ``before`` for the next page, or None at the end.

    Reads at most LOOKED_THROUGH rows per page, so that a very selective filter does not read millions of rows; the next
    page continues there.
    """
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id, seq__isnull=False)
        if before is None:
            before = (rows.order_by("-seq").values_list("seq", flat=True).first() or 0) + 1
        end = before - LOOKED_THROUGH
        among = wanted.among(rows.filter(seq__lt=before, seq__gte=end))
        found = [_entry(row) for row in among.order_by("-seq")[: limit + 1]]
    page = found[:limit]
    if len(found) > limit:
        return page, page[-1].seq
    return page, end if end > 1 else None


def newest_of_chain(scope: InTenant, *, most: int) -> tuple[list[Entry], Head | None]:
    """Return the tenant's newest rows, oldest first, and the row before them; None if these are all rows."""
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id, seq__isnull=False)
        entries = [_entry(row) for row in reversed(rows.order_by("-seq")[: most + 1])]
    if len(entries) <= most:
        return entries, None
    before = entries.pop(0)
    return entries, Head(before.chain, before.seq or 0, before.hash)


def chain_of(scope: InTenant) -> Iterator[Entry]:
    """Stream the whole chain of a tenant, oldest first, inside one transaction."""
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id, seq__isnull=False).order_by("seq")
        for row in rows.iterator(chunk_size=AT_ONCE):
            yield _entry(row)


def all_entries(chain: int | None = None, *, using: str) -> Iterator[Entry]:
    """Stream the rows of all chains, or of one, in the order that ``apps.transparency.verify`` expects.

    using: a database alias whose role bypasses row-level security.  Call it in a transaction, for the server-side
    cursor.
    """
    rows = AuditEvent.objects.using(using)
    if chain is not None:
        rows = rows.filter(tenant_id=chain or None)
    ordered = rows.order_by(F("tenant_id").asc(nulls_first=True), F("seq").asc(nulls_last=True), "id")
    for row in ordered.iterator(chunk_size=AT_ONCE):
        yield _entry(row)


def count_rows(chain: int | None = None, *, using: str) -> int:
    rows = AuditEvent.objects.using(using)
    return rows.count() if chain is None else rows.filter(tenant_id=chain or None).count()


def all_heads(*, using: str = "default") -> list[Head]:
    return [Head(row.chain, row.seq, row.hash) for row in ChainHead.objects.using(using).order_by("chain")]


def count_by_day(scope: InTenant, action: str, *, since: datetime) -> dict[tuple[date, str], int]:
    """Count an action by day (UTC) and kind of actor (``api_key``, ``account``)."""
    with tenant_transaction(scope):
        return {(day, kind): count for day, kind, count in fetch_all(_BY_DAY, [scope.tenant_id, action, since])}


def _entry(row: AuditEvent) -> Entry:
    return Entry(**{name: getattr(row, name) for name in NAMES})
