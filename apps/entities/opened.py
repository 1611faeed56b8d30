"""Entities opened for the owner of their space: plain values, tied to no database row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEntity:
    """name: the fullest of those that are no roles.  aliases: the others, as they were said.  mention_count: of
    memories that may be read."""

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
    """How an entity stands to another now.  is_outgoing: it is the subject.  memory_ids: which say so, newest first."""

    type: str
    is_outgoing: bool
    other: OpenedEntity
    value: str = field(repr=False)
    since: datetime
    memory_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An entity with what is said of it now.  attributes: by predicate, the newest first.  memory_ids: which
    mention it, newest first.  next_before: where the next page of these begins, if there is one."""

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
    """That one entity of a picture stands to another in some way.  memory_ids: which say so, newest first."""

    from_id: int
    to_id: int
    type: str
    memory_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPicture:
    """Who and what is mentioned most among the newest mentions of a space, and how they stand to each other.

    entities: most mentioned first.  memory_ids: by the entity's id, the newest that mention it.  is_cut: there are
    more.
    """

    entities: Sequence[OpenedEntity] = ()
    ties: Sequence[Tie] = ()
    memory_ids: Mapping[int, Sequence[int]] = field(default_factory=dict)
    is_cut: bool = False
