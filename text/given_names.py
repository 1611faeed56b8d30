"""First names and roles, to tell persons from things and "she" from "he".

The names are in ``data``, one a line, in lower case: common ones of many countries.  A name that is missing there
counts as a person's if the words around it say so.
"""

from pathlib import Path
from typing import Final

_DATA: Final = Path(__file__).parent / "data"


def _names(file: str) -> frozenset[str]:
    return frozenset((_DATA / file).read_text("utf-8").split())


FEMALE: Final = _names("female_names.txt")
MALE: Final = _names("male_names.txt")
EITHER: Final = _names("names_of_either.txt")
GIVEN_NAMES: Final = FEMALE | MALE | EITHER

_FEMALE_ROLES: Final = frozenset(
    """
    aunt chairwoman daughter fiancee girlfriend godmother granddaughter grandma grandmother landlady mom mother
    mum niece sister stepdaughter stepmother wife
    """.split()  # noqa: SIM905  (a list of words reads best as words)
)
_MALE_ROLES: Final = frozenset(
    """
    boyfriend brother chairman dad father godfather grandfather grandpa grandson husband landlord nephew son
    stepfather stepson uncle
    """.split()  # noqa: SIM905  (a list of words reads best as words)
)


def gender_of(name: str) -> str:
    """``f`` or ``m`` if a normalised name or role implies it, else empty."""
    words = name.split()
    first, last = words[0] if words else "", words[-1] if words else ""
    if last in _FEMALE_ROLES or (first in FEMALE and first not in MALE | EITHER):
        return "f"
    if last in _MALE_ROLES or (first in MALE and first not in FEMALE | EITHER):
        return "m"
    return ""
