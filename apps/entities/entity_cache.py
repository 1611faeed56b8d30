"""A cache of one space's entities for resolution: read in a few queries, with all changes written together."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from apps.core.prepared_sql import Columns, insert
from apps.core.queries import execute, fetch_all, fetch_one
from apps.core.scoping import ScopedQuerySet
from apps.core.sequences import reserve_ids
from apps.crypto.services import DecryptError, SpaceCipher
from apps.entities.models import ALIAS, CLAIM, Entity, EntityAlias, EntityClaim, EntityMention, How
from apps.entities.reencryption import ALIASES, alias_mac
from apps.memories import integrity
from apps.memories.models import Memory
from apps.projects.scope import Scope
from text.given_names import gender_of
from text.names import normalised
from text.vocabulary import ORGANIZATION, PRODUCT, PROJECT, TEAM

LOOKED_THROUGH: Final = 400  # the newest names of a space, decrypted to find similar spellings
IDS_AT_ONCE: Final = 8
EARLIER: Final = 3  # memories of a session that a pronoun may refer to
_LOOSE: Final = frozenset({ORGANIZATION, TEAM, PRODUCT, PROJECT})  # types that people mix up
_ALIAS, _ENTITY = Columns(EntityAlias, "alias"), Columns(Entity, "entity")
# Lateral, with bounds and an order that match one index: else the planner may read every name of the space.
_CALLED: Final = f"""
with met as materialized (
    select distinct tenant_id, space_id, entity_id from entities_entityalias
    where tenant_id = %s and space_id = %s and alias_mac = any(%s)
)
select {_ALIAS.sql}, {_ENTITY.sql} from met cross join lateral (
    select * from entities_entityalias where (tenant_id, space_id) = (met.tenant_id, met.space_id)
    and entity_id >= met.entity_id and entity_id <= met.entity_id order by entity_id
) alias cross join lateral (
    select * from entities_entity entity
    where entity.tenant_id = alias.tenant_id and entity.id = alias.entity_id limit 1
) entity
order by alias.id"""  # noqa: S608  (names of our own columns)
_USER: Final = (
    f"select {_ENTITY.sql} from entities_entity entity "  # noqa: S608
    "where entity.tenant_id = %s and entity.space_id = %s and entity.is_user"
)


@dataclass(slots=True, kw_only=True)
class Alias:
    """A name of an entity.

    parent_id: the longer name that this short form was derived from, until someone uses it.  is_new, is_changed: to be
    written.
    """

    id: int
    text: str = field(repr=False)
    is_role: bool = False
    parent_id: int | None = None
    is_new: bool = False
    is_changed: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class EntityRecord:
    """An entity in the cache.  names: by their normalised form."""

    id: int
    type: str = ""
    is_user: bool = False
    needs_review: bool = False
    names: dict[str, Alias] = field(default_factory=dict, repr=False)
    is_new: bool = False
    is_changed: bool = False

    @property
    def proper(self) -> list[str]:
        """The normalised names that are not roles."""
        return [name for name, alias in self.names.items() if not alias.is_role]

    @property
    def gender(self) -> str:
        return next((gender for name in self.names if (gender := gender_of(name))), "")

    def may_be_a(self, type_: str) -> bool:
        return not type_ or not self.type or type_ == self.type or {type_, self.type} <= _LOOSE

    def learn_type(self, type_: str) -> None:
        if type_ and not self.type:
            self.type, self.is_changed = type_, True


class EntityCache:
    """The space's entities that were asked for.  Inside the transaction that holds the space's lock."""

    def __init__(self, scope: Scope, space_id: int, cipher: SpaceCipher, *, now: datetime) -> None:
        self.scope, self.space_id, self.cipher, self.now = scope, space_id, cipher, now
        self.by_id: dict[int, EntityRecord] = {}
        self.by_name: dict[str, list[EntityRecord]] = {}
        self._asked: set[str] = set()
        self._user: EntityRecord | None = None
        self._lost: list[int] = []
        self._mentions: list[EntityMention] = []
        self._claims: list[EntityClaim] = []
        self._is_looked_through = False
        self._ids: dict[str, list[int]] = {}

    # --- reading ------------------------------------------------------------------------------------------------------

    def ask(self, names: Iterable[str]) -> None:
        """Read the entities that have one of these normalised names."""
        wanted = {name for name in names if name} - self._asked
        if not wanted:
            return
        self._asked |= wanted
        macs = [alias_mac(self.cipher, name) for name in wanted]
        # Planned each time: a generic plan may choose the wrong index of the space's names.
        rows = [_alias(found) for found in fetch_all(_CALLED, [self.scope.tenant_id, self.space_id, macs])]
        self._take(rows)

    def called(self, name: str, type_: str = "") -> list[EntityRecord]:
        return [known for known in self.by_name.get(name, ()) if known.may_be_a(type_)]

    def user(self) -> EntityRecord:
        """The entity of the end user; created if there is none yet."""
        if self._user is None:
            found = fetch_one(_USER, [self.scope.tenant_id, self.space_id], prepared=True)
            if found is None:
                self._user = self.make("person", is_user=True)
            else:
                row = _ENTITY.row(found)
                self._user = self.by_id.get(row.pk) or self._known(row)
        return self._user

    def spelled(self) -> list[tuple[str, EntityRecord]]:
        """The newest names of the space that are not roles, each with its entity."""
        if not self._is_looked_through:
            self._take(self._aliases().filter(is_role=False).order_by("-pk")[:LOOKED_THROUGH])
            self._is_looked_through = True
        return [(name, known) for known in self.by_id.values() for name in known.proper]

    def latest(self, among: Sequence[EntityRecord]) -> EntityRecord:
        """The one of these that was mentioned last."""
        ids = [known.id for known in among]
        rows = EntityMention.objects.within(self.scope).filter(space_id=self.space_id, entity_id__in=ids)
        newest = rows.order_by("-memory_id", "-pk").values_list("entity_id", flat=True).first()
        met = [mention.entity_id for mention in self._mentions if mention.entity_id in ids]
        wanted = met[-1] if met else newest
        return next((known for known in among if known.id == wanted), among[-1])

    def of_session(self, session: str) -> list[EntityRecord]:
        """The entities of a session's last memories, the most recent at the end."""
        if not self.cipher.is_searchable:
            return []
        mine = Memory.objects.within(self.scope).live(self.now)
        memories = mine.filter(session_token=self.cipher.session_token(session))
        ids = list(memories.order_by("-pk").values_list("pk", flat=True)[:EARLIER])
        rows = EntityMention.objects.within(self.scope).filter(space_id=self.space_id, memory_id__in=ids)
        met = list(dict.fromkeys(rows.order_by("memory_id", "-pk").values_list("entity_id", flat=True)))
        self._take(self._aliases().filter(entity_id__in=[one for one in met if one not in self.by_id]))
        return [self.by_id[one] for one in met if one in self.by_id]

    def _aliases(self) -> ScopedQuerySet[EntityAlias]:
        rows = EntityAlias.objects.within(self.scope).filter(space_id=self.space_id)
        return rows.select_related("entity").order_by("pk")

    def _take(self, rows: Iterable[EntityAlias]) -> None:
        for row in rows:
            known = self.by_id.get(row.entity_id) or self._known(row.entity)
            try:
                text = self.cipher.open(ALIAS, row.pk, bytes(row.alias_ct)).reveal()
            except DecryptError as error:
                integrity.note(self.scope, error, row.pk, space_id=self.space_id, table=ALIASES, now=self.now)
                continue
            if normalised(text) not in known.names and row.pk not in self._lost:
                alias = Alias(id=row.pk, text=text, is_role=row.is_role, parent_id=row.parent_id)
                self._enter(known, alias)

    def _known(self, row: Entity) -> EntityRecord:
        known = EntityRecord(id=row.pk, type=row.type, is_user=row.is_user, needs_review=row.needs_review)
        self.by_id[known.id] = known
        return known

    def _enter(self, known: EntityRecord, alias: Alias) -> None:
        name = normalised(alias.text)
        known.names[name] = alias
        self.by_name.setdefault(name, []).append(known)

    # --- deciding -----------------------------------------------------------------------------------------------------

    def make(self, type_: str, *, is_user: bool = False, needs_review: bool = False) -> EntityRecord:
        known = EntityRecord(
            id=self._next_id("entity"), type=type_, is_user=is_user, needs_review=needs_review, is_new=True
        )
        self.by_id[known.id] = known
        return known

    def name(self, known: EntityRecord, text: str, *, is_role: bool = False, parent: Alias | None = None) -> Alias:
        """Give the entity this name, unless it has it.  A derived short form that is used becomes a name of its own."""
        alias = known.names.get(normalised(text))
        if alias is None:
            parent_id = parent.id if parent else None
            alias = Alias(id=self._next_id("entityalias"), text=text, is_role=is_role, parent_id=parent_id, is_new=True)
            self._enter(known, alias)
        elif alias.parent_id is not None and parent is None:
            alias.text, alias.parent_id, alias.is_changed = text, None, True
        return alias

    def take_away(self, known: EntityRecord, name: str) -> None:
        """Take this normalised name from the entity."""
        alias = known.names.pop(name)
        self.by_name[name].remove(known)
        self._lost.append(alias.id)  # a new one too: an earlier memory of the batch may have used it

    def flag(self, known: EntityRecord) -> None:
        if not known.needs_review:
            known.needs_review = known.is_changed = True

    def mention(self, known: EntityRecord, memory_id: int, alias: Alias | None, how: How, *, is_unsure: bool) -> None:
        self._mentions.append(
            EntityMention(
                tenant_id=self.scope.tenant_id,
                space_id=self.space_id,
                entity_id=known.id,
                memory_id=memory_id,
                alias_id=alias.id if alias else None,
                origin_id=known.id,
                how=how,
                is_unsure=is_unsure,
                created_at=self.now,
            )
        )

    def claim(
        self, subject: EntityRecord, memory_id: int, predicate: str, object_: EntityRecord | None, value: str
    ) -> None:
        claim_id = self._next_id("entityclaim")
        said = orjson.dumps({"predicate": predicate, "value": value})
        self._claims.append(
            EntityClaim(
                id=claim_id,
                tenant_id=self.scope.tenant_id,
                space_id=self.space_id,
                memory_id=memory_id,
                subject_id=subject.id,
                object_id=object_.id if object_ else None,
                subject_origin_id=subject.id,
                object_origin_id=object_.id if object_ else None,
                claim_ct=self.cipher.seal(CLAIM, claim_id, said),
                key_version=self.cipher.key_version,
                created_at=self.now,
            )
        )

    def _next_id(self, table: str) -> int:
        ids = self._ids.setdefault(table, [])
        if not ids:
            ids += reserve_ids(IDS_AT_ONCE, sequence=f"entities_{table}_id_seq")
        return ids.pop(0)

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all changes.  A new entity without a mention or a claim is not stored."""
        met = self._met()
        self._write_entities(met)
        self._write_aliases([known for known in self.by_id.values() if not known.is_new or known.id in met])
        if self._lost:
            self._delete_lost()
            for mention in self._mentions:
                mention.alias_id = None if mention.alias_id in self._lost else mention.alias_id
        insert(self._mentions)
        insert(self._claims)

    def _delete_lost(self) -> None:
        # Not by Django, which would collect dependent rows and then delete by id only.
        execute(
            "delete from entities_entityalias where tenant_id = %s and space_id = %s and id = any(%s)",
            [self.scope.tenant_id, self.space_id, self._lost],
        )

    def _met(self) -> Collection[int]:
        ends = {one for claim in self._claims for one in (claim.subject_id, claim.object_id) if one is not None}
        return ends | {mention.entity_id for mention in self._mentions}

    def _write_entities(self, met: Collection[int]) -> None:
        insert(
            Entity(
                id=known.id,
                tenant_id=self.scope.tenant_id,
                space_id=self.space_id,
                type=known.type,
                is_user=known.is_user,
                needs_review=known.needs_review,
                created_at=self.now,
            )
            for known in self.by_id.values()
            if known.is_new and known.id in met
        )
        for known in self.by_id.values():
            if known.is_changed and not known.is_new:
                mine = Entity.objects.within(self.scope).filter(space_id=self.space_id, pk=known.id)
                mine.update(type=known.type, needs_review=known.needs_review)

    def _write_aliases(self, whose: Sequence[EntityRecord]) -> None:
        every = [(known, alias) for known in whose for alias in known.names.values()]
        new = [(known, alias) for known, alias in every if alias.is_new]
        insert(self._alias_row(known, alias) for known, alias in new)
        for _, alias in every:
            if alias.is_changed and not alias.is_new:
                sealed = self.cipher.seal(ALIAS, alias.id, alias.text.encode())
                mine = EntityAlias.objects.within(self.scope).filter(space_id=self.space_id, pk=alias.id)
                mine.update(parent_id=None, alias_ct=sealed, key_version=self.cipher.key_version)

    def _alias_row(self, known: EntityRecord, alias: Alias) -> EntityAlias:
        return EntityAlias(
            id=alias.id,
            tenant_id=self.scope.tenant_id,
            space_id=self.space_id,
            entity_id=known.id,
            parent_id=alias.parent_id,
            origin_id=known.id,
            alias_mac=alias_mac(self.cipher, alias.text),
            alias_ct=self.cipher.seal(ALIAS, alias.id, alias.text.encode()),
            key_version=self.cipher.key_version,
            is_role=alias.is_role,
            created_at=self.now,
        )


def _alias(found: Sequence[Any]) -> EntityAlias:
    row = _ALIAS.row(found[: _ALIAS.count])
    row._state.fields_cache["entity"] = _ENTITY.row(found[_ALIAS.count :])
    return row
