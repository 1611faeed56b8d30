"""Whom and what a text mentions, and what it says of them, in the words that it uses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

MOST_NAMED: Final = 24  # in one memory; a list of a hundred names is a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Words that stand for one entity.  Of name, role, pronoun and is_user at least one is there.

    name: as it was written.  role: by which a person is known for as long as they have it: "my manager", "the CTO";
    is_shared: several may have it at once, as sisters do.  pronoun: she, he, they or it.  type: empty where the text
    does not say.  is_sure: may be an entity that was not known before; else it is linked where it is known.
    also: other names that the text gives it.
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
    """A relation, or with a value alone, a fact about the subject.  predicate: canonical.

    value: beside an object, which of the kind it is: ``related_to``, "sister".  is_implied: by the object's role alone,
    as in "my boss is late": news only of a person not known before.
    """

    subject: Mention
    predicate: str
    object: Mention | None = None
    value: str = field(default="", repr=False)
    is_implied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """named: in the order of the text, including what is in ``told``."""

    named: Sequence[Mention] = ()
    told: Sequence[RelationMention] = ()

    def __bool__(self) -> bool:
        return bool(self.named)


NOBODY: Final = Mentions()
