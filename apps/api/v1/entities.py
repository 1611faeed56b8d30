"""/v1/entities: people and things that an end user's memories mention, and their relations."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Label, Whole, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.memory.memory_output import RetainedOutput
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.entities.opened import OpenedEntity, OpenedRelation
from apps.entities.selectors import get_entity, list_entities
from apps.entities.services import merge, unmerge
from apps.memories.opened import OpenedMemory
from apps.memories.selectors import readable_memories
from apps.recall import read_log
from text.names import slug
from text.vocabulary import ENTITY_TYPES, OTHER

MOST: Final = 200
MENTIONS: Final = 20
MAX_NAME: Final = 256


class EntitiesInput(Parameters):
    """Which entities."""

    type = Choice(choices=ENTITY_TYPES, required=False)
    q = Label(required=False, max_length=MAX_NAME, help_text="A name or alias; ignores case, accents and articles.")
    needs_review = Choice(
        choices=("true", "false"),
        required=False,
        help_text="Only entities that may be duplicates of another, or only those that are not.",
    )
    limit = WholeInQuery(default=50, min_value=1, max_value=MOST)
    cursor = WholeInQuery(required=False, min_value=1, help_text="`next_cursor` of the previous response.")


class MentionsInput(Parameters):
    """Which of the memories that mention it."""

    limit = WholeInQuery(default=MENTIONS, min_value=1, max_value=MOST)
    cursor = WholeInQuery(required=False, min_value=1, help_text="`next_cursor` of the previous response.")


class MergeInput(Input):
    """The other one."""

    with_entity_id = Whole(min_value=1, max_value=2**63 - 1)


class EntityOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    slug = serializers.CharField(help_text="Display name; changes when the name changes.")
    type = serializers.ChoiceField(choices=ENTITY_TYPES)
    name = serializers.CharField(help_text="Its most complete name.")
    aliases = serializers.ListField(child=serializers.CharField(), help_text="Its other names, as stated.")
    is_user = serializers.BooleanField(help_text="The end user themselves.")
    needs_review = serializers.BooleanField(help_text="It may be a duplicate of another entity: see merge.")
    mention_count = serializers.IntegerField(help_text="Memories that mention it.")
    created_at = serializers.DateTimeField()


class EntitiesOutput(serializers.Serializer[Any]):
    entities = EntityOutput(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)


class OtherEndOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    slug = serializers.CharField()
    type = serializers.ChoiceField(choices=ENTITY_TYPES)
    name = serializers.CharField()


class EntityRelationOutput(serializers.Serializer[Any]):
    type = serializers.CharField(help_text="`reports_to`, `manages`, `works_with`, `member_of`, `owns`, …")
    direction = serializers.ChoiceField(choices=["outgoing", "incoming"])
    entity = OtherEndOutput(help_text="The other end.")
    value = serializers.CharField(allow_null=True, help_text="For `related_to`: the kind, such as `sister`.")
    since = serializers.DateTimeField()
    memory_ids = serializers.ListField(child=serializers.IntegerField(), help_text="Memories stating it, newest first.")


class MentioningOutput(RetainedOutput):
    memory_id = serializers.IntegerField()
    type = serializers.CharField()
    text = serializers.CharField()
    event_at = serializers.DateTimeField(allow_null=True)
    validity = serializers.ChoiceField(choices=["current", "superseded", "disputed"])
    created_at = serializers.DateTimeField()


class DescribedOutput(EntityOutput):
    attributes = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()), help_text="Facts only about it, such as `has_role`."
    )
    relations = EntityRelationOutput(many=True, help_text="Current ones.")
    memories = MentioningOutput(many=True, help_text="Those that mention it, newest first.")
    next_cursor = serializers.IntegerField(allow_null=True, help_text="Of the memories.")


class EntitiesView(ApiView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("list_entities", parameters=[EntitiesInput], responses=EntitiesOutput)
    def get(self, request: Request) -> Response:
        """Entities in the end user's memories, newest first."""
        asked, scope = self.read_parameters(EntitiesInput), self.reader()
        review = asked.get("needs_review")
        page = list_entities(
            scope,
            type_=asked.get("type"),
            q=asked.get("q"),
            needs_review=None if review is None else review == "true",
            before=asked.get("cursor"),
            limit=asked["limit"],
            now=self.now(),
        )
        read_log.record_read(scope)
        return Response({"entities": [_body(one) for one in page.entities], "next_cursor": page.next_before})


class DescribingView(ApiView):
    """What the routes of one entity have in common."""

    def described(self, entity_id: int, asked: Mapping[str, Any], *, writes: bool = False) -> Response:
        scope, now = self.reader(writes=writes), self.now()
        found = get_entity(scope, entity_id, before=asked.get("cursor"), limit=asked["limit"], now=now)
        memories = readable_memories(scope, found.memory_ids, now=now)
        read_log.record_read(scope)
        return Response(
            {
                **_body(found.entity),
                "attributes": {name: list(values) for name, values in found.attributes.items()},
                "relations": [_relation_body(one) for one in found.relations],
                "memories": [_memory_body(one) for one in memories],
                "next_cursor": found.next_before,
            }
        )


class EntityView(DescribingView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("get_entity", parameters=[MentionsInput], responses=DescribedOutput)
    def get(self, request: Request, entity_id: int) -> Response:
        """One entity: its names, facts, relations and the memories that mention it.

        The ID of a merged entity returns the entity it was merged into.
        """
        return self.described(entity_id, self.read_parameters(MentionsInput))


class MergeView(DescribingView):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation(
        "merge_entities",
        request=MergeInput,
        examples=[OpenApiExample("one and the same", {"with_entity_id": 7}, request_only=True)],
        responses=DescribedOutput,
    )
    def post(self, request: Request, entity_id: int) -> Response:
        """Merge two entities.  Names, mentions and relations move to the older one, which is returned."""
        other = self.read(MergeInput)["with_entity_id"]
        stays = merge(self.reader(writes=True), entity_id, other, now=self.now())
        return self.described(stays, {"limit": MENTIONS}, writes=True)


class UnmergeView(DescribingView):
    permissions: ClassVar = {"POST": "memory:update"}

    @operation("unmerge_entity", request=None, responses=DescribedOutput)
    def post(self, request: Request, entity_id: int) -> Response:
        """Undo a merge, by the ID of the entity that moved.  Later mentions stay with the other."""
        one = unmerge(self.reader(writes=True), entity_id, now=self.now())
        return self.described(one, {"limit": MENTIONS}, writes=True)


def _body(one: OpenedEntity) -> dict[str, Any]:
    return {
        **_end_body(one),
        "aliases": list(one.aliases),
        "is_user": one.is_user,
        "needs_review": one.needs_review,
        "mention_count": one.mention_count,
        "created_at": one.created_at,
    }


def _end_body(one: OpenedEntity) -> dict[str, Any]:
    return {"id": one.id, "slug": slug(one.name), "type": one.type or OTHER, "name": one.name}


def _relation_body(one: OpenedRelation) -> dict[str, Any]:
    return {
        "type": one.type,
        "direction": "outgoing" if one.is_outgoing else "incoming",
        "entity": _end_body(one.other),
        "value": one.value or None,
        "since": one.since,
        "memory_ids": list(one.memory_ids),
    }


def _memory_body(memory: OpenedMemory) -> dict[str, Any]:
    return {
        "memory_id": memory.id,
        "type": memory.type,
        "text": memory.text.reveal(),
        "event_at": memory.event_at,
        "validity": memory.validity,
        "created_at": memory.created_at,
        "retention_expires_at": memory.kept_until,
    }
