"""Fresh ids, for rows whose seals are bound to their id and so need it before they are written."""

from apps.core.prepared_sql import prepared_cursor


def reserve_ids(count: int, *, sequence: str) -> list[int]:
    """As many ids of this sequence, ascending, that no other caller has or will get.  Inside a transaction."""
    if not count:
        return []
    with prepared_cursor() as cursor:
        cursor.execute("select nextval(%s::regclass) from generate_series(1, %s::int)", [sequence, count])
        return [fresh for (fresh,) in cursor.fetchall()]
