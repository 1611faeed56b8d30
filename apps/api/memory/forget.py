"""DELETE /memory/forget, allowed for keys only if the tenant's owner permits it, and DELETE /memory/user/purge."""

from typing import ClassVar, NoReturn

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.memory.selection import ForgetInput, choice_of
from apps.api.operations import operation
from apps.api.permissions import ApiStepUpRequired, KeyMayRetire, NoKeyMay
from apps.api.views import ApiView
from apps.retention.memory_selection import preview, soft_delete_selection


class ForgetView(ApiView):
    permissions: ClassVar = {"DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @operation(
        "forget",
        request=ForgetInput,
        examples=[OpenApiExample("two memories", {"memory_ids": [7, 8], "reason": "asked for"}, request_only=True)],
        responses={200: OpenApiResponse({"type": "array", "items": {"type": "integer"}}, "The ids.")},
    )
    def delete(self, request: Request) -> Response:
        """Soft-delete memories: they disappear from all results at once; a person can restore them for seven days.

        Refused for every API key (403 `STEP_UP_REQUIRED`, before anything is read) unless the tenant's owner has set
        the policy `key_deletes=retire`.  Returns a plain list of IDs that were deleted, or with `dry_run` would be.
        """
        fields, scope, now = self.read(ForgetInput), self.reader(), self.now()
        choice = choice_of(fields)
        if fields["dry_run"]:
            return Response(preview(scope, choice, now=now))
        return Response(soft_delete_selection(scope, choice, reason=fields.get("reason", ""), now=now))


class PurgeView(ApiView):
    permissions: ClassVar = {"DELETE": "memory:delete"}
    permission_classes = (NoKeyMay,)

    @operation("purge_user", request=None, responses={403: None})
    def delete(self, request: Request) -> NoReturn:
        """Erase an end user: refused for every API key.  Only a person can erase, in the browser."""
        raise ApiStepUpRequired
