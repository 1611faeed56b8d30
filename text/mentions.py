"""Entities that a text mentions, and relations between them, in the text's own words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

MOST_NAMED: Final = 24  # per memory; a text that names a hundred is a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A mention of one entity.  At least one of name, role, pronoun and is_user is set.

    name: as written.  role: identifies a person while they have it: "my manager", "the CTO".
    is_shared: several persons may have the role at once, as sisters do.  pronoun: she, he, they or it.
    type: empty if the text does not show it.  is_sure: may create an entity; else it is linked only to a known one.
    also: other names in the text.
    """

    name: str = field(default="", repr=False)
    role: str = field(default="", repr=False)
    pronoun: str = ""
    type: str = ""
    is_user: bool = False
    is_sure: bool = True
    is_shared: bool = False
    also: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationMention:
    """A relation, or, with only a value, a fact about the subject.  predicate: canonical.

    value: with an object, the kind of relation: ``related_to``, "sister".  is_implied: only by the object's role, as in
    "my boss is late"; it adds nothing about a known person.
    """

    subject: Mention
    predicate: str
    object: Mention | None = None
    value: str = field(default="", repr=False)
    is_implied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """named: in text order, including the entities in ``told``."""

    named: Sequence[Mention] = ()
    told: Sequence[RelationMention] = ()

    def __bool__(self) -> bool:
        return bool(self.named)


NOBODY: Final = Mentions()
