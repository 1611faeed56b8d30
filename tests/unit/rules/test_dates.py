"""Dates are told against the time of the turn, in the direction of the tense."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from apps.ingest.rules import dates, read_turn

WEDNESDAY = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at", "precision"),
    [
        ("the ferry leaves on 4 may", "2026-05-04", "day"),
        ("i signed it on may 4th", "2025-05-04", "day"),
        ("i signed it on 4 may 2021", "2021-05-04", "day"),
        ("the hearing is on 2026-09-30", "2026-09-30", "day"),
        ("the hearing is on 30.09.2026", "2026-09-30", "day"),
        ("the hearing is at 14:30 on 30 september", "2026-09-30T14:30", "exact"),
        ("call them tomorrow at 9am", "2026-03-12T09:00", "exact"),
        ("the choir sang yesterday", "2026-03-10", "day"),
        ("the choir meets on friday", "2026-03-13", "day"),
        ("the choir met on friday", "2026-03-06", "day"),
        ("the choir meets on wednesday", "2026-03-18", "day"),
        ("we met last wednesday", "2026-03-04", "day"),
        ("we meet next monday", "2026-03-16", "day"),
        ("the exam is the friday after next", "2026-03-20", "day"),
        ("we paid four days ago", "2026-03-07", "day"),
        ("it is due in 10 days", "2026-03-21", "day"),
        ("it has to be there by the 20th", "2026-03-20", "day"),
        ("it was there on the 5th", "2026-03-05", "day"),
        ("we leave before the end of april", "2026-04-30", "day"),
        ("we moved in last week", "2026-03-04", "week"),
        ("we came two weeks ago", "2026-02-25", "week"),
        ("swap the filter this weekend", "2026-03-14", "week"),
        ("we moved in last month", "2026-02-01", "month"),
        ("we move next month", "2026-04-01", "month"),
        ("i started in january", "2026-01-01", "month"),
        ("we leave in january", "2027-01-01", "month"),
        ("it opened in june 2019", "2019-06-01", "month"),
        ("i lived there in 2012", "2012-01-01", "approximate"),
        ("we married two years ago", "2024-01-01", "approximate"),
        ("we launch in q3", "2026-07-01", "approximate"),
        ("we hiked there last summer", "2025-06-01", "approximate"),
        ("the lesson moved from monday to thursday", "2026-03-12", "day"),
        ("years ago i sang in a choir", None, "approximate"),
        ("i used to sing", None, "approximate"),
    ],
)
def test_a_date_is_found(text: str, at: str | None, precision: str) -> None:
    when = dates.find(text, WEDNESDAY)

    assert when is not None
    assert when.precision == precision
    assert when.at == (datetime.fromisoformat(at).replace(tzinfo=UTC) if at else None)


@pytest.mark.parametrize(
    "text",
    [
        "every sunday night",
        "on tuesdays we swim",
        "python 3.9 only",
        "i may go",
        "the march was long",
        "24/7 support",
        "a summer dress",
    ],
)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert dates.find(text, WEDNESDAY) is None


def test_a_wide_date_has_a_range() -> None:
    when = dates.find("in autumn 2024", WEDNESDAY)

    assert when is not None
    assert when.range == (datetime(2024, 9, 1, tzinfo=UTC), datetime(2024, 11, 30, tzinfo=UTC))


def test_dates_are_local_to_the_turn() -> None:
    here = timezone(timedelta(hours=-7))
    (finding,) = read_turn("my eye exam is tomorrow at 8am", now=datetime(2026, 3, 11, 23, 30, tzinfo=here))

    assert finding.event_at == datetime(2026, 3, 12, 8, 0, tzinfo=here)


@pytest.mark.parametrize(
    "text", ["on 31 february", "the 99th", "2026-13-45", "in 999 years", "999 months ago", "31/31"]
)
def test_impossible_dates_are_passed_over(text: str) -> None:
    dates.find(text, WEDNESDAY)
    dates.find(text, datetime.max.replace(tzinfo=UTC))
    dates.find(text, datetime.min.replace(tzinfo=UTC))
