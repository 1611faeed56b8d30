"""Routes of mem0 that this server does not have: 501, with what to use instead."""

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.mem0.base import Mem0View, NotBuilt


class UnbuiltView(Mem0View):
    """reason: what the response says."""

    reason: ClassVar = ""
    permissions: ClassVar = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), "memory:read")
    schema = None  # type: ignore[assignment]  # what is not there is not published

    def refuse_what_is_not_taken(self) -> None:
        """Whatever is sent is answered in the same way."""

    def get(self, request: Request, **named: Any) -> Response:
        raise NotBuilt(self.reason)

    post = put = patch = delete = get


class UnbuiltExportsView(UnbuiltView):
    reason = (
        "Exports by a schema need a language model, and this server does not have them: list memories with "
        "POST /v3/memories/, or export files with POST /exports."
    )


class UnbuiltSummaryView(UnbuiltView):
    reason = "This server makes no summaries for mem0's clients: POST /memory/summarize has those of topics."


class UnbuiltProfilesView(UnbuiltView):
    reason = "This server makes no profiles for mem0's clients: POST /memory/compose has what is known of a user."


class UnbuiltProjectsView(UnbuiltView):
    reason = "Projects are managed in the console, or with /org/projects; custom instructions are not supported."


class UnbuiltWebhooksView(UnbuiltView):
    reason = "Webhooks are managed in the console, or with /org/webhooks."
