"""GET /v1/memory/{tenant}/{user}/list: all memories of an end user, newest first."""

from typing import Any, ClassVar, Final
from urllib.parse import unquote_to_bytes

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.errors import invalid
from apps.api.fields import LABEL, WholeInQuery
from apps.api.input_serializers import Parameters
from apps.api.memory.memory_output import RetainedOutput
from apps.api.memory_ids import public_id
from apps.api.operations import operation
from apps.api.v1.body_identity import IdentityInput, NamedView
from apps.api.views import MAX_END_USER_ID
from apps.core.errors import NotFound
from apps.memories.selectors import list_memories

BEFORE: Final = "/v1/memory/"
AFTER: Final = "/list"
LONGEST: Final = 5_000
NAMED: Final = ("tenant_id", "user_id")
LABEL_256: Final[dict[str, Any]] = {"type": "string", "maxLength": MAX_END_USER_ID, "pattern": LABEL}


class PageInput(Parameters):
    """Which page."""

    limit = WholeInQuery(default=100, help_text=f"At most {LONGEST:,}, or 0 for all of them.")
    offset = WholeInQuery(default=0, help_text="How many of the newest to skip.")


class ListedOutput(RetainedOutput):
    memory_id = serializers.CharField()
    environment = serializers.CharField()
    raw_text = serializers.CharField()
    type = serializers.CharField()
    metadata = serializers.DictField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    tags = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()


class ListOutput(serializers.Serializer[Any]):
    memories = ListedOutput(many=True)
    total = serializers.IntegerField(help_text="Of all pages.")


class ListView(NamedView):
    permissions: ClassVar = {"GET": "memory:read"}

    @operation(
        "list_memories",
        parameters=[PageInput, *(OpenApiParameter(name, LABEL_256, OpenApiParameter.PATH) for name in NAMED)],
        responses=ListOutput,
    )
    def get(self, request: Request, tenant_id: str, user_id: str) -> Response:
        """List an end user's memories, newest first.

        A slash in a name is sent as `%2F` in the path; in the user's ID it may also be sent unchanged.
        """
        try:
            owner = IdentityInput.check(_named_in_path(request, tenant_id, user_id))
        except serializers.ValidationError as refused:
            raise invalid(refused, place="path") from None
        page = self.read_parameters(PageInput)
        listed = list_memories(
            self.reader_of(owner, spans=True),
            limit=min(page["limit"], LONGEST) or None,
            offset=page["offset"],
            now=self.now(),
        )
        memories = [
            {
                "memory_id": public_id(memory.id),
                "environment": memory.environment,
                "raw_text": memory.text.reveal(),
                "type": memory.type,
                "metadata": dict(memory.metadata),
                "source": memory.source or None,
                "tags": list(memory.tags),
                "created_at": memory.created_at,
                "retention_expires_at": memory.kept_until,
            }
            for memory in listed.memories
        ]
        return Response({"memories": memories, "total": listed.total})


def _named_in_path(request: Request, tenant_id: str, user_id: str) -> dict[str, str]:
    """Tenant and user as the path was sent.  The router decodes the path, after which encoded and literal slashes look
    alike.

    If the server does not provide the raw path, the first slash of the decoded path separates them.
    """
    sent = request.META.get("RAW_URI") or request.META.get("REQUEST_URI") or ""
    _, begins, rest = sent.partition("?")[0].partition(BEFORE)
    if not begins or not rest.endswith(AFTER):
        return {"tenant_id": tenant_id, "user_id": user_id}
    tenant, _, user = rest.removesuffix(AFTER).partition("/")
    if not user:
        raise NotFound
    try:
        return {"tenant_id": unquote_to_bytes(tenant).decode(), "user_id": unquote_to_bytes(user).decode()}
    except UnicodeDecodeError:
        raise NotFound from None
