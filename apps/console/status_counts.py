"""Number of memories in an environment, by type and status, from an index only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.core.queries import fetch_all
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Scope

# The index ``memory_tally`` has these columns in this order, so that no row is fetched.
_TALLY: Final = """
select type, validity, retention_status, count(*) from memories_memory memory
where memory.tenant_id = %s and memory.environment = %s group by type, validity, retention_status
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCounts:
    """by_type: of current memories, largest first.  Expired memories count until they are swept."""

    by_type: Mapping[str, int]
    current: int
    disputed: int
    replaced: int
    archived: int
    deleted: int

    @property
    def is_empty(self) -> bool:
        return not (self.current or self.replaced or self.archived or self.deleted)


def count_statuses(scope: Scope) -> StatusCounts:
    """Counts of the scope's environment.  The cost grows with its size: frequent callers cache the result."""
    with tenant_transaction(scope):
        rows = fetch_all(_TALLY, [scope.tenant_id, scope.environment.value])
    by_type: dict[str, int] = {}
    counts = dict.fromkeys(("current", "disputed", "replaced", "archived", "deleted"), 0)
    for type_, validity, status, count in rows:
        if status == "archived":
            counts["archived"] += count
        elif status == "soft_deleted":
            counts["deleted"] += count
        elif status == "active" and validity == "superseded":
            counts["replaced"] += count
        elif status == "active":
            counts["current"] += count
            counts["disputed"] += count if validity == "disputed" else 0
            by_type[type_] = by_type.get(type_, 0) + count
    return StatusCounts(by_type=dict(sorted(by_type.items(), key=lambda one: (-one[1], one[0]))), **counts)
