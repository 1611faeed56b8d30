"""The sources that summaries were made from.  A summary may be read only while all of its sources may.

Staleness is not stored: like expiry, it is checked on every read.  When a source is deleted, superseded or expires, its
summaries therefore leave every response at once, before any job rebuilds them without it.
"""

from collections.abc import Sequence
from typing import Final

from apps.core.queries import execute, fetch_all, fetch_column
from apps.memories.models import SummarySource
from apps.projects.scope import Scope

# True if ``memory`` is not a summary, or all of its sources are live.  Parameters: now.
NOT_STALE: Final = """(not memory.is_summary or not exists (
    select from memories_summarysource link where link.tenant_id = memory.tenant_id and link.summary_id = memory.id
      and not exists (
        select from memories_memory source where source.tenant_id = link.tenant_id and source.id = link.source_id
          and source.retention_status = 'active' and source.validity <> 'superseded'
          and (source.expires_at is null or source.expires_at > %s))))"""


def sources_among(scope: Scope, memory_ids: Sequence[int]) -> dict[int, list[int]]:
    """The source ids of those of these memories that are summaries.  Inside the tenant's transaction."""
    found: dict[int, list[int]] = {}
    if not memory_ids:
        return found
    rows = fetch_all(
        "select summary_id, source_id from memories_summarysource where tenant_id = %s and summary_id = any(%s) "
        "order by summary_id, source_id",
        [scope.tenant_id, list(memory_ids)],
        prepared=True,
    )
    for summary_id, source_id in rows:
        found.setdefault(summary_id, []).append(source_id)
    return found


def summaries_of(scope: Scope, memory_ids: Sequence[int]) -> list[int]:
    """The ids of the summaries made from any of these memories.  Inside the tenant's transaction."""
    rows = SummarySource.objects.within(scope).filter(source_id__in=list(memory_ids))
    return sorted(set(rows.values_list("summary_id", flat=True)))


def stale_summaries(scope: Scope, *, limit: int) -> list[int]:
    """Active summaries that have lost a source; no response contains them.  Inside the tenant's transaction.

    An expired source counts only once the sweep has run: the summary itself expires with the first of its sources.
    """
    return fetch_column(
        "select distinct link.summary_id from memories_summarysource link "
        "join memories_memory summary on summary.tenant_id = link.tenant_id and summary.id = link.summary_id "
        "where link.tenant_id = %s and summary.retention_status = 'active' and not exists ("
        "select from memories_memory source where source.tenant_id = link.tenant_id and source.id = link.source_id "
        "and source.retention_status = 'active' and source.validity <> 'superseded') "
        "order by link.summary_id limit %s",
        [scope.tenant_id, limit],
    )


def write_sources(scope: Scope, space_id: int, summary_id: int, source_ids: Sequence[int]) -> None:
    """Store what a summary was made from, replacing its former sources.  Inside the caller's transaction."""
    SummarySource.objects.within(scope).filter(summary_id=summary_id).exclude(source_id__in=list(source_ids)).delete()
    execute(
        "insert into memories_summarysource (tenant_id, space_id, summary_id, source_id, created_at) "
        "select %s, %s, %s, source_id, created_at from (select id as source_id, created_at from memories_memory "
        "where tenant_id = %s and id = any(%s)) source on conflict (tenant_id, summary_id, source_id) do nothing",
        [scope.tenant_id, space_id, summary_id, scope.tenant_id, list(source_ids)],
    )
