"""Dates are resolved against the time of the turn, in the direction of the tense."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from text import dates
from text.extraction.extractor import read_turn

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
        ("it's been four days since we paid", "2026-03-07", "day"),
        ("my scan is a week on monday", "2026-03-23", "day"),
        ("the hearing is monday week", "2026-03-23", "day"),
        ("the ceilidh is a fortnight on saturday", "2026-03-28", "day"),
        ("the christening is on sunday the 29th", "2026-03-29", "day"),
        ("i've got an exam on 7 october", "2026-10-07", "day"),
        ("as i told you, the exam's on 7 october", "2026-10-07", "day"),
        ("i must return the hired van on 1 may", "2026-05-01", "day"),
        ("we're away from the 2nd to the 9th of may", "2026-05-02", "day"),
        ("the fair is on 2 and 3 may", "2026-05-02", "day"),
        ("the lease ends on the fourteenth of may", "2026-05-14", "day"),
        ("we signed on the thirtieth of october 2024", "2024-10-30", "day"),
        ("the choir tours from may the sixth", "2026-05-06", "day"),
        ("the hearing is on wednesday, the first of april", "2026-04-01", "day"),
        ("the hearing is on wednesday 1 april", "2026-04-01", "day"),
        ("all forms must be in by the twenty-second", "2026-03-22", "day"),
        ("the van is due back on the first, full of petrol", "2026-04-01", "day"),
        ("the gig got pushed from the 4th to the 12th of may", "2026-05-12", "day"),
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
        ("we have booked the hall, 4 may", "2026-05-04", "day"),
        ("mum has got her hip date: 21 april", "2026-04-21", "day"),
        ("i asked for the day off, it's the 28th", "2026-03-28", "day"),
        ("the boiler man came, and the bill is due on the 20th", "2026-03-20", "day"),
        ("he died in october of 2019", "2019-10-01", "month"),
        ("she has had it since 2017, and we go to the clinic on 4 may", "2026-05-04", "day"),
        ("we're away 24th to 26th", "2026-03-24", "day"),
        ("he drives me home on 20th", "2026-03-20", "day"),
        ("the van goes back come the fifteenth", "2026-03-15", "day"),
        ("they start come september", "2026-09-01", "month"),
        ("it must be done by end june", "2026-06-30", "day"),
        ("the choir meets weds", "2026-03-18", "day"),
        ("the shop closes on xmas eve", "2026-12-24", "day"),
        ("she wants the piano tuned on 4 march", "2027-03-04", "day"),
        ("we'd like the gutters cleaned on tuesday", "2026-03-17", "day"),
        ("get the tyres changed on 4 march", "2027-03-04", "day"),
        ("we needed the gutters cleaned on tuesday", "2026-03-10", "day"),
        ("i need the letter they posted on tuesday", "2026-03-10", "day"),
        ("i visit my aunt at christmas, from 20 december", "2026-12-20", "day"),
        ("the valentine's dinner is on 12 february", "2027-02-12", "day"),
        ("the valentine's dinner is tomorrow", "2026-03-12", "day"),
        ("we celebrate christmas on the 25th", "2026-12-25", "day"),
        ("on saturday team lunch is at noon", "2026-03-14T12:00", "exact"),
        ("this saturday class is cancelled", "2026-03-14", "day"),
        ("on friday night we play chess", "2026-03-13", "day"),
        ("saturday morning we swim", "2026-03-14", "day"),
        ("we train on tuesday and thursday this week", "2026-03-17", "day"),
        ("i have an exam on tuesday and thursday", "2026-03-17", "day"),
        ("we signed yesterday, and the keys come on 4 may", "2026-05-04", "day"),
        ("the shop opened on 2 march, the sale is on 21 march", "2026-03-21", "day"),
        ("the hall is closed from 19 december to 5 january", "2026-12-19", "day"),
        ("the hall moves from 19 december to 5 january", "2027-01-05", "day"),
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
    ("text", "clock"),
    [
        ("we meet on 4 may at six", "18:00"),
        ("the hearing is on 4 may at nine forty", "09:40"),
        ("the hearing is on 4 may at 3:15", "15:15"),
        ("the hearing is on 4 may at 03:15", "03:15"),
        ("the train goes on 4 may, six am", "06:00"),
        ("the concert is on 4 may, seven thirty in the evening", "19:30"),
        ("the ferry goes on 4 may, 9:00 in the morning, so we drive up the night before", "09:00"),
        ("the clinic is on 4 may at ten past nine", "09:10"),
        ("the clinic is on 4 may, quarter past two", "14:15"),
        ("the clinic is on 4 may, twenty to ten", "09:40"),
        ("the clinic is on 4 may, quarter to one", "12:45"),
        ("the clinic is on 4 may, half two", "14:30"),
        ("be there on 4 may, eight sharp", "08:00"),
        ("dinner is on 4 may, seven o'clock", "19:00"),
        ("the party ends on 4 may, 12 o'clock at night", "00:00"),
        ("the recital is on 4 may at 6.45", "18:45"),
        ("the surgery is at 11.20 on the 4th of may", "11:20"),
        ("lunch at 12 river lane on 4 may at 1", "13:00"),
        ("tea at 9, river lane on 4 may at four", "16:00"),
        ("dinner at 7 sharp on 4 may", "19:00"),
    ],
)
def test_a_clock_time_is_found(text: str, clock: str) -> None:
    when = dates.find(text, WEDNESDAY)

    assert when is not None
    assert when.precision == "exact"
    assert when.at == datetime.fromisoformat(f"2026-05-04T{clock}").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "we looked at two flats on 4 may",
        "on 4 may there were six at one table",
        "the viewing at 9 orchard close is on 4 may",
        "collect the piano at 17 hazel grove on 4 may",
        "on 4 may we are at 300 members",
        "the shares closed at 3.50 on 4 may",
        "on 4 may eggs were at 2.40 each",
        "from 4 may, eight hours a week at 11.50",
    ],
)
def test_a_number_of_something_else_is_no_clock_time(text: str) -> None:
    when = dates.find(text, WEDNESDAY)

    assert when is not None
    assert when.precision == "day"


@pytest.mark.parametrize(
    "text",
    [
        "every sunday night",
        "she has a friday shift at the bakery",
        "i read the sunday papers",
        "he's in the tuesday evening class",
        "our saturday league is great fun",
        "we row on thursday mornings",
        "of a friday we get fish and chips",
        "she sees her gran on a sunday",
        "they rehearse mon & wed",
        "my sister swims on tuesday and saturday",
        "stand-up is at 9.15.",
        "on tuesdays we swim",
        "python 3.9 only",
        "i may go",
        "the march was long",
        "24/7 support",
        "a summer dress",
        "you may first ask the porter",
        "on the second floor",
        "by the tenth lesson we had it",
        "for the first and last time",
        "in the end may be the best time",
        "the question is may i come",
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
    "text",
    [
        "on 31 february", "february 30", "the 99th", "2026-13-45", "2026-02-30", "31/31", "in 999 years",
        "999 months ago", "in 241 months", "101 years ago", "11 decades ago", "521 weeks from now", "in 261 fortnights",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "now", [WEDNESDAY, datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)], ids=["now", "last", "first"]
)
def test_impossible_date_is_none(text: str, now: datetime) -> None:
    assert dates.find(text, now) is None


@pytest.mark.parametrize(
    ("text", "year"),
    [("in 100 years", 2126), ("240 months ago", 2006), ("10 decades ago", 1926), ("999 days ago", 2023)],
)
def test_far_date_is_found(text: str, year: int) -> None:
    when = dates.find(text, WEDNESDAY)

    assert when is not None
    assert when.at is not None
    assert when.at.year == year


def test_leap_day_is_found_in_a_leap_year_only() -> None:
    when = dates.find("she was born early, 29 february", datetime(2028, 3, 11, tzinfo=UTC))

    assert when is not None
    assert when.at == datetime(2028, 2, 29, tzinfo=UTC)
    assert dates.find("she was born early, 29 february", datetime(2030, 3, 11, tzinfo=UTC)) is None


def test_impossible_date_beside_another_is_passed_over() -> None:
    when = dates.find("the lease ends in 999 years or on 12 june", WEDNESDAY)

    assert when is not None
    assert when.at == datetime(2026, 6, 12, tzinfo=UTC)


NOVEMBER = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("we moved to leuven on 2 october", "2026-10-02"),
        ("we have moved to leuven on 2 october", "2026-10-02"),
        ("on 2 october we moved to leuven", "2026-10-02"),
        ("we moved to leuven in june", "2026-06-01"),
        ("i've moved to leuven in june", "2026-06-01"),
        ("in june i moved to leuven", "2026-06-01"),
        ("we moved on 2 december", "2025-12-02"),
        ("i rode across the alps in july", "2026-07-01"),
        ("she withdrew her offer in december", "2025-12-01"),
        ("our boat was sold in june", "2026-06-01"),
        ("i am moving to leuven in june", "2027-06-01"),
        ("we will move to leuven on 2 october", "2027-10-02"),
        ("the recital moved to 2 december", "2026-12-02"),
        ("the recital was moved to june", "2027-06-01"),
        ("i've booked a table for 2 december", "2026-12-02"),
        ("we reserved the hall for june", "2027-06-01"),
        ("i'll be in oslo in spring", "2027-03-01"),
        ("the course starts in spring", "2027-03-01"),
        ("we visited oslo in spring", "2026-03-01"),
        ("i got asked to give a talk on 4 february", "2027-02-04"),
        ("she has handed in her notice, last day 9 january", "2027-01-09"),
        ("i said yes to the cruise, so in february we are away", "2027-02-01"),
        ("the wedding was lovely, 2 october", "2026-10-02"),
    ],
)
def test_a_bare_date_lies_where_the_tense_points(text: str, at: str) -> None:
    when = dates.find(text, NOVEMBER)

    assert when is not None
    assert when.at == datetime.fromisoformat(at).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "even in winter i swim in the lake",
        "i cycle to work even in summer",
        "we ski in winter",
        "i usually garden in spring",
        "we always rent a hut in august",
    ],
)
def test_a_habit_has_no_date(text: str) -> None:
    assert dates.find(text, NOVEMBER) is None
    assert {f.event_at for f in read_turn(text, now=NOVEMBER)} == {None}
