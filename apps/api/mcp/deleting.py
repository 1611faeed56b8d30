"""Deletion by a tool: a person confirms it in the browser, after a fresh step-up; the tool asks, and waits.

A client that can show addresses gets one, calls again, and reads what was decided; one of before 2026-07-28 is asked to
show it while it waits.  Any other gets it as text.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from django.core import signing
from django.urls import reverse

from apps.api.mcp.catalogue import ClientRequest, InputRequired, Steps, ToolResult
from apps.api.mcp.protocol import INVALID_PARAMS, RpcError
from apps.api.mcp.session import ToolSession
from apps.api.memory_ids import memory_id, public_id

SALT: Final = "mcp.delete"
SECONDS: Final = 14 * 24 * 3600  # as long as the request waits for a person
WAITING: Final = "pending"
DONE: Final = "confirmed"


def delete_memory(session: ToolSession, given: Mapping[str, Any]) -> ToolResult | InputRequired | Steps:
    one = memory_id(given["id"])
    done = ToolResult.text(f"{public_id(one)} is deleted.", {"status": "deleted"})
    return ask_person(session, lambda: [one], what=public_id(one), done=done)


def ask_person(
    session: ToolSession, choose: Callable[[], Sequence[int]], *, what: str, done: ToolResult
) -> ToolResult | InputRequired | Steps:
    """Ask a person to delete the chosen memories or, where the client calls again, say what was decided.

    choose: not called again then.  what: their name in messages, without content.  done: said once they are deleted,
    and if none is chosen.
    """
    state = session.call.params.get("requestState")
    if state is not None:
        asked = session.ask("GET", f"/memory/forget-requests/{_request_of(session, state)}")
    elif chosen := choose():
        asked = session.ask("POST", "/memory/forget-requests", {"memory_ids": list(chosen)})
    else:
        return done
    if asked["status"] == DONE:
        return done
    if asked["status"] != WAITING:
        return ToolResult.text(f"Nothing is deleted: the request is {asked['status']}.", is_error=True)
    address = session.request.build_absolute_uri(reverse("web_requests", args=[session.scope.tenant.name]))
    message = f"Confirm the deletion of {what} (request {asked['id']})."
    waiting = ToolResult.text(
        f"Nothing is deleted yet. A person has to confirm request {asked['id']}: {address}",
        {"status": WAITING, "request_id": asked["id"], "url": address},
        is_error=True,
    )
    params = {"mode": "url", "url": address, "message": message, "elicitationId": f"delete-{asked['id']}"}
    if not session.call.takes_addresses:
        return waiting
    if not session.call.is_modern:
        return _shown(session, asked["id"], params, waiting, done)
    return InputRequired(
        requests={"confirm": {"method": "elicitation/create", "params": params}},
        state=signing.dumps([session.scope.tenant_id, asked["id"], _digest(session)], salt=SALT),
    )


def _shown(
    session: ToolSession, request_id: int, params: Mapping[str, Any], waiting: ToolResult, done: ToolResult
) -> Steps:
    """Have a client of before 2026-07-28 show the address; a person who declines cancels the request."""
    reply = yield ClientRequest(method="elicitation/create", params=params)
    if reply is not None and reply.get("action") != "accept":
        session.ask("POST", f"/memory/forget-requests/{request_id}/cancel")
        return ToolResult.text("Nothing is deleted: the user declined.", is_error=True)
    asked = session.ask("GET", f"/memory/forget-requests/{request_id}")
    return done if asked["status"] == DONE else waiting


def _digest(session: ToolSession) -> str:
    """Of the tool and its arguments."""
    called = [session.call.params.get("name"), session.call.params.get("arguments")]
    return hashlib.sha256(orjson.dumps(called, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _request_of(session: ToolSession, state: Any) -> int:
    """The request that a state names.  Raises RpcError for a state of another call."""
    try:
        tenant_id, request_id, about = signing.loads(str(state), salt=SALT, max_age=SECONDS)
    except (signing.BadSignature, ValueError):
        raise RpcError(INVALID_PARAMS, "requestState is not of this server, or has expired.") from None
    if (tenant_id, about) != (session.scope.tenant_id, _digest(session)):
        raise RpcError(INVALID_PARAMS, "requestState is of another call.")
    return int(request_id)
