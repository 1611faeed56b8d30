"""Projects of the tenant.  Programs may list them; users with a sufficient role create, rename and archive them."""

from typing import TYPE_CHECKING, Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Label
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.views import ControlView
from apps.apikeys.permissions import CROSS_PROJECT_READ
from apps.erasure.projects import delete_project
from apps.memories.statistics import count_by_project
from apps.projects import services
from apps.projects.scope import Scope
from apps.projects.selectors import list_projects

if TYPE_CHECKING:  # views import no models
    from apps.projects.models import Project


class ProjectInput(Input):
    name = Label(max_length=200)


class ProjectOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    tenant_id = serializers.CharField()
    is_default = serializers.BooleanField()
    memory_count = serializers.IntegerField(help_text="Active memories in the key's environment; for people, in all.")
    archived_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ProjectsView(ControlView):
    permissions: ClassVar = {"GET": "projects:read", "POST": "projects:write"}

    @operation("list_projects", responses=ProjectOutput(many=True))
    def get(self, request: Request) -> Response:
        """The tenant's projects, including archived ones; the default one first, then by name.

        A key pinned to a project sees only that one, unless it may read across projects.
        """
        found, own = list_projects(self.caller), self.caller.project_id
        if own is not None and CROSS_PROJECT_READ not in self.caller.permissions:
            found = [project for project in found if project.pk == own]
        return Response(_bodies(self.caller, found))

    @operation("create_project", request=ProjectInput, responses={201: ProjectOutput})
    def post(self, request: Request) -> Response:
        made = services.create_project(self.caller, self.read(ProjectInput)["name"], now=self.now())
        return Response(_body(self.caller, made), status=201)


class ProjectView(ControlView):
    permissions: ClassVar = {"PATCH": "projects:write", "DELETE": "projects:write"}
    fresh: ClassVar = frozenset({"DELETE"})

    @operation("rename_project", request=ProjectInput, responses=ProjectOutput)
    def patch(self, request: Request, project_id: str) -> Response:
        name = self.read(ProjectInput)["name"]
        return Response(_body(self.caller, services.rename(self.caller, project_id, name, now=self.now())))

    @operation("delete_project", request=None, responses={204: None})
    def delete(self, request: Request, project_id: str) -> Response:
        """Delete an empty project.  API keys pinned to it are revoked."""
        delete_project(self.caller, project_id, now=self.now())
        return Response(status=204)


class ArchiveProjectView(ControlView):
    permissions: ClassVar = {"POST": "projects:write"}

    @operation("archive_project", request=None, responses=ProjectOutput)
    def post(self, request: Request, project_id: str) -> Response:
        """Archive a project: its memories can be read, and no new ones can be added.  Idempotent."""
        return Response(_body(self.caller, services.archive(self.caller, project_id, now=self.now())))


class UnarchiveProjectView(ControlView):
    permissions: ClassVar = {"POST": "projects:write"}

    @operation("unarchive_project", request=None, responses=ProjectOutput)
    def post(self, request: Request, project_id: str) -> Response:
        """Restore an archived project: memories can be added to it again."""
        return Response(_body(self.caller, services.unarchive(self.caller, project_id, now=self.now())))


def _body(scope: Scope, project: "Project") -> dict[str, Any]:
    return _bodies(scope, [project])[0]


def _bodies(scope: Scope, projects: "list[Project]") -> list[dict[str, Any]]:
    environment = None if scope.principal.kind == "account" else scope.environment
    counts = count_by_project(scope, [project.pk for project in projects], environment=environment)
    return [
        {
            "id": project.public_id,
            "name": project.name,
            "tenant_id": scope.tenant.name,
            "is_default": project.is_default,
            "memory_count": counts.get(project.pk, 0),
            "archived_at": project.archived_at,
            "created_at": project.created_at,
            "updated_at": project.updated_at or project.created_at,
        }
        for project in projects
    ]
