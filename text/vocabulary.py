"""What entities are, and how one may stand to another: closed vocabularies, extended by a line here.

A relation that is not in the table is none: free words cannot be walked along.  What is said of one entity alone is a
fact about it, under a predicate of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from text.predicates import canonical

PERSON, ORGANIZATION, TEAM, PLACE = "person", "organization", "team", "place"
PRODUCT, PROJECT, OTHER = "product", "project", "other"
ENTITY_TYPES: Final = (PERSON, ORGANIZATION, TEAM, PLACE, PRODUCT, PROJECT, OTHER)

HAS_ROLE: Final = "has_role"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """subject, object: what stands at each end, where that can be one thing only; else empty.

    instead: by what the object turns out to be, another relation: who works for a person reports to them.
    """

    name: str
    subject: str = ""
    object: str = ""
    instead: tuple[tuple[str, str], ...] = ()


_ALL: Final = (
    # The seed's eight.
    Relation(name="reports_to", subject=PERSON, object=PERSON),
    Relation(name="manages", subject=PERSON),
    Relation(name="works_with", subject=PERSON),
    Relation(name="member_of", subject=PERSON),
    Relation(name="owns"),
    Relation(name="created"),
    Relation(name="uses"),
    Relation(name="located_at"),
    # Ours.
    Relation(name="works_at", subject=PERSON, instead=((PERSON, "reports_to"), (TEAM, "member_of"))),
    Relation(name="related_to", subject=PERSON),
)
RELATIONS: Final = {one.name: one for one in _ALL}


def relation_of(name: str, also: Iterable[str] = ()) -> Relation | None:
    """The relation of this name, however it is spelled.  also: names that the tenant has added."""
    word = canonical(name)
    return RELATIONS.get(word) or (Relation(name=word) if word in also else None)


def named_for(predicate: str, object_type: str) -> str:
    """What the relation is called, now that it is known what its object is."""
    relation = RELATIONS.get(predicate)
    return dict(relation.instead).get(object_type, predicate) if relation else predicate
