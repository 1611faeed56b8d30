"""The messages that answer a call: of a tool that tells or asks something while it runs, several."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from importlib.metadata import version
from typing import Any, Final

import orjson

from apps.api.mcp.asking import exchange
from apps.api.mcp.catalogue import ClientRequest, Notification, Steps, ToolResult
from apps.api.mcp.logging_levels import is_wanted
from apps.api.mcp.protocol import SERVER_INFO, Call, RpcError
from apps.api.mcp.session import RouteFailed, TooFewRights, ToolSession
from apps.core.errors import DomainError

INFO: Final = {"name": "memsync", "title": "memsync", "version": version("memsync")}


def answer(call: Call, result: Mapping[str, Any]) -> dict[str, Any]:
    if not call.is_modern:
        return call.answer(result)
    meta = {SERVER_INFO: INFO, **result.get("_meta", {})}
    return call.answer({"resultType": "complete", **result, "_meta": meta})


def failed(refused: RouteFailed | DomainError) -> dict[str, Any]:
    said = f"{refused.message} ({refused.code})" if isinstance(refused, DomainError) else refused.message
    return ToolResult.text(said, is_error=True).body()


def is_streamed(session: ToolSession) -> bool:
    """Whether the client reads a stream: a modern one, where it asks for what is in it."""
    return session.can_ask or session.call.progress_token is not None or session.call.log_level is not None


def messages(session: ToolSession, steps: Steps, *, is_streamed: bool) -> Generator[dict[str, Any] | None]:
    """What the tool tells and asks, and at last the answer.  None: nothing yet.

    Raises TooFewRights, unless a stream has begun.
    """
    call, reply = session.call, None
    while True:
        try:
            told = steps.send(reply)
        except StopIteration as done:
            return (yield answer(call, done.value.body()))
        except (RouteFailed, DomainError) as refused:
            if isinstance(refused, TooFewRights) and not is_streamed:
                raise
            return (yield answer(call, failed(refused)))
        except RpcError as error:
            return (yield {"jsonrpc": "2.0", "id": call.id, "error": error.body()})
        reply = None
        if isinstance(told, ClientRequest):
            reply = (yield from exchange(session, told)) if is_streamed and session.can_ask else None
        elif is_streamed and _is_wanted(session, told):
            yield {"jsonrpc": "2.0", "method": told.method, "params": dict(told.params)}


def events(told: Generator[dict[str, Any] | None]) -> Iterator[bytes]:
    """The messages as server-sent events, and a comment for nothing.  Closed with the connection, it ends the tool."""
    with closing(told):
        for message in told:
            yield b": waiting\n\n" if message is None else b"event: message\ndata: " + orjson.dumps(message) + b"\n\n"


def _is_wanted(session: ToolSession, told: Notification) -> bool:
    if told.method == "notifications/message":
        return is_wanted(session, told.params["level"])
    return session.call.progress_token is not None
