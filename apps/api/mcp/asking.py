"""Requests of the server to a client of before 2026-07-28 while a tool runs, and the client's replies.

The request goes into the stream of the call; the client posts its reply, which may reach another process.  A place for
it is made before the request is sent, in the client's state, and the call looks there until it has come.
"""

import secrets
import time
from collections.abc import Generator, Mapping
from threading import BoundedSemaphore
from typing import Any, Final

from apps.api.mcp import client_state
from apps.api.mcp.catalogue import ClientRequest
from apps.api.mcp.session import ToolSession
from apps.api.views import ApiView

SECONDS: Final = 120.0  # that a person has to reply
LOOK_SECONDS: Final = 0.25
SILENCE_SECONDS: Final = 15.0  # after which the stream shows that it goes on
MOST_WAITING: Final = 4  # calls of a process, each of which keeps a thread

_places = BoundedSemaphore(MOST_WAITING)


def exchange(session: ToolSession, request: ClientRequest) -> Generator[dict[str, Any] | None, None, Any]:
    """Yields the request to send, then None now and then; returns the result of the reply.

    None instead: the client replied with an error or not at all, or as many calls wait as may.
    """
    if not _places.acquire(blocking=False):
        return None
    request_id = secrets.token_hex(16)
    try:
        client_state.put(session.view, request_id, {})
        yield {"jsonrpc": "2.0", "id": request_id, "method": request.method, "params": dict(request.params)}
        ends = time.monotonic() + SECONDS
        speaks = time.monotonic() + SILENCE_SECONDS
        while (now := time.monotonic()) < ends:
            if found := client_state.find(session.view, request_id):
                result = found.get("result")
                return result if isinstance(result, dict) else None
            if now >= speaks:
                speaks = now + SILENCE_SECONDS
                yield None
            time.sleep(LOOK_SECONDS)
        return None
    finally:
        client_state.drop(session.view, request_id)
        _places.release()


def take_reply(view: ApiView, reply: Mapping[str, Any]) -> None:
    """Leave a reply where its call looks; one that nobody waits for is dropped."""
    request_id = reply["id"]
    if isinstance(request_id, str) and client_state.find(view, request_id) == {}:
        client_state.put(view, request_id, {name: reply[name] for name in ("result", "error") if name in reply})
