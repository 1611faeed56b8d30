"""Requests to forget memories: a key creates them, a user of the tenant decides."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.memory.selection import ChoiceInput, choice_of
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.plaintext import Plaintext
from apps.memories.selectors import MemoryNotFound, any_exists
from apps.memories.spaces import get_or_create_end_user
from apps.retention.requests import OpenedRequest, ask, cancel, get_request, list_requests
from apps.retention.states import RequestState

MOST: Final = 200
STATES: Final = [state.value for state in RequestState]


class ForgetRequestPageInput(Parameters):
    """Which requests."""

    status = Choice(choices=STATES, required=False)
    limit = WholeInQuery(default=50, min_value=1, max_value=MOST)
    offset = WholeInQuery(default=0, min_value=0, max_value=2**31)


class ForgetRequestOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    status = serializers.ChoiceField(choices=STATES)
    memory_ids = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    filters = serializers.DictField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    forgotten = serializers.IntegerField(allow_null=True)


class ForgetRequestsOutput(serializers.Serializer[Any]):
    requests = ForgetRequestOutput(many=True)
    total = serializers.IntegerField()


class ForgetRequestsView(ApiView):
    permissions: ClassVar = {"GET": "memory:forget_request", "POST": "memory:forget_request"}

    @operation("list_forget_requests", parameters=[ForgetRequestPageInput], responses=ForgetRequestsOutput)
    def get(self, request: Request) -> Response:
        """The end user's requests, newest first."""
        fields, scope = self.read_parameters(ForgetRequestPageInput), self.reader()
        state = RequestState(fields["status"]) if "status" in fields else None
        page = list_requests(scope, state=state, limit=fields["limit"], offset=fields["offset"], now=self.now())
        return Response({"requests": [_body(one) for one in page.requests], "total": page.total})

    @operation(
        "create_forget_request",
        request=ChoiceInput,
        examples=[OpenApiExample("one memory", {"memory_ids": [7], "reason": "The user asked."}, request_only=True)],
        responses={201: ForgetRequestOutput, 200: ForgetRequestOutput},
    )
    def post(self, request: Request) -> Response:
        """Request deletion of memories.  Nothing changes until a person confirms it in the browser.

        Returns 201, or 200 with the pending request for the same memories.  Requests expire after 14 days.  404 if none
        of the ids is of a memory of the end user.
        """
        fields, now = self.read(ChoiceInput), self.now()
        choice, scope = choice_of(fields), self.scope()
        if choice.memory_ids and not any_exists(self.reader(), choice.memory_ids, now=now):
            raise MemoryNotFound
        scope = scope.in_spaces(get_or_create_end_user(scope, self.end_user(None), now=now))
        reason = fields.get("reason")
        asked, is_new = ask(scope, choice, reason=Plaintext(reason) if reason else None, now=now)
        return Response(_body(asked), status=201 if is_new else 200)


class ForgetRequestView(ApiView):
    permissions: ClassVar = {"GET": "memory:forget_request"}

    @operation("get_forget_request", responses=ForgetRequestOutput)
    def get(self, request: Request, request_id: int) -> Response:
        """One request of the end user."""
        return Response(_body(get_request(self.reader(), request_id, now=self.now())))


class CancelForgetRequestView(ApiView):
    permissions: ClassVar = {"POST": "memory:forget_request"}

    @operation("cancel_forget_request", request=None, responses=ForgetRequestOutput)
    def post(self, request: Request, request_id: int) -> Response:
        """Cancel a pending request.  Cancelling it again changes nothing."""
        return Response(_body(cancel(self.reader(), request_id, now=self.now())))


def _body(one: OpenedRequest) -> dict[str, Any]:
    return {
        "id": one.id,
        "status": one.state.value,
        "memory_ids": list(one.choice.memory_ids) or None,
        "filters": one.choice.filters or None,
        "reason": one.reason.reveal() if one.reason else None,
        "requested_by": one.requested_by,
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "decided_at": one.decided_at,
        "forgotten": one.forgotten,
    }
