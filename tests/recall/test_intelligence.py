"""What memories are about as a whole, by counting."""

from datetime import UTC, datetime, timedelta
from typing import Any

from apps.recall.intelligence import Observed, insight

THURSDAY = datetime(2026, 11, 19, 18, 0, tzinfo=UTC)


def observed(memory_id: int, text: str = "It rained.", **fields: Any) -> Observed:
    given = {"key": None, "tags": (), "type": "event", "event_at": None, "told": 1, "recalled": 0} | fields
    return Observed(id=memory_id, text=text, **given)


def test_themes_and_names_are_counted_once_a_memory_and_most_first() -> None:
    made = insight(
        [
            observed(3, "Went to choir with Omar and Omar.", tags=["music", "choir"]),
            observed(2, "Sang for Lea Marti and Omar.", tags=["music"]),
            observed(1, key="user.allergy.nuts"),
        ],
        limit=2,
    )

    assert [(one.label, one.count, list(one.memory_ids)) for one in made.themes] == [("music", 2, [3, 2])]
    assert [(one.label, one.count) for one in made.entities] == [("Omar", 2), ("Lea Marti", 1)]
    assert made.memories == 3


def test_patterns_are_what_is_told_recalled_and_dated_again_and_again() -> None:
    week = timedelta(days=7)
    dated = [observed(n, event_at=THURSDAY + n * week) for n in range(1, 5)] + [
        observed(5, event_at=THURSDAY + timedelta(days=1), told=4),
        observed(6, recalled=7),
    ]

    made = insight(dated, limit=10)

    assert [(one.kind, one.label, one.count, list(one.memory_ids)) for one in made.patterns] == [
        ("repeated", "", 4, [5]),
        ("recalled", "", 7, [6]),
        ("weekday", "thursday", 4, [1, 2, 3, 4]),
    ]


def test_nothing_tells_nothing() -> None:
    made = insight([], limit=10)

    assert (made.memories, list(made.themes), list(made.entities), list(made.patterns)) == (0, [], [], [])
