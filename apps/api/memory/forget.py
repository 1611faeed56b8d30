"""DELETE /memory/forget: not with a key."""

from typing import ClassVar, NoReturn

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from apps.api.permissions import KeyMayRetire, StepUpRequired
from apps.api.views import ApiView


class ForgetView(ApiView):
    permissions: ClassVar = {"DELETE": "memory:delete"}
    permission_classes = (KeyMayRetire,)

    @extend_schema(operation_id="forget", request=None, responses={403: None})
    def delete(self, request: Request) -> NoReturn:
        """Delete memories: refused for every API key, since a person must confirm in the browser.

        Nothing of the request is read before the refusal.
        """
        raise StepUpRequired
