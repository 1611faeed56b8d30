"""The Model Context Protocol over HTTP: one JSON-RPC request in each POST, of either era.

Modern (2026-07-28) is stateless: each request names its version in ``_meta`` and in headers, which must agree.  Before
it (2024-11-05 to 2025-11-25) a client begins with ``initialize``; no session is kept for it either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apps.api import parsers
from apps.api.mcp.headers import NAMED_BY, VERSION, decode
from apps.core.errors import DomainError

MODERN: Final = ("2026-07-28",)
LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
WITHOUT_HEADER: Final = "2025-03-26"  # of a legacy request that names no version

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
HEADER_MISMATCH: Final = -32020
CAPABILITY_MISSING: Final = -32021
VERSION_NOT_SERVED: Final = -32022

CLIENT: Final = "io.modelcontextprotocol/clientInfo"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
_MISSING: Final = object()


class RpcError(Exception):
    """A JSON-RPC error.  status: of the HTTP response to a modern client, and to either where no request was read."""

    def __init__(self, code: int, message: str, *, status: int = 400, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, data

    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        return error if self.data is None else error | {"data": self.data}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request or, without an id, a notification.

    capabilities: of the client, by their names; of a legacy one, and introduced_as, as its session says them.
    """

    id: str | int | None
    method: str
    params: Mapping[str, Any]
    is_modern: bool
    version: str
    capabilities: Mapping[str, Any]
    introduced_as: str = ""
    session_id: str = ""

    @property
    def is_notification(self) -> bool:
        return self.id is None

    @property
    def progress_token(self) -> Any:
        """Of a client that wants to be told of progress; None of any other."""
        return self._meta.get("progressToken")

    @property
    def client_name(self) -> str:
        """As the client calls itself; empty if it does not."""
        client = self._meta.get(CLIENT)
        name = client.get("name") if isinstance(client, Mapping) else None
        return name if isinstance(name, str) else self.introduced_as

    @property
    def log_level(self) -> Any:
        """Of a modern client that wants log messages."""
        return self._meta.get(LOG_LEVEL) if self.is_modern else None

    @property
    def _meta(self) -> Mapping[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, Mapping) else {}

    @property
    def takes_addresses(self) -> bool:
        """Whether the client can show its user an address to open."""
        elicitation = self.capabilities.get("elicitation")
        return isinstance(elicitation, Mapping) and "url" in elicitation

    def answer(self, result: Mapping[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": self.id, "result": result}


def read_message(body: bytes, *, may_reply: bool = False) -> dict[str, Any]:
    """The JSON-RPC request in a body or, if it may be one, the reply to one of ours.

    Raises RpcError for anything else; batches are not served.
    """
    try:
        message = parsers.parse(body)
    except parsers.NotAnObject:
        raise RpcError(INVALID_REQUEST, "Send one JSON-RPC request; batches are not served.") from None
    except DomainError as error:
        raise RpcError(PARSE_ERROR, error.message) from None
    if may_reply and is_reply(message):
        return message
    if message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        raise RpcError(INVALID_REQUEST, 'A request has "jsonrpc": "2.0" and a method.')
    if not isinstance(message.get("id", 0), str | int) or isinstance(message.get("id"), bool):
        raise RpcError(INVALID_REQUEST, "An id is a string or a whole number.")
    if not isinstance(message.get("params", {}), dict):
        raise RpcError(INVALID_REQUEST, "params is an object.")
    return message


def is_reply(message: Mapping[str, Any]) -> bool:
    return (
        message.get("jsonrpc") == "2.0"
        and "method" not in message
        and "id" in message
        and (isinstance(message.get("result"), dict) or isinstance(message.get("error"), dict))
    )


def read_call(message: Mapping[str, Any], headers: Mapping[str, str]) -> Call:
    """The call that a message makes, with its version.  Raises RpcError where headers and body disagree."""
    params: Mapping[str, Any] = message.get("params", {})
    meta = params.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    named = headers.get("MCP-Protocol-Version")
    if VERSION in meta or named in MODERN or (named is not None and named not in LEGACY):
        return _modern(message, params, meta, headers)
    return Call(
        id=message.get("id"),
        method=message["method"],
        params=params,
        is_modern=False,
        version=named or WITHOUT_HEADER,
        capabilities={},
    )


def _modern(
    message: Mapping[str, Any], params: Mapping[str, Any], meta: Mapping[str, Any], headers: Mapping[str, str]
) -> Call:
    version, capabilities = meta.get(VERSION), meta.get(CAPABILITIES)
    method, is_notification = message["method"], "id" not in message
    if not is_notification:
        if not isinstance(version, str) or not isinstance(capabilities, Mapping):
            if VERSION not in meta and headers.get("MCP-Protocol-Version") not in MODERN:
                raise _not_served(headers.get("MCP-Protocol-Version", ""))
            raise RpcError(INVALID_PARAMS, f"_meta needs {VERSION} (a string) and {CAPABILITIES} (an object).")
        check_header(headers, "MCP-Protocol-Version", version)
        check_header(headers, "Mcp-Method", method)
        if name := NAMED_BY.get(method):
            check_header(headers, "Mcp-Name", params.get(name, _MISSING))
        if version not in MODERN:
            raise _not_served(version)
    return Call(
        id=message.get("id"),
        method=method,
        params=params,
        is_modern=True,
        version=version if isinstance(version, str) else MODERN[0],
        capabilities=capabilities if isinstance(capabilities, Mapping) else {},
    )


def check_header(headers: Mapping[str, str], name: str, expected: Any) -> None:
    """Raises RpcError unless the header has this value, which it may encode."""
    sent = headers.get(name)
    if sent is None:
        raise RpcError(HEADER_MISMATCH, f"The header {name} is missing.")
    if decode(sent) != expected:
        raise RpcError(HEADER_MISMATCH, f"The header {name} differs from the body, or is malformed.")


def _not_served(version: str) -> RpcError:
    message = f"This version is not served; modern: {', '.join(MODERN)}."
    return RpcError(VERSION_NOT_SERVED, message, data={"supported": list(MODERN), "requested": version})
