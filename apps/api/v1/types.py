"""/v1/types: the types of memories that this tenant has; adding, splitting and retiring its own, and undoing that."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Labels
from apps.api.fields import Choice, Flag, Fraction, Label, Whole
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.v1.history_fields import Entries
from apps.api.views import ApiView
from apps.core.broker import notify
from apps.core.errors import Forbidden
from apps.memories.phrase_rules import LONGEST_PHRASE, MOST_WORDS, PhraseRule
from apps.memories.tenant_types import read_registry
from apps.memories.type_fields import (
    KINDS,
    LONGEST_DESCRIPTION,
    LONGEST_WORD,
    MOST_CHOICES,
    MOST_FIELDS,
    MOST_HINTS,
    TypeField,
)
from apps.memories.types import TYPES
from apps.memory_types import change_worker, type_changes
from apps.memory_types.tasks import tend_types
from apps.memory_types.type_changes import MOST_WORDINGS, SLOTS, Definition, Planned
from apps.projects.scope import Environment, Scope

NAME_LENGTH: Final = 32
MOST_SAMPLES: Final = 100
PREVIEW_SECONDS: Final = 10.0
MOST_SECONDS: Final = 1_000_000_000  # of a lifetime
MEDICATION: Final = {
    "name": "medication",
    "like": "fact",
    "slot": "none",
    "rules": [{"words": ["# mg", "tablet*"]}],
    "fields": [{"name": "dosage", "kind": "text", "units": ["mg", "tablet*"]}],
}


class TypesBeyondKey(Forbidden):
    """Types belong to all projects and environments: use a production key that is pinned to no project."""

    code = "TYPES_BEYOND_KEY"


class TypeFieldInput(Input):
    """A field of a type."""

    name = Label(max_length=NAME_LENGTH)
    kind = Choice(choices=KINDS)  # type: ignore[assignment]  # the wire's name, not Input's
    required = Flag(default=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    description = Label(required=False, max_length=LONGEST_DESCRIPTION)
    values = Labels(required=False, max_items=MOST_CHOICES, max_length=LONGEST_WORD, help_text="Of a choice.")
    hints = Labels(
        required=False, max_items=MOST_HINTS, max_length=LONGEST_WORD, help_text="Phrases before the value in a text."
    )
    units = Labels(required=False, max_items=MOST_HINTS, max_length=LONGEST_WORD, help_text="Words behind its number.")


class TypeRuleInput(Input):
    """Which memories are of the type; all conditions that are given hold."""

    name = Label(required=False, max_length=NAME_LENGTH)
    words = Labels(required=False, max_items=MOST_WORDS, max_length=LONGEST_PHRASE, help_text="Any of these phrases.")
    unless = Labels(required=False, max_items=MOST_WORDS, max_length=LONGEST_PHRASE, help_text="None of these phrases.")
    key_prefix = Label(required=False, max_length=LONGEST_PHRASE)


class TypeChangeInput(Input):
    """What the changes have in common."""

    dry_run = Flag(default=False, help_text="Only returns the effect.")
    sample = Whole(
        default=0, min_value=0, max_value=MOST_SAMPLES,
        help_text="Of a dry run: how many memories it names, by ID; none without the permission `memory:read`.",
    )  # fmt: skip


class SplitTypeInput(TypeChangeInput):
    """The rules of the type; its definition, if it is new; and the types whose memories are looked at."""

    like = Label(required=False, max_length=NAME_LENGTH, help_text="The type of the default values.")
    slot = Choice(choices=SLOTS, default="inherit")
    half_life_days = Whole(required=False, min_value=1)
    prior = Fraction(required=False)
    ttl_seconds = Whole(required=False, min_value=1, max_value=MOST_SECONDS)
    fields = Entries(child=TypeFieldInput(), required=False, max_length=MOST_FIELDS)  # type: ignore[assignment]  # as above
    rules = Entries(child=TypeRuleInput(), required=False, max_length=MOST_WORDINGS)
    sources = Labels(max_items=64, max_length=NAME_LENGTH)


class AddTypeInput(SplitTypeInput):
    """A new type: its definition, its rules and its fields."""

    name = Label(max_length=NAME_LENGTH)
    sources = Labels(
        required=False, max_items=64, max_length=NAME_LENGTH, help_text="By default all but summary and reference."
    )


class SunsetTypeInput(TypeChangeInput):
    """The type that takes over."""

    into = Label(max_length=NAME_LENGTH)


class TypeFieldOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField(help_text=f"One of {', '.join(KINDS)}.")
    required = serializers.BooleanField()  # type: ignore[assignment]  # the wire's name, not DRF's
    description = serializers.CharField()
    values = serializers.ListField(child=serializers.CharField())
    hints = serializers.ListField(child=serializers.CharField())
    units = serializers.ListField(child=serializers.CharField())


class TypeOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    built_in = serializers.BooleanField()
    slot = serializers.CharField(
        allow_null=True, help_text="A newer value replaces an older one in the same slot; null if memories accumulate."
    )
    half_life_days = serializers.FloatField()
    prior = serializers.FloatField(help_text="0 to 0.2: what the type adds to confidence, times ten.")
    ttl_seconds = serializers.IntegerField(allow_null=True)
    parent = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    replaced_by = serializers.CharField(allow_null=True, help_text="Of a retired type.")
    fields = TypeFieldOutput(many=True)  # type: ignore[assignment]  # the wire's name, not DRF's


class TypesOutput(serializers.Serializer[Any]):
    types = TypeOutput(many=True)


class TypePreviewRowsOutput(serializers.Serializer[Any]):
    """total: memories to look at.  seen: those looked at within ten seconds; the others count these."""

    total = serializers.IntegerField()
    seen = serializers.IntegerField()
    changed = serializers.IntegerField()
    taken = serializers.IntegerField(help_text="Another memory has its place.")
    broken = serializers.IntegerField(help_text="They cannot be decrypted.")


class TypeChangeRowsOutput(TypePreviewRowsOutput):
    """total: memories to look at.  seen: those looked at so far.  restored, kept: of an undo."""

    restored = serializers.IntegerField()
    kept = serializers.IntegerField(help_text="Changed since, and left as they are.")


class TypeChangeOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.CharField(help_text="`add`, `split` or `sunset`.")
    type = serializers.CharField()
    sources = serializers.ListField(child=serializers.CharField())
    state = serializers.ChoiceField(choices=["running", "done", "undoing", "undone"])
    actor = serializers.CharField()
    rows = TypeChangeRowsOutput()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class TypesByRuleOutput(serializers.Serializer[Any]):
    type = serializers.CharField()
    rule = serializers.CharField()
    rows = serializers.IntegerField()


class TypeSampleOutput(serializers.Serializer[Any]):
    memory_id = serializers.IntegerField()
    space_id = serializers.IntegerField()
    type = serializers.CharField()
    becomes = serializers.CharField()
    rule = serializers.CharField()
    has_key = serializers.BooleanField()


class TypePreviewOutput(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="`add`, `split` or `sunset`.")
    type = serializers.CharField()
    rows = TypePreviewRowsOutput()
    by = TypesByRuleOutput(many=True)
    fields = serializers.DictField(  # type: ignore[assignment]  # the wire's name, not DRF's
        child=serializers.IntegerField(), help_text="How many memories would have a value, by field."
    )
    sample = TypeSampleOutput(many=True)


class TypeChangingView(ApiView):
    """What the routes of changes have in common."""

    def whole_tenant(self) -> Scope:
        """Raises TypesBeyondKey."""
        if self.caller.project_id is not None or self.caller.environment != Environment.PRODUCTION:
            raise TypesBeyondKey
        return self.caller

    def carried_out(self, scope: Scope, planned: Planned, asked: Mapping[str, Any]) -> Response:
        """The change, underway; or its effect, of a dry run."""
        if asked["dry_run"]:
            most = asked["sample"] if "memory:read" in scope.permissions else 0
            found = change_worker.preview(scope, planned, most=most, seconds=PREVIEW_SECONDS, now=self.now())
            return Response(found.describe())
        change = type_changes.commit(scope, planned, now=self.now())
        notify(tend_types)
        return Response({"id": change.pk} | type_changes.describe(change), status=202)


class TypesView(TypeChangingView):
    permissions: ClassVar = {"GET": "memory:read", "POST": "ontology:write"}

    @operation("types", responses=TypesOutput)
    def get(self, request: Request) -> Response:
        """The built-in types, followed by the tenant's own, oldest first."""
        registry = read_registry(self.scope())
        return Response({"types": [registry.describe(name) for name in (*TYPES, *registry.own)]})

    @operation(
        "add_type",
        request=AddTypeInput,
        examples=[OpenApiExample("medication", MEDICATION, request_only=True)],
        responses={200: TypePreviewOutput, 202: TypeChangeOutput},
    )
    def post(self, request: Request) -> Response:
        """Add a type of the tenant's own, and give it to the memories that its rules match, in the background.

        New memories are of it at once.  `dry_run` returns the effect instead, with 200.
        """
        fields, scope = self.read(AddTypeInput), self.whole_tenant()
        planned = type_changes.plan_addition(
            scope, fields["name"], _definition(fields), _rules(fields), sources=fields.get("sources", ())
        )
        return self.carried_out(scope, planned, fields)


