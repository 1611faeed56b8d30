"""Reserves ids for rows with encrypted columns: the encryption needs the id before the row is inserted."""

from apps.core.queries import fetch_all, fetch_column


def reserve_ids(count: int, *, sequence: str) -> list[int]:
    """Reserve ``count`` ids of this sequence and return them, ascending.  Call it inside a transaction."""
    if not count:
        return []
    return fetch_column(
        "select nextval(%s::regclass) from generate_series(1, %s::int)", [sequence, count], prepared=True
    )


def reserve_pairs(count: int, *, sequences: tuple[str, str]) -> tuple[list[int], list[int]]:
    """As ``reserve_ids``, of two sequences in one statement."""
    if not count:
        return [], []
    pairs = fetch_all(
        "select nextval(%s::regclass), nextval(%s::regclass) from generate_series(1, %s::int)",
        [*sequences, count],
        prepared=True,
    )
    return [one for one, _ in pairs], [other for _, other in pairs]
