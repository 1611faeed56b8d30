"""Deletion by a tool: a person confirms it in the browser, after a fresh step-up; the tool asks, and waits.

A client that can show addresses gets one, calls again, and reads what was decided.  Any other gets it as text.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.core import signing
from django.urls import reverse

from apps.api.mcp.catalogue import InputRequired, ToolResult
from apps.api.mcp.protocol import INVALID_PARAMS, RpcError
from apps.api.mcp.session import ToolSession
from apps.api.memory_ids import memory_id, public_id

SALT: Final = "mcp.delete"
SECONDS: Final = 14 * 24 * 3600  # as long as the request waits for a person
WAITING: Final = "pending"
DONE: Final = "confirmed"


def delete_memory(session: ToolSession, given: Mapping[str, Any]) -> ToolResult | InputRequired:
    one = memory_id(given["id"])
    state = session.call.params.get("requestState")
    if state is None:
        asked = session.ask("POST", "/memory/forget-requests", {"memory_ids": [one]})
    else:
        asked = session.ask("GET", f"/memory/forget-requests/{_request_of(session, state, one)}")
    if asked["status"] == DONE:
        return ToolResult.text(f"{public_id(one)} is deleted.", {"status": "deleted"})
    if asked["status"] != WAITING:
        return ToolResult.text(f"Nothing is deleted: the request is {asked['status']}.", is_error=True)
    address = session.request.build_absolute_uri(reverse("web_requests", args=[session.scope.tenant.name]))
    message = f"Confirm the deletion of {public_id(one)} (request {asked['id']})."
    if not session.call.takes_addresses:
        return ToolResult.text(
            f"Nothing is deleted yet. A person has to confirm request {asked['id']}: {address}",
            {"status": WAITING, "request_id": asked["id"], "url": address},
            is_error=True,
        )
    params = {"mode": "url", "url": address, "message": message, "elicitationId": f"delete-{asked['id']}"}
    return InputRequired(
        requests={"confirm": {"method": "elicitation/create", "params": params}},
        state=signing.dumps([session.scope.tenant_id, asked["id"], one], salt=SALT),
    )


def _request_of(session: ToolSession, state: Any, one: int) -> int:
    """The request that a state names.  Raises RpcError for a state of another call."""
    try:
        tenant_id, request_id, about = signing.loads(str(state), salt=SALT, max_age=SECONDS)
    except (signing.BadSignature, ValueError):
        raise RpcError(INVALID_PARAMS, "requestState is not of this server, or has expired.") from None
    if (tenant_id, about) != (session.scope.tenant_id, one):
        raise RpcError(INVALID_PARAMS, "requestState is of another call.")
    return int(request_id)
