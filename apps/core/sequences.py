"""Fresh ids, for rows whose seals are bound to their id and so need it before they are written."""

from django.db import connection


def take_ids(count: int, *, sequence: str) -> list[int]:
    """As many ids of this sequence, ascending, that nobody else has or will get."""
    if not count:
        return []
    with connection.cursor() as cursor:
        cursor.execute("select nextval(%s) from generate_series(1, %s)", [sequence, count])
        return [fresh for (fresh,) in cursor.fetchall()]
