"""Privacy requests of end users: a key opens and follows them, a user of the tenant carries them out."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, Label, WholeInQuery
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.memories.spaces import name_in_namespace
from apps.projects.scope import Scope
from apps.retention.states import PrivacyKind, PrivacyState
from apps.retention.subject_requests import SubjectRequestInfo, list_requests, open_request

KINDS: Final = [kind.value for kind in PrivacyKind]
STATES: Final = [state.value for state in PrivacyState]
NAMESPACE: Final = "The namespace in which the header names a profile."


class PrivacyInput(Input):
    type = Choice(choices=KINDS)
    namespace = Label(required=False, max_length=256, help_text=NAMESPACE)


class PrivacyPage(Parameters):
    """Which."""

    limit = WholeInQuery(default=50, min_value=1, max_value=200)
    namespace = Label(required=False, max_length=256, help_text=NAMESPACE)


class PrivacyOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    user_id = serializers.IntegerField()
    type = serializers.ChoiceField(choices=KINDS)
    status = serializers.ChoiceField(choices=STATES)
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField()
    overdue = serializers.BooleanField()
    completed_at = serializers.DateTimeField(allow_null=True)
    records = serializers.IntegerField(allow_null=True)
    receipts = serializers.ListField(child=serializers.CharField())


class PrivacyRequestsOutput(serializers.Serializer[Any]):
    requests = PrivacyOutput(many=True)


class PrivacyRequestsView(ApiView):
    permissions: ClassVar = {"GET": "privacy:request", "POST": "privacy:request"}

    @operation("list_privacy_requests", parameters=[PrivacyPage], responses=PrivacyRequestsOutput)
    def get(self, request: Request) -> Response:
        """The end user's requests, newest first."""
        fields = self.read_parameters(PrivacyPage)
        scope = self._reader_in(fields.get("namespace"))
        if not scope.spaces:
            return Response({"requests": []})
        found = list_requests(scope, end_user_id=scope.space.owner_id, limit=fields["limit"], now=self.now())
        return Response({"requests": [_body(one) for one in found]})

    @operation(
        "open_privacy_request",
        request=PrivacyInput,
        examples=[OpenApiExample("an export", {"type": "export"}, request_only=True)],
        responses={201: PrivacyOutput, 200: PrivacyOutput},
    )
    def post(self, request: Request) -> Response:
        """Open an end user's request for access, export or deletion of all data stored about them.

        Nothing changes until a person of the tenant carries it out.  Returns 201, or 200 with the open request.
        """
        fields = self.read(PrivacyInput)
        asked, is_new = open_request(
            self._reader_in(fields.get("namespace")), PrivacyKind(fields["type"]), now=self.now()
        )
        return Response(_body(asked), status=201 if is_new else 200)

    def _reader_in(self, namespace: str | None) -> Scope:
        if namespace is None:
            return self.reader()
        scope = self.scope()
        return self.reaching(scope, name_in_namespace(scope, namespace, self.end_user(None)))


def _body(one: SubjectRequestInfo) -> dict[str, Any]:
    return {
        "id": one.id,
        "user_id": one.end_user_id,
        "type": one.kind.value,
        "status": one.state.value,
        "requested_by": one.requested_by,
        "created_at": one.created_at,
        "due_at": one.due_at,
        "overdue": one.is_overdue,
        "completed_at": one.completed_at,
        "records": one.records,
        "receipts": list(one.evidence),
    }
