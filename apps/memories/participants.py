"""Who speaks in a space, known by keyed tokens of first names."""

from collections.abc import Sequence

from django.db import connection

from apps.projects.scope import Scope, SpaceRef


def present(scope: Scope, space: SpaceRef, tokens: Sequence[int]) -> list[int]:
    """Those of ``tokens`` that stand for somebody who speaks in the space.  Inside the tenant's transaction."""
    if not tokens:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "select token from unnest(%s::bigint[]) token where exists (select 1 from memories_memory "
            "where tenant_id = %s and space_id = %s and actor_token = token)",
            [list(tokens), scope.tenant_id, space.id],
        )
        return [token for (token,) in cursor.fetchall()]