class SplitTypeView(TypeChangingView):
    permissions: ClassVar = {"POST": "ontology:write"}

    @operation(
        "split_type",
        request=SplitTypeInput,
        examples=[
            OpenApiExample(
                "constraints", {"sources": ["fact"], "rules": [{"words": ["cannot", "must not"]}]}, request_only=True
            )
        ],
        responses={200: TypePreviewOutput, 202: TypeChangeOutput},
    )
    def post(self, request: Request, name: str) -> Response:
        """Give memories of other types this one, which is added if it does not exist, in the background."""
        fields, scope = self.read(SplitTypeInput), self.whole_tenant()
        planned = type_changes.plan_split(
            scope, name, _definition(fields), _rules(fields), sources=fields["sources"]
        )  # fmt: skip
        return self.carried_out(scope, planned, fields)


class SunsetTypeView(TypeChangingView):
    permissions: ClassVar = {"POST": "ontology:write"}

    @operation(
        "sunset_type",
        request=SunsetTypeInput,
        examples=[OpenApiExample("facts again", {"into": "fact"}, request_only=True)],
        responses={200: TypePreviewOutput, 202: TypeChangeOutput},
    )
    def post(self, request: Request, name: str) -> Response:
        """Retire a type of the tenant's own: its memories and new ones get another, in the background."""
        fields, scope = self.read(SunsetTypeInput), self.whole_tenant()
        return self.carried_out(scope, type_changes.plan_sunset(scope, name, fields["into"]), fields)


