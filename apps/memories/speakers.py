"""The speakers of a space, identified by keyed tokens of their first names."""

from collections.abc import Sequence
from datetime import datetime

from apps.core.queries import fetch_column
from apps.projects.scope import Scope, SpaceRef


def first_name(name: str) -> str:
    """The part of a speaker's name that identifies them in a space; empty for a blank name."""
    return next(iter(name.split()), "").casefold()


def known_speakers(
    scope: Scope, space: SpaceRef, tokens: Sequence[int], *, replaced: bool = False, now: datetime
) -> list[int]:
    """Those of ``tokens`` whose speaker has a memory that the scope may recall from the space.

    replaced: also a superseded memory.  Inside the tenant's transaction.
    """
    if not tokens:
        return []
    return fetch_column(
        "select token from unnest(%s::bigint[]) token where exists (select 1 from memories_memory "
        "where tenant_id = %s and space_id = %s and actor_token = token "
        "and retention_status = 'active' and (%s or validity <> 'superseded') "
        "and (expires_at is null or expires_at > %s) "
        "and (%s::bigint is null or project_id is null or project_id = %s))",
        [list(tokens), scope.tenant_id, space.id, replaced, now, scope.project_id, scope.project_id],
        prepared=True,
    )
