"""Reserves ids for rows with encrypted columns: the encryption needs the id before the row is inserted."""

from apps.core.prepared_sql import prepared_cursor


def reserve_ids(count: int, *, sequence: str) -> list[int]:
    """Reserve ``count`` ids of this sequence and return them, ascending.  Call it inside a transaction."""
    if not count:
        return []
    with prepared_cursor() as cursor:
        cursor.execute("select nextval(%s::regclass) from generate_series(1, %s::int)", [sequence, count])
        return [fresh for (fresh,) in cursor.fetchall()]


def reserve_pairs(count: int, *, sequences: tuple[str, str]) -> tuple[list[int], list[int]]:
    """As ``reserve_ids``, of two sequences in one statement."""
    if not count:
        return [], []
    with prepared_cursor() as cursor:
        cursor.execute(
            "select nextval(%s::regclass), nextval(%s::regclass) from generate_series(1, %s::int)", [*sequences, count]
        )
        pairs = cursor.fetchall()
    return [one for one, _ in pairs], [other for _, other in pairs]
