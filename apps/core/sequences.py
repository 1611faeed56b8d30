"""Reserves ids for rows with encrypted columns: the encryption needs the id before the row is inserted."""

from apps.core.prepared_sql import prepared_cursor


def reserve_ids(count: int, *, sequence: str) -> list[int]:
    """Reserve ``count`` ids of this sequence and return them, ascending.  Call it inside a transaction."""
    if not count:
        return []
    with prepared_cursor() as cursor:
        cursor.execute("select nextval(%s::regclass) from generate_series(1, %s::int)", [sequence, count])
        return [fresh for (fresh,) in cursor.fetchall()]
