"""Reads entities.  An entity shows while a readable memory mentions it; a name, while one uses it.

Visibility is never stored: every query derives it from the memories.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
from django.db.models import BooleanField, Count, OuterRef, Q, QuerySet, Subquery, Value

from apps.core.errors import NotFound
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_space
from apps.entities.models import ALIAS, CLAIM, Entity, EntityAlias, EntityClaim, EntityMention
from apps.entities.opened import Described, EntityPage, EntityPicture, OpenedEntity, OpenedRelation, Tie
from apps.entities.reencryption import ALIASES, CLAIMS, alias_mac
from apps.memories import integrity
from apps.memories.models import Memory
from apps.projects.scope import Scope
from text.names import is_full, normalised
from text.vocabulary import OTHER, PERSON, named_for

CLAIMS_AT_MOST: Final = 500  # of one entity, newest first
MOST_IN_A_MEMORY: Final = 40
LOOKED_AT: Final = 2_000  # the newest memories, from which a picture counts mentions
SHOWN_BESIDE: Final = 3  # memories shown for each entity


class EntityNotFound(NotFound):
    """There is no such entity."""

    code = "ENTITY_NOT_FOUND"


def list_entities(
    scope: Scope,
    *,
    type_: str | None = None,
    q: str | None = None,
    needs_review: bool | None = None,
    before: int | None = None,
    limit: int,
    now: datetime,
) -> EntityPage:
    """The entities of the scope's one space, newest first.  q: a whole name or alias, compared after normalisation."""
    if not scope.spaces:
        return EntityPage()
    with tenant_transaction(scope):
        cipher = _cipher(scope)
        if cipher is None:
            return EntityPage()
        rows = _shown(scope, now=now)
        if type_ is not None:
            rows = rows.filter(type="" if type_ == OTHER else type_)
        if q is not None:
            whose = set(_named(scope, [alias_mac(cipher, q)], now=now).values_list("entity_id", flat=True))
            rows = rows.filter(pk__in=whose)
        if needs_review is not None:
            rows = rows.filter(needs_review=needs_review)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        found = list(rows.order_by("-pk")[: limit + 1])
        shown = found[:limit]
        opened = _open(scope, shown, cipher, now=now)
    return EntityPage(
        entities=[opened[row.pk] for row in shown],
        next_before=shown[-1].pk if len(found) > limit else None,
    )


def get_entity(scope: Scope, entity_id: int, *, before: int | None = None, limit: int, now: datetime) -> Described:
    """One entity with its relations and mentions; for a merged one, its target.  Raises EntityNotFound.

    before: a memory's id; only older ones.  limit: of memories.
    """
    if not scope.spaces or not 0 < entity_id < 2**63:
        raise EntityNotFound
    with tenant_transaction(scope):
        cipher = _cipher(scope)
        if cipher is None:
            raise EntityNotFound
        row = canonical(scope, entity_id, now=now)
        said = _claims(scope, row.pk, cipher, now=now)
        others = {one for claim, _ in said for one in (claim.subject_id, claim.object_id) if one not in (None, row.pk)}
        shown = list(_shown(scope, now=now).filter(pk__in=others))
        opened = _open(scope, [row, *shown], cipher, now=now)
        mentions = _mentions(scope, now=now).filter(entity_id=row.pk)
        if before is not None:
            mentions = mentions.filter(memory_id__lt=before)
        ids = list(mentions.order_by("-memory_id").values_list("memory_id", flat=True).distinct()[: limit + 1])
    return Described(
        entity=opened[row.pk],
        attributes=_attributes(row.pk, said),
        relations=_relations(row.pk, said, opened),
        memory_ids=ids[:limit],
        next_before=ids[limit - 1] if len(ids) > limit else None,
    )


def entities_in(scope: Scope, memory_id: int, *, now: datetime) -> list[OpenedEntity]:
    """The entities that a memory of the scope's one space mentions, by their names."""
    if not scope.spaces:
        return []
    with tenant_transaction(scope):
        cipher = _cipher(scope)
        if cipher is None:
            return []
        ids = set(_mentions(scope, now=now).filter(memory_id=memory_id).values_list("entity_id", flat=True))
        if not ids:
            return []
        rows = list(_shown(scope, now=now).filter(pk__in=ids).order_by("pk")[:MOST_IN_A_MEMORY])
        opened = _open(scope, rows, cipher, now=now)
    return sorted(opened.values(), key=lambda one: (one.name, one.id))


