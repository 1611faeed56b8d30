"""Routes of connectors to other services, which this server does not have.

Every path that the published clients know exists: lists are empty, single objects are not found, and actions respond
"not implemented".  The contract lists the clients' methods; each path has a row here.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.errors import NotImplementedHere
from apps.api.views import ApiView
from apps.core.errors import NotFound

READ, WRITE = "memory:read", "memory:add"


class NoConnectors(NotImplementedHere):
    """Connectors are not part of this server: send what they would bring with POST /memory/upload or POST /imports."""


class ConnectionNotFound(NotFound):
    """There are no connections, objects or jobs: connectors are not part of this server."""

    code = "CONNECTION_NOT_FOUND"


# The control-plane client calls these with a user's token.
OF_PEOPLE: Final[Mapping[str, str]] = {
    "api/v1/integrations/catalog": "integrations:read",
    "org/billing/current-plan": "billing:read",
}
# Responses of GET routes.  None: 404.
Empty = Mapping[str, Any] | list[Any] | None
LIST: Final[Empty] = []
CONNECTION: Final = "api/v2/integrations/connections/<str:connection_id>"
OBJECT: Final = "api/v2/integrations/objects/<str:object_id>"
CRAWLER: Final = "api/v1/integrations/web-crawler"
PLAN: Final[Empty] = {
    "plan": {"id": "self_hosted", "name": "Self-hosted, unlimited"},
    "status": "active",
    "billing_period_start": None,
    "billing_period_end": None,
    "payment_failed": False,
    "scheduled_plan_id": None,
    "cancel_at_period_end": False,
}

GETS: Final[Mapping[str, Empty]] = {
    f"{CONNECTION}/slack/available-channels": None,
    f"{CONNECTION}/slack/channels": None,
    f"{CONNECTION}/slack/exclusion-policy": None,
    f"{CONNECTION}/slack/identities": None,
    f"{CONNECTION}/gdrive/picker-config": None,
    f"{CONNECTION}/gdrive/resources": None,
    f"{CONNECTION}/s3/available-prefixes": None,
    f"{CONNECTION}/s3/prefixes": None,
    f"{CONNECTION}/s3/exclusion-policy": None,
    f"{CONNECTION}/s3/settings": None,
    f"{CONNECTION}/granola/available-folders": None,
    f"{CONNECTION}/granola/folders": None,
    f"{CONNECTION}/granola/exclusion-policy": None,
    f"{CONNECTION}/granola/identities": None,
    f"{CONNECTION}/granola/settings": None,
    "api/v2/integrations/oauth/status": {"status": "none", "connected": False},
    "api/v2/integrations/connections": {"connections": [], "total": 0},
    CONNECTION: None,
    f"{CONNECTION}/sync": None,
    f"{CONNECTION}/objects": None,
    f"{CONNECTION}/objects/v2": None,
    "api/v2/integrations/stats": {"connections": 0, "objects": 0, "memories": 0},
    "api/v2/integrations/audit-logs": {"logs": [], "total": 0},
    OBJECT: None,
    f"{OBJECT}/analysis": None,
    f"{OBJECT}/audit": None,
    f"{OBJECT}/history": None,
    f"{OBJECT}/memory-status": None,
    f"{OBJECT}/structured-stats": None,
    "api/v2/integrations/providers": {"providers": [], "total": 0},
    "api/v2/integrations/providers/<str:provider_id>": None,
    "api/v2/integrations/sync-jobs/<str:job_id>": None,
    f"{CRAWLER}/jobs": {"jobs": [], "total": 0},
    f"{CRAWLER}/jobs/<str:job_id>": None,
    f"{CRAWLER}/jobs/<str:job_id>/content": None,
    f"{CRAWLER}/jobs/<str:job_id>/statistics": None,
    f"{CRAWLER}/active": {"jobs": [], "total": 0},
    f"{CRAWLER}/config": {"enabled": False},
    "api/v1/integrations/catalog": LIST,
    "api/v1/integrations/connected": LIST,
    "api/v1/integrations/stats": {"connected": 0, "available": 0},
    "org/billing/current-plan": PLAN,
}

ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    f"{CONNECTION}/slack/channels": ("POST",),
    f"{CONNECTION}/slack/channels/<str:channel_id>": ("DELETE",),
    f"{CONNECTION}/slack/exclusion-policy": ("PUT",),
    f"{CONNECTION}/slack/identities/link": ("POST",),
    f"{CONNECTION}/slack/identities/sync": ("POST",),
    f"{CONNECTION}/gdrive/resources": ("POST",),
    f"{CONNECTION}/gdrive/resources/<str:resource_id>": ("DELETE",),
    f"{CONNECTION}/s3/prefixes": ("POST", "DELETE"),
    f"{CONNECTION}/s3/exclusion-policy": ("PUT",),
    f"{CONNECTION}/granola/folders": ("POST",),
    f"{CONNECTION}/granola/folders/<str:folder_id>": ("DELETE",),
    f"{CONNECTION}/granola/exclusion-policy": ("PUT",),
    f"{CONNECTION}/granola/identities/link": ("POST",),
    f"{CONNECTION}/granola/identities/relink": ("POST",),
    f"{CONNECTION}/granola/settings": ("PUT",),
    "api/v2/integrations/oauth/initiate": ("POST",),
    "api/v2/integrations/connections/api-key": ("POST",),
    "api/v2/integrations/connections/credentials": ("POST",),
    CONNECTION: ("PATCH", "DELETE"),
    f"{CONNECTION}/reconnect": ("POST",),
    f"{CONNECTION}/purge": ("POST",),
    f"{CONNECTION}/sync": ("POST",),
    f"{CONNECTION}/objects/bulk": ("POST",),
    f"{OBJECT}/evaluate": ("POST",),
    f"{OBJECT}/pause": ("POST",),
    f"{OBJECT}/resume": ("POST",),
    f"{OBJECT}/reextract": ("POST",),
    f"{OBJECT}/resync": ("POST",),
    f"{OBJECT}/memories": ("DELETE",),
    "api/v2/integrations/sync-jobs/<str:job_id>/cancel": ("POST",),
    f"{CRAWLER}/validate": ("POST",),
    f"{CRAWLER}/crawl": ("POST",),
    f"{CRAWLER}/jobs/<str:job_id>/cancel": ("POST",),
    f"{CRAWLER}/jobs/<str:job_id>": ("DELETE",),
    f"{CRAWLER}/jobs/<str:job_id>/import": ("POST",),
    "api/v1/integrations/<str:integration_id>": ("PATCH", "DELETE"),
}


@extend_schema(exclude=True)  # excluded: the error envelope explains it
class ConnectorView(ApiView):
    """One path of the tables: what it answers is set where the route is made."""

    empty: ClassVar[Empty] = None

    def refuse_what_is_not_taken(self) -> None:
        """Nothing is: what such a path would take is not known here, and the answer says that it is not served."""

    def get(self, request: Request, **_: str) -> Response:
        if self.empty is None:
            raise ConnectionNotFound
        return Response(self.empty)

    def post(self, request: Request, **_: str) -> Response:
        raise NoConnectors

    put = patch = delete = post


def routes() -> list[URLPattern]:
    """One route per path; paths without parameters come before paths with some."""
    paths = sorted({*GETS, *ACTIONS}, key=lambda route: (route.count("<"), route))
    return [path(route, _view(route).as_view()) for route in paths]


def _view(route: str) -> type[ConnectorView]:
    permissions = {"GET": READ} if route in GETS else {}
    permissions |= dict.fromkeys(ACTIONS.get(route, ()), WRITE)
    people = {"GET": OF_PEOPLE[route]} if route in OF_PEOPLE else {}
    table = {"permissions": permissions, "people": people, "empty": GETS.get(route)}
    return type("ConnectorView", (ConnectorView,), table)