class TypeChangeView(TypeChangingView):
    permissions: ClassVar = {"GET": "ontology:write"}

    @operation("get_type_change", responses=TypeChangeOutput)
    def get(self, request: Request, change_id: int) -> Response:
        """A change of types and its progress."""
        change = type_changes.get_change(self.whole_tenant(), change_id)
        return Response({"id": change.pk} | type_changes.describe(change))


class UndoTypeChangeView(TypeChangingView):
    permissions: ClassVar = {"POST": "ontology:write"}

    @operation("undo_type_change", request=None, responses={202: TypeChangeOutput})
    def post(self, request: Request, change_id: int) -> Response:
        """Give the memories of a change their former types and values of fields back, in the background.

        Memories that were changed since stay as they are.  Idempotent.
        """
        change = type_changes.ask_to_undo(self.whole_tenant(), change_id, now=self.now())
        notify(tend_types)
        return Response({"id": change.pk} | type_changes.describe(change), status=202)


def _definition(fields: Mapping[str, Any]) -> Definition:
    lasts = fields.get("ttl_seconds")
    return Definition(
        parent=fields.get("like", ""),
        slot=fields["slot"],
        prior=fields.get("prior"),
        half_life_days=fields.get("half_life_days"),
        ttl=None if lasts is None else timedelta(seconds=lasts),
        fields=[TypeField.read(one) for one in fields.get("fields", ())],
    )


def _rules(fields: Mapping[str, Any]) -> list[PhraseRule]:
    return [
        PhraseRule(
            name=one.get("name", f"rule {number}"),
            type="",
            sources=(),
            words=one.get("words", ()),
            unless=one.get("unless", ()),
            key_prefix=one.get("key_prefix", ""),
        )
        for number, one in enumerate(fields.get("rules", ()), start=1)
    ]
