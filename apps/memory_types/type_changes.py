"""Requests changes of a tenant's types: adding one, splitting one off others, retiring one, and undoing any of these.

A change applies to new writes at once; existing memories follow (``retyping``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError
from django.db.models import Count, Q

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, Invalid, NotFound
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.edges.ontology import MAX_CUSTOM, NAME, BadTypeName, TooManyTypes, get_ontology
from apps.memories.models import Memory, OwnType, TypeRule
from apps.memories.phrase_rules import PhraseRule
from apps.memories.tenant_types import Registry, TenantType, read_registry
from apps.memories.type_fields import BadTypeFields, TypeField, check_fields
from apps.memories.types import TYPES, MemoryType
from apps.memory_types.models import AT_WORK, ChangeKind, ChangeState, RowState, TypeChange, TypeChangeRow
from apps.projects.scope import Scope

# References and summaries are never given one of the tenant's own types.
NEVER_LOOKED_AT: Final = frozenset({"reference", "summary"})
MOST_PRIOR: Final = 0.2  # of the built-in types
LONGEST_HALF_LIFE: Final = 3650.0
MOST_WORDINGS: Final = 32  # of one change
SLOTS: Final = ("inherit", "own", "none")


class TypeExists(Conflict):
    """A type with this name exists already; a split moves more memories to it."""

    code = "TYPE_EXISTS"


class TypeUnknown(NotFound):
    """There is no such type; `memsync types list` or `GET /v1/types` shows all."""

    code = "TYPE_UNKNOWN"


class TypeBuiltIn(Invalid):
    """A built-in type cannot be retired."""

    code = "TYPE_BUILT_IN"


class TypeSunset(Conflict):
    """This type was retired already."""

    code = "TYPE_SUNSET"


class BadTypeDefinition(Invalid):
    """A prior must be 0 to 0.2, a half-life above 0 and at most 3650 days, a lifetime above 0."""

    code = "BAD_TYPE_DEFINITION"


class NoMatchingRule(Invalid):
    """Name the words or the keys that identify memories of this type."""

    code = "NOTHING_TELLS_THEM"


class BadSources(Invalid):
    """Sources must be existing types, not the type itself, a summary or a reference."""

    code = "BAD_SOURCES"


class ChangeUnderway(Conflict):
    """A change of this tenant's types is in progress: wait until it is done."""

    code = "TYPE_CHANGE_UNDERWAY"


class ChangeUnknown(NotFound):
    """There is no such change of types."""

    code = "TYPE_CHANGE_UNKNOWN"


class ChangeHasDependents(Conflict):
    """A later change concerns the same types: undo that one first."""

    code = "TYPE_CHANGE_BUILT_UPON"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The properties of a new type; None takes the parent's, or else the default.

    slot: ``inherit`` the parent's group, have a group of its ``own``, or ``none``: its memories accumulate.
    fields: of its own; a parent hands none on.
    """

    parent: str = ""
    slot: str = "inherit"
    prior: float | None = None
    half_life_days: float | None = None
    ttl: timedelta | None = None
    fields: Sequence[TypeField] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A change that was checked; nothing is written yet.

    own: the type that it adds.  fields: of the type.  wordings: its rules; without any, all memories of the sources
    match.
    """

    kind: ChangeKind
    type: MemoryType
    sources: Sequence[str]
    own: TenantType | None = None
    fields: Sequence[TypeField] = ()
    wordings: Sequence[PhraseRule] = ()


def plan_addition(
    scope: Scope, name: str, definition: Definition, wordings: Sequence[PhraseRule], *, sources: Sequence[str] = ()
) -> Planned:
    """Plan a new type, and which memories get it.  sources: the types to look at; without any, every eligible one.

    Raises TypeExists, BadTypeName, TooManyTypes, TypeUnknown, BadTypeDefinition, BadTypeFields, BadSources,
    BadTypeRule.
    """
    registry = read_registry(scope)
    if name in registry:
        raise TypeExists
    own = _define(scope, registry, name, definition)
    looked_at = sources or [one for one in (*TYPES, *registry.own) if one not in NEVER_LOOKED_AT]
    return _told(registry, ChangeKind.ADD, own.type, looked_at, wordings, own=own)


def plan_split(
    scope: Scope, name: str, definition: Definition, wordings: Sequence[PhraseRule], *, sources: Sequence[str]
) -> Planned:
    """Plan to give memories of other types this one, which is added if it does not exist.

    Raises NoMatchingRule, TypeSunset, and what ``plan_addition`` raises except TypeExists.
    """
    registry = read_registry(scope)
    own = None if name in registry else _define(scope, registry, name, definition)
    if own is None and definition.fields:
        raise BadTypeFields("the type is there already and keeps its fields: leave them out")
    if registry.now_called(name) != name:
        raise TypeSunset
    if not wordings:
        raise NoMatchingRule
    return _told(registry, ChangeKind.SPLIT, own.type if own else registry.get(name), sources, wordings, own=own)


