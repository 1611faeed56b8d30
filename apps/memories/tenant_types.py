"""The type registry of a tenant: the built-in types, its own types, and the rules that assign them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from apps.core.prepared_sql import Columns, pipelined, prepared_cursor
from apps.core.scoping import tenant_transaction
from apps.memories.models import OwnType, TypeRule
from apps.memories.phrase_rules import PhraseRule
from apps.memories.type_fields import TypeField
from apps.memories.types import TYPES, MemoryType
from apps.projects.scope import Scope

_PRIOR: Final = 0.10  # where not set otherwise
_HALF_LIFE_DAYS: Final = 90.0
_TYPE, _RULE = Columns(OwnType, "own"), Columns(TypeRule, "rule")
_OWN_TYPES: Final = f"select {_TYPE.sql} from memories_owntype own where own.tenant_id = %s order by own.id"  # noqa: S608
_TYPE_RULES: Final = f"select {_RULE.sql} from memories_typerule rule where rule.tenant_id = %s order by rule.id"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantType:
    """One of the tenant's own types.  replaced_by: empty until it is sunset."""

    type: MemoryType
    parent: str = ""
    ttl: timedelta | None = None
    replaced_by: str = ""
    fields: Sequence[TypeField] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """own: in the order of creation.  wordings: the rules, in the order in which they are tried."""

    own: Mapping[str, TenantType] = field(default_factory=dict)
    wordings: Sequence[PhraseRule] = ()

    def get(self, name: str) -> MemoryType:
        """The definition of a type.  Memories of a name that is in no registry accumulate."""
        if name in TYPES:
            return TYPES[name]
        return self.own[name].type if name in self.own else MemoryType(name, None, _PRIOR, _HALF_LIFE_DAYS)

    def ttl(self, name: str) -> timedelta | None:
        """The lifetime of a new memory of the type, if not set otherwise."""
        return self.own[name].ttl if name in self.own else None

    def fields(self, name: str) -> Sequence[TypeField]:
        """The definitions of the type's fields; a built-in type has none."""
        return self.own[name].fields if name in self.own else ()

    def describe(self, name: str) -> dict[str, Any]:
        """The type for display.  slot: the group within which a newer value replaces an older one, or None."""
        type_, own = self.get(name), self.own.get(name)
        return {
            "name": name,
            "built_in": name in TYPES,
            "slot": type_.group,
            "half_life_days": type_.half_life_days,
            "prior": type_.prior,
            "ttl_seconds": int(own.ttl.total_seconds()) if own and own.ttl else None,
            "parent": own.parent or None if own else None,
            "replaced_by": own.replaced_by or None if own else None,
            "fields": [one.describe() for one in self.fields(name)],
        }

    def __contains__(self, name: object) -> bool:
        return name in TYPES or name in self.own

    def now_called(self, name: str) -> str:
        """The name under which writes of this type are stored: another one after a sunset."""
        for _ in self.own:
            if name not in self.own or not self.own[name].replaced_by:
                break
            name = self.own[name].replaced_by
        return name

    def choose(self, type_: str, key: str | None, text: str) -> str:
        """The type of a memory that was classified as ``type_``: the first rule that matches decides."""
        fitting = (one.type for one in self.wordings if one.fits(type_, key, text))
        return self.now_called(next(fitting, type_))


def read_registry(scope: Scope) -> Registry:
    with tenant_transaction(scope):
        return registry_of(scope)


def registry_of(scope: Scope) -> Registry:
    """As ``read_registry``, inside the tenant's transaction."""
    with prepared_cursor() as types, prepared_cursor() as rules:
        with pipelined():
            types.execute(_OWN_TYPES, [scope.tenant_id])
            rules.execute(_TYPE_RULES, [scope.tenant_id])
        own = [_own(_TYPE.row(found)) for found in types.fetchall()]
        wordings = [wording_of(_RULE.row(found)) for found in rules.fetchall()]
    return Registry(own={one.type.name: one for one in own}, wordings=wordings)


def wording_of(row: TypeRule) -> PhraseRule:
    return PhraseRule(
        name=row.name,
        type=row.type,
        sources=tuple(row.sources),
        words=tuple(row.words),
        unless=tuple(row.unless),
        key_prefix=row.key_prefix,
    )


def _own(row: OwnType) -> TenantType:
    return TenantType(
        type=MemoryType(row.name, row.group or None, row.prior, row.half_life_days),
        parent=row.parent,
        ttl=row.ttl,
        replaced_by=row.replaced_by,
        fields=tuple(TypeField.read(one) for one in row.fields),
    )
