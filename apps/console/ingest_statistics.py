"""Outcomes of ingestion: decisions counted per day.  Numbers and codes only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.ingest.models import Decision
from apps.projects.scope import Scope

KINDS: Final = ("stored", "duplicates", "needs review", "rejected")  # in the order of the chart
_KIND: Final[Mapping[str, str]] = {
    Decision.CREATED: "stored", Decision.REVIVED: "stored", Decision.SUPERSEDING: "stored",
    Decision.MERGED: "duplicates", Decision.DUPLICATE: "duplicates", Decision.PENDING: "needs review",
}  # fmt: skip
# The index ``candidate_of_a_time`` covers this query.
_OUTCOMES: Final = """
select (candidate.created_at at time zone 'utc')::date, candidate.decision, candidate.reason, count(*)
from ingest_candidate candidate
join projects_space space on space.tenant_id = candidate.tenant_id and space.id = candidate.space_id
where candidate.tenant_id = %s and candidate.created_at >= %s and space.environment = %s
group by 1, 2, 3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """counts: by each of KINDS."""

    day: date
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """days: every day, oldest first; the last is today.  refused: counts by (decision, reason), largest first."""

    days: Sequence[Day]
    totals: Mapping[str, int]
    refused: Mapping[tuple[str, str], int]

    @property
    def is_empty(self) -> bool:
        return not any(self.totals.values())


def kind_of(decision: str) -> str:
    """The entry of KINDS under which a decision is counted."""
    return _KIND.get(decision, "rejected")


def outcomes(scope: Scope, *, days: int, now: datetime) -> Outcomes:
    """Outcomes in the scope's environment over the last ``days`` days (UTC)."""
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=days - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    with tenant_transaction(scope):
        rows = fetch_all(_OUTCOMES, [scope.tenant_id, since, scope.environment.value])
    by_day = {first + timedelta(days=number): dict.fromkeys(KINDS, 0) for number in range(days)}
    totals, refused = dict.fromkeys(KINDS, 0), dict[tuple[str, str], int]()
    for day, decision, reason, count in rows:
        kind = kind_of(decision)
        if day in by_day:
            by_day[day][kind] += count
            totals[kind] += count
            if kind == "refused":
                refused[decision, reason] = refused.get((decision, reason), 0) + count
    return Outcomes(
        days=[Day(day=day, counts=counts) for day, counts in by_day.items()],
        totals=totals,
        refused=dict(sorted(refused.items(), key=lambda one: (-one[1], one[0]))),
    )
