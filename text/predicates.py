"""Predicates of claims: the attribute under which a claim is stored, and whether it can have several values.

The table is data.  A predicate that is not listed is an attribute of the same name with a single value.
"""

from dataclasses import dataclass
from typing import Final

from text import patterns


@dataclass(frozen=True, slots=True)
class Predicate:
    """attribute: last part of the canonical key, as used by extraction.

    is_many: the object is part of the key, so that several values coexist.
    """

    attribute: str
    is_many: bool = False


PREDICATES: Final = {
    "works_at": Predicate("employer"),
    "works_for": Predicate("employer"),
    "employed_by": Predicate("employer"),
    "lives_in": Predicate("location"),
    "located_at": Predicate("location"),
    "located_in": Predicate("location"),
    "based_in": Predicate("location"),
    "has_role": Predicate("role"),
    "works_as": Predicate("role"),
    "reports_to": Predicate("reports_to"),
    "is_called": Predicate("name"),
    "allergic_to": Predicate("allergy", is_many=True),
    "allergy": Predicate("allergy", is_many=True),
    "takes": Predicate("medication", is_many=True),
    "medication": Predicate("medication", is_many=True),
    "manages": Predicate("manages", is_many=True),
    "works_with": Predicate("works_with", is_many=True),
    "member_of": Predicate("member_of", is_many=True),
    "owns": Predicate("owns", is_many=True),
    "created": Predicate("created", is_many=True),
    "uses": Predicate("uses", is_many=True),
    "knows": Predicate("knows", is_many=True),
}
SELF: Final = frozenset({"user", "me", "i", "myself", "self"})
_BETWEEN: Final = patterns.compile(r"[\W_]+")


def canonical(name: str) -> str:
    """Lower case, words joined by underscores."""
    return _BETWEEN.sub("_", name.casefold()).strip("_")


def predicate_of(name: str) -> Predicate:
    word = canonical(name)
    return PREDICATES.get(word, Predicate(word))


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateClaim:
    """A claim.  subject, predicate, object: as stated.  about, attribute: their canonical forms, used for lookups."""

    subject: str
    predicate: str
    object: str
    about: str
    attribute: str

    @classmethod
    def stated(cls, subject: str, predicate: str, object_: str) -> "PredicateClaim":
        return cls(
            subject=subject,
            predicate=predicate,
            object=object_,
            about=subject_of(subject),
            attribute=predicate_of(predicate).attribute,
        )

    @classmethod
    def read(cls, key: str, value: str, *, many_valued: bool) -> "PredicateClaim | None":
        """Parse a canonical key: ``user.sister.location``, or with the object in it, ``user.allergy.sesame``."""
        about, _, attribute = key.rpartition(".")
        if many_valued:
            value = attribute
            about, _, attribute = about.rpartition(".")
        if not about:
            return None
        return cls(subject=about, predicate=attribute, object=value, about=about, attribute=attribute)


def subject_of(name: str) -> str:
    """Canonical form; dots between a subject and its relations stay: ``user.sister``."""
    parts = [canonical(part) for part in name.split(".")]
    parts[0] = "user" if parts[0] in SELF else parts[0]
    return ".".join(part for part in parts if part)
