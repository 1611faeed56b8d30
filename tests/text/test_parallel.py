"""Statements that say the same of different things are told from a new value of the same thing."""

import pytest

from text.parallel import have_other_subjects


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Invoice 1001 is due on March 4.", "Invoice 1002 is due on March 5."),
        ("Box number 3 is in room 33.", "Box number 4 is in room 34."),
        ("Server web-1 runs on port 8001.", "Server web-2 runs on port 8002."),
        ("Ticket #3 is assigned to Ana.", "Ticket #4 is assigned to Bo."),
        ("My outbound flight is LH123 on May 3.", "My return flight is LH456 on May 9."),
        ("The Monday meeting is at 9 in room A.", "The Thursday meeting is at 11 in room B."),
        ("The production server runs Debian 12.", "The staging server runs Ubuntu 24.04."),
        ("My cousin Rafa lives in Porto.", "My cousin Maria Duda lives in Braga."),
    ],
)
def test_two_subjects_with_two_values_are_other_subjects(earlier: str, later: str) -> None:
    assert have_other_subjects(later, earlier)
    assert have_other_subjects(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Invoice 1001 is due on March 4.", "Invoice 1001 is due on March 5."),
        ("I live in Porto with Ana.", "I live in Braga with Bea."),
        ("My sister lives in Porto with Ana.", "My sister lives in Braga with Bea."),
        ("My old car is a Golf.", "My new car is a Polo."),
        ("My car is a Golf.", "My new car is a Polo."),
        ("Tabs weighs 4.9 kilos, as ever.", "Tabs weighs 5.6 kilos, sadly."),
        ("Postgres is our database since May.", "SQLite is our database since June."),
        ("Ticket 3 is assigned to Ana.", "Ticket 4 is assigned to Ana."),
        ("Ticket 3 is assigned to Ana, and ticket 5 is mine.", "Ticket 4 is assigned to Bo."),
        ("", "Ticket 4 is assigned to Bo."),
        ("Ticket", "Ticket 4"),
    ],
)
def test_another_value_of_one_subject_is_not(earlier: str, later: str) -> None:
    assert not have_other_subjects(later, earlier)
