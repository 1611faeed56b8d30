"""Entities decrypted for the owner of their space: plain values, independent of any database row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEntity:
    """A decrypted entity.  name: the fullest one that is not a role.  aliases: the others, as written.

    mention_count: of readable memories.
    """

    id: int
    type: str
    name: str = field(repr=False)
    aliases: Sequence[str] = field(repr=False)
    is_user: bool
    needs_review: bool
    mention_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRelation:
    """A current relation of an entity.  is_outgoing: it is the subject.  memory_ids: the sources, newest first."""

    type: str
    is_outgoing: bool
    other: OpenedEntity
    value: str = field(repr=False)
    since: datetime
    memory_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An entity with its current attributes and relations.

    attributes: values by predicate, newest first.  memory_ids: the memories that mention it, newest first.
    next_before: where the next page of these begins, if there is one.
    """

    entity: OpenedEntity
    attributes: Mapping[str, Sequence[str]] = field(repr=False)
    relations: Sequence[OpenedRelation]
    memory_ids: Sequence[int]
    next_before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPage:
    """entities: newest first.  next_before: where the next page begins, if there is one."""

    entities: Sequence[OpenedEntity] = ()
    next_before: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """A relation between two entities of a picture.  memory_ids: the memories that state it, newest first."""

    from_id: int
    to_id: int
    type: str
    memory_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPicture:
    """The most mentioned entities of the newest memories of a space, and their relations.

    entities: most mentioned first.  memory_ids: by entity id, the newest that mention it.  is_cut: there are more.
    """

    entities: Sequence[OpenedEntity] = ()
    ties: Sequence[Tie] = ()
    memory_ids: Mapping[int, Sequence[int]] = field(default_factory=dict)
    is_cut: bool = False