def plan_sunset(scope: Scope, name: str, into: str) -> Planned:
    """Plan to retire one of the tenant's own types: its memories, and new writes of it, get another.

    Raises TypeUnknown, TypeBuiltIn, TypeSunset, BadSources.
    """
    registry = read_registry(scope)
    if name in TYPES:
        raise TypeBuiltIn
    if name not in registry or into not in registry:
        raise TypeUnknown
    if registry.now_called(name) != name or registry.now_called(into) != into:
        raise TypeSunset
    if into == name or into in NEVER_LOOKED_AT:
        raise BadSources
    return Planned(kind=ChangeKind.SUNSET, type=registry.get(into), sources=(name,), fields=registry.fields(into))


@retried
def commit(scope: Scope, planned: Planned, *, now: datetime) -> TypeChange:
    """Apply the change to new writes, and request it for existing memories.

    Raises ChangeUnderway; TypeExists if another user has added the type meanwhile.
    """
    try:
        with tenant_transaction(scope):
            change = TypeChange.objects.create(
                tenant_id=scope.tenant_id, actor=scope.principal.label, kind=planned.kind, type=planned.type.name,
                sources=list(planned.sources), defines=planned.own is not None, created_at=now,
            )  # fmt: skip
            _define_in_registry(scope, planned, change, now=now)
            change.rows_total = count_eligible(scope, planned.sources, planned.kind)
            if planned.kind != ChangeKind.SUNSET and not planned.wordings:
                change.rows_total, change.state, change.finished_at = 0, ChangeState.DONE, now
            change.save(update_fields=["rows_total", "state", "finished_at"])
            record(
                scope, actor=scope.principal.label, action=AuditAction(f"types.{planned.kind}"),
                target=f"type_change:{change.pk}", reason=planned.type.name, count=change.rows_total, now=now,
            )  # fmt: skip
    except IntegrityError as error:
        raise (TypeExists if "own_type_once" in str(error) else ChangeUnderway) from None
    return change


@retried
def ask_to_undo(scope: Scope, change_id: int, *, now: datetime) -> TypeChange:
    """Stop applying the change to new writes, and request that its memories get their former types back.

    Raises ChangeUnknown, ChangeUnderway, ChangeHasDependents.  A change that is undone already is returned unchanged.
    """
    with tenant_transaction(scope):
        mine = TypeChange.objects.select_for_update().filter(tenant_id=scope.tenant_id)
        change = mine.filter(pk=change_id).first()
        if change is None:
            raise ChangeUnknown
        if change.state in (ChangeState.UNDOING, ChangeState.UNDONE):
            return change
        if mine.filter(state__in=AT_WORK).exclude(pk=change_id).exists():
            raise ChangeUnderway
        names = {change.type, *change.sources} if change.kind == ChangeKind.SUNSET else {change.type}
        later = mine.filter(pk__gt=change_id).exclude(state=ChangeState.UNDONE)
        if any(names & {one.type, *one.sources} for one in later):
            raise ChangeHasDependents
        TypeRule.objects.within(scope).filter(change_id=change_id).delete()
        if change.kind == ChangeKind.SUNSET:
            OwnType.objects.within(scope).filter(name__in=change.sources).update(replaced_by="")
        change.state, change.finished_at = ChangeState.UNDOING, None
        change.save(update_fields=["state", "finished_at"])
        record(
            scope, actor=scope.principal.label, action=AuditAction.TYPES_UNDO, target=f"type_change:{change.pk}",
            reason=change.type, now=now,
        )  # fmt: skip
    return change


def drop_if_unused(scope: Scope, change: TypeChange) -> None:
    """Remove the type that a change added from the registry, unless memories have it by now.

    In the tenant's transaction.
    """
    if change.defines and not Memory.objects.within_tenant(scope).filter(type=change.type).exists():
        OwnType.objects.within(scope).filter(name=change.type).delete()


def list_changes(scope: Scope) -> list[TypeChange]:
    """The tenant's changes, newest first."""
    return list(TypeChange.objects.filter(tenant_id=scope.tenant_id).order_by("-pk"))


def get_change(scope: Scope, change_id: int | None = None) -> TypeChange:
    """The change of this id, or the newest.  Raises ChangeUnknown."""
    mine = TypeChange.objects.filter(tenant_id=scope.tenant_id).order_by("-pk")
    found = (mine if change_id is None else mine.filter(pk=change_id)).first()
    if found is None:
        raise ChangeUnknown
    return found


