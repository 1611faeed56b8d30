"""Types of entities and relations between them: closed vocabularies, to which tables here can add a line.

Relations that are not in the table are not stored as relations, since free words cannot be traversed.  A statement
about one entity alone is a fact about it, with a predicate of its own.
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
    """subject, object: the required type at this end; empty if several are possible.

    instead: relations to use for other types of the object: working for a person is reporting to them.
    """

    name: str
    subject: str = ""
    object: str = ""
    instead: tuple[tuple[str, str], ...] = ()


_ALL: Final = (
    # The eight of the original specification.
    Relation(name="reports_to", subject=PERSON, object=PERSON),
    Relation(name="manages", subject=PERSON),
    Relation(name="works_with", subject=PERSON),
    Relation(name="member_of", subject=PERSON),
    Relation(name="owns"),
    Relation(name="created"),
    Relation(name="uses"),
    Relation(name="located_at"),
    # Additions.
    Relation(name="works_at", subject=PERSON, instead=((PERSON, "reports_to"), (TEAM, "member_of"))),
    Relation(name="related_to", subject=PERSON),
)
RELATIONS: Final = {one.name: one for one in _ALL}


def relation_of(name: str, also: Iterable[str] = ()) -> Relation | None:
    """The relation of this name in any spelling.  also: relations that the tenant has added."""
    word = canonical(name)
    return RELATIONS.get(word) or (Relation(name=word) if word in also else None)


def named_for(predicate: str, object_type: str) -> str:
    """The name of the relation, given the type of its object."""
    relation = RELATIONS.get(predicate)
    return dict(relation.instead).get(object_type, predicate) if relation else predicate
