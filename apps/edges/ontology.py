"""Content types and relation types: the built-in ones, and those that a tenant has added."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Invalid
from apps.core.queries import execute
from apps.core.scoping import tenant_transaction
from apps.edges.models import Ontology
from apps.edges.types import EFFECTIVE_TYPES, RELATION_TYPES, SYSTEM_TYPES
from apps.memories.tenant_types import read_registry
from apps.memories.types import TYPES
from apps.projects.scope import Scope
from text import patterns

MAX_CUSTOM: Final = 32  # of each vocabulary
NAME: Final = patterns.compile(r"[a-z][a-z0-9_]{0,31}", patterns.ASCII)
# The types of the API contract (10.1), followed by this product's own.
_OF_THE_WIRE: Final = (
    "fact", "event", "status", "relationship", "policy", "decision", "entity", "summary", "preference", "intent",
    "temporal", "insight", "narrative", "analysis", "reference",
)  # fmt: skip
CONTENT_TYPES: Final = tuple(dict.fromkeys((*_OF_THE_WIRE, *TYPES)))


class BadTypeName(Invalid):
    """A type is a lower-case letter followed by at most 31 lower-case letters, digits or underscores."""

    code = "BAD_TYPE_NAME"


class TooManyTypes(Invalid):
    """At most 32 types can be added to each vocabulary."""

    code = "TOO_MANY_TYPES"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabularies:
    """custom: in the tenant's order, followed by types that its operator defined; never a built-in name."""

    custom_content_types: Sequence[str] = ()
    custom_relation_types: Sequence[str] = ()

    @property
    def content_types(self) -> list[str]:
        return [*CONTENT_TYPES, *self.custom_content_types]

    @property
    def relation_types(self) -> list[str]:
        return [*RELATION_TYPES, *self.custom_relation_types]


def get_ontology(scope: Scope) -> Vocabularies:
    with tenant_transaction(scope):
        row = Ontology.objects.within(scope).first()
        defined = _defined(scope)
    labels, relations = (row.content_types, row.relation_types) if row else ([], [])
    return Vocabularies(custom_content_types=list(dict.fromkeys([*labels, *defined])), custom_relation_types=relations)


def relation_types(scope: Scope) -> frozenset[str]:
    """Every type that a caller may state."""
    return frozenset((*get_ontology(scope).relation_types, *EFFECTIVE_TYPES))


def update_ontology(
    scope: Scope,
    *,
    content_types: Sequence[str] | None = None,
    relation_types: Sequence[str] | None = None,
    now: datetime,
) -> Vocabularies:
    """Replace the tenant's own types; None leaves a vocabulary unchanged.

    Built-in names are ignored, and types that the operator defined stay.  Rows of a removed type keep it.  Raises
    BadTypeName, TooManyTypes.
    """
    defined = _defined(scope)
    content = None if content_types is None else _checked(content_types, CONTENT_TYPES, defined)
    relations = None if relation_types is None else _checked(relation_types, (*RELATION_TYPES, *SYSTEM_TYPES))
    with tenant_transaction(scope):
        # One statement, so that a concurrent update of the other vocabulary is not undone.
        execute(
            "insert into edges_ontology (tenant_id, created_at, content_types, relation_types) "
            "values (%s, %s, coalesce(%s::varchar[], '{}'), coalesce(%s::varchar[], '{}')) "
            "on conflict (tenant_id) do update set "
            "content_types = coalesce(%s::varchar[], edges_ontology.content_types), "
            "relation_types = coalesce(%s::varchar[], edges_ontology.relation_types)",
            [scope.tenant_id, now, content, relations, content, relations],
        )
        count = len(content or ()) + len(relations or ())
        record(scope, actor=scope.principal.label, action=AuditAction.ONTOLOGY_UPDATE, count=count, now=now)
        return get_ontology(scope)


def _defined(scope: Scope) -> list[str]:
    """The names of the types that the tenant's operator defined and has not retired (``memsync types``)."""
    return [name for name, own in read_registry(scope).own.items() if not own.replaced_by]


def _checked(names: Sequence[str], built_in: Sequence[str], defined: Sequence[str] = ()) -> list[str]:
    if not all(NAME.fullmatch(name) for name in names):
        raise BadTypeName
    custom = [name for name in dict.fromkeys(names) if name not in built_in]
    if len({*custom, *defined}) > MAX_CUSTOM:
        raise TooManyTypes
    return custom