def picture(scope: Scope, *, limit: int, now: datetime) -> EntityPicture:
    """The picture of the scope's one space, with at most ``limit`` entities.  A sealed space has none."""
    with tenant_transaction(scope):
        cipher = _cipher(scope)
        if cipher is None:
            return EntityPicture()
        newest = Memory.objects.within(scope).existing(now).order_by("-pk").values_list("pk", flat=True)[:LOOKED_AT]
        mentions = EntityMention.objects.within(scope).filter(space_id=scope.space.id, memory_id__in=list(newest))
        memory_ids: dict[int, list[int]] = {}
        counts: Counter[int] = Counter()
        for entity_id, memory_id in mentions.order_by("-memory_id", "pk").values_list("entity_id", "memory_id"):
            counts[entity_id] += 1
            mine = memory_ids.setdefault(entity_id, [])
            if memory_id not in mine and len(mine) < SHOWN_BESIDE:
                mine.append(memory_id)
        most = sorted(counts, key=lambda one: (-counts[one], one))
        rows = list(_shown(scope, now=now).filter(pk__in=most[:limit]))
        opened = _open(scope, rows, cipher, now=now)
        ties = _ties(scope, opened, cipher, now=now)
    entities = [opened[one] for one in most[:limit] if one in opened]
    return EntityPicture(entities=entities, ties=ties, memory_ids=memory_ids, is_cut=len(most) > limit)


def canonical(scope: Scope, entity_id: int, *, now: datetime) -> Entity:
    """The visible entity that this id stands for.  Inside the tenant's transaction.  Raises EntityNotFound."""
    mine = Entity.objects.within(scope).filter(space_id=scope.space.id)
    merged = mine.filter(pk=entity_id).values_list("merged_into_id", flat=True).first()
    row = _shown(scope, now=now).filter(pk=merged or entity_id).first()
    if row is None:
        raise EntityNotFound
    return row


def _cipher(scope: Scope) -> SpaceCipher | None:
    """The cipher of the scope's one space; None if it is sealed, and so has no entities, or shredded."""
    try:
        cipher = open_space(scope.tenant, scope.space)
    except SpaceShredded:
        return None
    return cipher if cipher.is_searchable else None


def _any(rows: QuerySet[Any]) -> Subquery:
    """Whether one of these rows exists, looked up row by row along an index.

    The planner turns a plain EXISTS into a join, which without statistics may read the whole space for each row.
    """
    return Subquery(rows.annotate(there=Value(True)).values("there")[:1], output_field=BooleanField())


def _readable(scope: Scope, *, now: datetime) -> Subquery:
    """For a row with a ``memory_id``: whether that memory may be read."""
    return _any(Memory.objects.within(scope).existing(now).filter(pk=OuterRef("memory_id")))


def _live(scope: Scope, *, now: datetime) -> Subquery:
    """For a row with a ``memory_id``: whether that memory may be recalled."""
    return _any(Memory.objects.within(scope).live(now).filter(pk=OuterRef("memory_id")))


def _mentions(scope: Scope, *, now: datetime) -> ScopedQuerySet[EntityMention]:
    """Mentions in memories that may be read."""
    rows = EntityMention.objects.within(scope).filter(space_id=scope.space.id)
    return rows.filter(_readable(scope, now=now))


def _shown(scope: Scope, *, now: datetime) -> ScopedQuerySet[Entity]:
    rows = Entity.objects.within(scope).filter(space_id=scope.space.id, merged_into=None)
    claims = EntityClaim.objects.within(scope).filter(space_id=scope.space.id).filter(_readable(scope, now=now))
    return rows.filter(
        Q(_any(_mentions(scope, now=now).filter(entity_id=OuterRef("pk"))))
        | Q(_any(claims.filter(subject_id=OuterRef("pk"))))
        | Q(_any(claims.filter(object_id=OuterRef("pk"))))
    )


def _named(scope: Scope, macs: Sequence[bytes], *, now: datetime) -> ScopedQuerySet[EntityAlias]:
    """The names with these hashes that a readable memory uses, and short forms of such names."""
    said = _mentions(scope, now=now)
    rows = EntityAlias.objects.within(scope).filter(space_id=scope.space.id, alias_mac__in=list(macs))
    return rows.filter(
        Q(_any(said.filter(alias_id=OuterRef("pk")))) | Q(_any(said.filter(alias_id=OuterRef("parent_id"))))
    )


def _open(scope: Scope, rows: Sequence[Entity], cipher: SpaceCipher, *, now: datetime) -> dict[int, OpenedEntity]:
    if not rows:
        return {}
    ids = [row.pk for row in rows]
    mentions = _mentions(scope, now=now).filter(entity_id__in=ids)
    counts: dict[int, int] = dict(
        mentions.values("entity_id").annotate(n=Count("memory_id", distinct=True)).values_list("entity_id", "n")
    )
    names = _names(scope, ids, cipher, now=now)
    return {
        row.pk: OpenedEntity(
            id=row.pk,
            type=row.type or OTHER,
            name=_best(row, names.get(row.pk, [])),
            aliases=_others(row, names.get(row.pk, [])),
            is_user=row.is_user,
            needs_review=row.needs_review,
            mention_count=counts.get(row.pk, 0),
            created_at=row.created_at,
        )
        for row in rows
    }


