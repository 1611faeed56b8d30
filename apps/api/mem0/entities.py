"""GET /v1/ping/, /v1/entities/ and DELETE /v2/entities/…: whose key this is, and whose memories there are."""

from typing import Any, ClassVar, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.mem0.base import NAMES_PEOPLE, Mem0Page, Mem0Parameters, Mem0View, page_links, paged
from apps.api.mem0.memories import delete_all
from apps.api.mem0.output import MessageOutput
from apps.api.operations import operation
from apps.api.permissions import KeyMayRetire
from apps.core.errors import NotFound
from apps.memories.owners import OwnedSpace, list_owners
from apps.projects.scope import SpaceKind
from apps.projects.selectors import project_name
from apps.recall import read_log

TYPES: Final = ("user", "agent", "app", "run")
_CALLED: Final = {SpaceKind.END_USER: "user", SpaceKind.AGENT: "agent"}


class EntityTypeUnknown(NotFound):
    """An entity is a user, agent, app or run."""

    code = "ENTITY_NOT_FOUND"


class PingOutput(serializers.Serializer[Any]):
    status = serializers.CharField(help_text="ok.")
    org_id = serializers.CharField(help_text="The tenant.")
    project_id = serializers.CharField(allow_null=True, help_text="null: every project.")
    user_email = serializers.CharField(allow_null=True, help_text="A key is of no person: null.")


class Mem0EntityOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    type = serializers.ChoiceField(choices=["user", "agent"])
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField(help_text="As `created_at`.")


class Mem0EntitiesOutput(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Mem0EntityOutput(many=True)
    total_users = serializers.IntegerField()
    total_agents = serializers.IntegerField()


class PingView(Mem0View):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation("mem0_ping", parameters=[Mem0Parameters], responses=PingOutput)
    def get(self, request: Request) -> Response:
        """Whose key this is."""
        self.read_parameters(Mem0Parameters)
        scope = self.scope()
        body = {"status": "ok", "org_id": scope.tenant.name, "project_id": project_name(scope), "user_email": None}
        return Response(body)


class Mem0EntitiesView(Mem0View):
    permissions: ClassVar = {"GET": NAMES_PEOPLE}

    @operation("mem0_entities", parameters=[Mem0Page], responses=Mem0EntitiesOutput)
    def get(self, request: Request) -> Response:
        """The newest 1,000 end users and agents with memories.  Apps and runs are not listed."""
        asked, scope = self.read_parameters(Mem0Page), self.scope()
        found = list_owners(scope, now=self.now())
        page, size = asked["page"], asked["page_size"]
        shown = paged(found, page=page, page_size=size)
        read_log.record_report(scope, len(shown))
        kinds = [one.owner.kind for one in found]
        totals = {"total_users": kinds.count(SpaceKind.END_USER), "total_agents": kinds.count(SpaceKind.AGENT)}
        links = page_links(self, page=page, page_size=size, total=len(found))
        return Response(links | {"results": [_body(one) for one in shown]} | totals)


class Mem0EntityView(Mem0View):
    permissions: ClassVar = {"DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation("mem0_delete_entity", request=None, parameters=[Mem0Parameters], responses={200: MessageOutput})
    def delete(self, request: Request, entity_type: str, name: str) -> Response:
        """Soft-delete the memories of a user, agent, app or run; as a single delete."""
        self.read_parameters(Mem0Parameters)
        if entity_type not in TYPES:
            raise EntityTypeUnknown
        delete_all(self, self.labels({f"{entity_type}_id": name}))
        return Response({"message": "Entity deleted successfully!"})


def _body(one: OwnedSpace) -> dict[str, Any]:
    name = one.owner.name
    return {
        "id": name,
        "name": name,
        "type": _CALLED[one.owner.kind],
        "created_at": one.created_at,
        "updated_at": one.created_at,
    }
