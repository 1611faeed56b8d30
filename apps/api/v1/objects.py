"""/v1/objects: documents that are stored elsewhere, and the memories that they state."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.collection_fields import Tags
from apps.api.fields import Choice, Label, Text, WholeInQuery
from apps.api.input_serializers import Parameters, WriteInput
from apps.api.memory.memory_output import DecisionOutput, SourceObjectOutput, decisions_body, source_object_body
from apps.api.operations import operation
from apps.api.permissions import KeyMayRetire
from apps.api.views import ApiView
from apps.ingest.objects import GivenObject, TakenObject, delete_object, take_object
from apps.sources.sealing import OBJECT_KINDS, ObjectName, OpenedObject
from apps.sources.selectors import get_object, list_objects

MOST: Final = 200
API: Final = "api"  # the kind of an object that a caller sends
PAGE: Final = {"external_id": "wiki/boiler", "title": "Boiler", "text": "The boiler key hangs behind the blue door."}


class ObjectsInput(Parameters):
    """Which objects."""

    kind = Choice(choices=OBJECT_KINDS, required=False)  # type: ignore[assignment]  # the wire's name, not Input's
    limit = WholeInQuery(default=50, min_value=1, max_value=MOST)
    cursor = WholeInQuery(required=False, min_value=1, help_text="`next_cursor` of the previous response.")


class PutObjectInput(WriteInput):
    """The object as it is now."""

    external_id = Label(max_length=1_024, help_text="Your own stable ID of the object.")
    text = Text(help_text="Its whole text.")
    title = Label(required=False, max_length=512)
    tags = Tags(required=False, help_text="Of every memory that is made of it from now on.")


class ObjectOutput(SourceObjectOutput):
    """A document that memories were made from.  Its text is not stored."""

    size = serializers.IntegerField(help_text="Bytes of its content.")
    first_seen_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField(help_text="When its last version was read.")
    gone_at = serializers.DateTimeField(allow_null=True, help_text="Since when a connector no longer finds it.")
    connector_id = serializers.IntegerField(allow_null=True, help_text="The connector that reads it.")


class ObjectsOutput(serializers.Serializer[Any]):
    objects = ObjectOutput(many=True)
    next_cursor = serializers.IntegerField(allow_null=True)


class DescribedObjectOutput(ObjectOutput):
    memory_ids = serializers.ListField(
        child=serializers.IntegerField(), help_text="Of the memories that it states, also of those that were forgotten."
    )


class MemoryCountsOutput(serializers.Serializer[Any]):
    kept = serializers.IntegerField(help_text="That it stated before, or that were known.")
    added = serializers.IntegerField(help_text="New ones.")
    ended = serializers.IntegerField(help_text="Superseded as of now, because nothing states them any more.")


class PutObjectOutput(DescribedObjectOutput):
    status = serializers.ChoiceField(choices=["created", "unchanged", "refreshed"])
    memories = MemoryCountsOutput()
    decisions = DecisionOutput(many=True, help_text="About new passages.")


class DeletedObjectOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    memory_ids = serializers.ListField(
        child=serializers.IntegerField(), help_text="Of the memories that were soft-deleted with it."
    )


class ObjectsView(ApiView):
    permissions: ClassVar = {"GET": "memory:read", "PUT": "memory:add"}
    meters: ClassVar = {"PUT": "adds"}

    @operation("list_objects", parameters=[ObjectsInput], responses=ObjectsOutput)
    def get(self, request: Request) -> Response:
        """External objects of the end user, newest first."""
        asked = self.read_parameters(ObjectsInput)
        page = list_objects(
            self.reader(), kind=asked.get("kind"), before=asked.get("cursor"), limit=asked["limit"], now=self.now()
        )
        return Response({"objects": [_body(one) for one in page.objects], "next_cursor": page.next_before})

    @operation(
        "put_object",
        request=PutObjectInput,
        examples=[OpenApiExample("a page of a wiki", PAGE, request_only=True)],
        responses=PutObjectOutput,
    )
    def put(self, request: Request) -> Response:
        """Store what a document says, or what its new version says differently.

        Its passages become memories, as of an upload.  Sending the same again changes nothing.  Of a new version, new
        passages are added, and memories that only this object stated and no longer does are superseded as of now.
        """
        fields = self.read(PutObjectInput)
        given = GivenObject(
            name=ObjectName(kind=API, external_id=fields["external_id"]),
            content=fields["text"].encode(),
            title=fields.get("title", ""),
            tags=fields.get("tags", ()),
        )
        taken = take_object(self.scope(writes=True), self.end_user(None), given, now=self.now())
        return Response(_taken_body(taken))


class ObjectView(ApiView):
    permissions: ClassVar = {"GET": "memory:read", "DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation("get_object", responses=DescribedObjectOutput)
    def get(self, request: Request, object_id: int) -> Response:
        """One external object.  An object of another end user is not found."""
        found, memory_ids = get_object(self.reader(), object_id, now=self.now())
        return Response(_body(found) | {"memory_ids": list(memory_ids)})

    @operation("delete_object", request=None, responses={200: DeletedObjectOutput})
    def delete(self, request: Request, object_id: int) -> Response:
        """Delete an object, and soft-delete the memories that only it stated; a person can restore them for 7 days.

        Refused for every API key (403 `STEP_UP_REQUIRED`) unless the tenant's owner has set `key_deletes=retire`.
        """
        gone = delete_object(self.reader(), object_id, now=self.now())
        return Response({"id": object_id, "memory_ids": gone})


def _taken_body(taken: TakenObject) -> dict[str, Any]:
    return _body(taken.object) | {
        "memory_ids": list(taken.memory_ids),
        "status": taken.status,
        "memories": {"kept": taken.kept, "added": taken.added, "ended": len(taken.ended)},
        "decisions": decisions_body(taken.decisions),
    }


def _body(one: OpenedObject) -> dict[str, Any]:
    return source_object_body(one) | {
        "size": one.size,
        "first_seen_at": one.first_seen_at,
        "last_seen_at": one.seen_at,
        "changed_at": one.changed_at,
        "gone_at": one.gone_at,
        "connector_id": one.name.connector_id,
    }