def _names(
    scope: Scope, ids: Sequence[int], cipher: SpaceCipher, *, now: datetime
) -> dict[int, list[tuple[str, bool]]]:
    """By entity id, the names that readable memories use, oldest first, and whether each is a role."""
    said = _mentions(scope, now=now).filter(alias_id=OuterRef("pk"))
    rows = EntityAlias.objects.within(scope).filter(space_id=scope.space.id, entity_id__in=list(ids))
    found: dict[int, list[tuple[str, bool]]] = {}
    for row in rows.filter(_any(said)).order_by("pk"):
        try:
            text = cipher.open(ALIAS, row.pk, bytes(row.alias_ct)).reveal()
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, table=ALIASES, now=now)
            continue
        found.setdefault(row.entity_id, []).append((text, row.is_role))
    return found


def _best(row: Entity, names: Sequence[tuple[str, bool]]) -> str:
    """The fullest name that is not a role; for a person, one with a surname, and with an initial only if need be."""
    if row.is_user and not names:
        return "user"

    def fullness(named: tuple[str, bool]) -> tuple[bool, bool, int]:
        name = normalised(named[0])
        return not named[1], row.type != PERSON or is_full(name), len(name) if len(name.split()[0]) > 1 else 0

    return max(names, key=fullness)[0] if names else ""


def _others(row: Entity, names: Sequence[tuple[str, bool]]) -> list[str]:
    best = normalised(_best(row, names))
    others = {normalised(name): name for name, _ in reversed(names) if normalised(name) != best}
    return list(reversed(others.values()))


def _claims(
    scope: Scope, entity_id: int, cipher: SpaceCipher, *, now: datetime
) -> list[tuple[EntityClaim, dict[str, Any]]]:
    """The current claims about the entity, the newest statement first, at most CLAIMS_AT_MOST."""
    rows = EntityClaim.objects.within(scope).filter(space_id=scope.space.id)
    ends = rows.filter(subject_id=entity_id).union(rows.filter(object_id=entity_id)).values_list("pk", flat=True)
    rows = rows.filter(pk__in=list(ends)).filter(_live(scope, now=now))
    found = []
    for row in rows.order_by("-memory_id", "pk").select_related("memory")[:CLAIMS_AT_MOST]:
        try:
            found.append((row, orjson.loads(cipher.open_bytes(CLAIM, row.pk, bytes(row.claim_ct)))))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, table=CLAIMS, now=now)
    return found


def _attributes(entity_id: int, said: Iterable[tuple[EntityClaim, Mapping[str, Any]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row, claim in said:
        if row.subject_id == entity_id and row.object_id is None:
            values = found.setdefault(claim["predicate"], [])
            if claim["value"] not in values:
                values.append(claim["value"])
    return found


def _relations(
    entity_id: int, said: Iterable[tuple[EntityClaim, Mapping[str, Any]]], opened: Mapping[int, OpenedEntity]
) -> list[OpenedRelation]:
    """Each relation once, with all its memories; relations whose two ends were merged are left out."""
    by_ends: dict[tuple[str, bool, int, str], list[EntityClaim]] = {}
    for row, claim in said:
        is_outgoing = row.subject_id == entity_id
        other = opened.get((row.object_id if is_outgoing else row.subject_id) or 0)
        if row.object_id is None or other is None or other.id == entity_id:
            continue
        object_ = other if is_outgoing else opened[entity_id]
        type_ = named_for(claim["predicate"], object_.type)
        by_ends.setdefault((type_, is_outgoing, other.id, claim["value"]), []).append(row)
    return [
        OpenedRelation(
            type=type_,
            is_outgoing=is_outgoing,
            other=opened[other_id],
            value=value,
            since=min(row.memory.valid_from or row.memory.created_at for row in rows),
            memory_ids=[row.memory_id for row in rows],
        )
        for (type_, is_outgoing, other_id, value), rows in by_ends.items()
    ]


def _ties(scope: Scope, opened: Mapping[int, OpenedEntity], cipher: SpaceCipher, *, now: datetime) -> list[Tie]:
    """The current relations between two of these."""
    rows = EntityClaim.objects.within(scope).filter(space_id=scope.space.id, subject_id__in=list(opened))
    rows = rows.filter(object_id__in=list(opened)).filter(_live(scope, now=now))
    found: dict[tuple[int, int, str], list[int]] = {}
    for row in rows.order_by("-memory_id", "pk")[:CLAIMS_AT_MOST]:
        try:
            claim = orjson.loads(cipher.open_bytes(CLAIM, row.pk, bytes(row.claim_ct)))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, table=CLAIMS, now=now)
            continue
        subject, other = row.subject_id, row.object_id
        if other is None or subject == other:
            continue
        tie = subject, other, named_for(claim["predicate"], opened[other].type)
        found.setdefault(tie, []).append(row.memory_id)
    return [
        Tie(from_id=one, to_id=other, type=type_, memory_ids=list(dict.fromkeys(ids)))
        for (one, other, type_), ids in found.items()
    ]