def describe(change: TypeChange) -> dict[str, Any]:
    """The change for display, without its id: what it is, and how many memories it has changed."""
    counts = ("total", "seen", "changed", "taken", "broken", "restored", "kept")
    return {
        "kind": change.kind,
        "type": change.type,
        "sources": change.sources,
        "state": change.state,
        "actor": change.actor,
        "rows": {name: getattr(change, f"rows_{name}") for name in counts},
        "created_at": change.created_at.isoformat(),
        "finished_at": change.finished_at.isoformat() if change.finished_at else None,
    }


def count_by_type(scope: Scope) -> dict[str, int]:
    """How many memories the tenant has of each type, including archived ones."""
    with tenant_transaction(scope):
        rows = Memory.objects.within_tenant(scope).filter(retention_status__in=("active", "archived"))
        return dict(rows.order_by("type").values_list("type").annotate(Count("pk")))


def count_eligible(scope: Scope, sources: Sequence[str], kind: ChangeKind) -> int:
    """How many memories a change of these types would look at."""
    with tenant_transaction(scope):
        rows = Memory.objects.within_tenant(scope).filter(retention_status__in=("active", "archived"))
        return rows.filter(looked_at(sources, kind)).count()


def looked_at(sources: Sequence[str], kind: str) -> Q:
    """The memories whose type a change may replace.

    Rules do not change the type of a typed memory: its caller stated it, and its id is of it.
    """
    of_sources = Q(type__in=sources)
    return of_sources if kind == ChangeKind.SUNSET else of_sources & Q(content_ct=None)


def count_to_undo(scope: Scope, change: TypeChange) -> int:
    """How many memories got their type from this change, including those that a user changed since."""
    with tenant_transaction(scope):
        return TypeChangeRow.objects.within(scope).filter(change_id=change.pk, state=RowState.CHANGED).count()


def _define(scope: Scope, registry: Registry, name: str, definition: Definition) -> TenantType:
    if not NAME.fullmatch(name):
        raise BadTypeName
    labels = {*get_ontology(scope).custom_content_types, *registry.own, name}
    if len(labels) > MAX_CUSTOM:
        raise TooManyTypes
    parent = definition.parent
    if parent and parent not in registry:
        raise TypeUnknown
    like = registry.get(parent or name)
    prior = like.prior if definition.prior is None else definition.prior
    half_life = like.half_life_days if definition.half_life_days is None else definition.half_life_days
    is_short = definition.ttl is not None and definition.ttl <= timedelta(0)
    if not 0.0 <= prior <= MOST_PRIOR or not 0.0 < half_life <= LONGEST_HALF_LIFE or is_short:
        raise BadTypeDefinition
    check_fields(definition.fields)
    groups = {"inherit": like.group, "own": f"own.{name}", "none": None}
    return TenantType(
        type=MemoryType(name, groups[definition.slot], prior, half_life), parent=parent, ttl=definition.ttl,
        fields=tuple(definition.fields),
    )  # fmt: skip


def _told(
    registry: Registry,
    kind: ChangeKind,
    type_: MemoryType,
    sources: Sequence[str],
    wordings: Sequence[PhraseRule],
    *,
    own: TenantType | None,
) -> Planned:
    is_bad = any(one not in registry or one == type_.name or one in NEVER_LOOKED_AT for one in sources)
    if is_bad or not sources or len(wordings) > MOST_WORDINGS:
        raise BadSources
    told = [replace(one, type=type_.name, sources=tuple(sources)) for one in wordings]
    for one in told:
        one.check()
    fields = own.fields if own else registry.fields(type_.name)
    return Planned(kind=kind, type=type_, sources=tuple(sources), own=own, fields=fields, wordings=told)


def _define_in_registry(scope: Scope, planned: Planned, change: TypeChange, *, now: datetime) -> None:
    if planned.own is not None:
        type_ = planned.own.type
        OwnType.objects.create(
            scope, name=type_.name, parent=planned.own.parent, group=type_.group or "",
            prior=type_.prior, half_life_days=type_.half_life_days, ttl=planned.own.ttl,
            fields=[one.describe() for one in planned.own.fields], created_at=now,
        )  # fmt: skip
    if planned.kind == ChangeKind.SUNSET:
        OwnType.objects.within(scope).filter(name__in=planned.sources).update(replaced_by=planned.type.name)
    TypeRule.objects.bulk_create(
        scope,
        (
            TypeRule(
                change_id=change.pk, type=one.type, name=one.name, sources=list(one.sources), words=list(one.words),
                unless=list(one.unless), key_prefix=one.key_prefix, created_at=now,
            )
            for one in planned.wordings
        ),
    )  # fmt: skip
