"""A bridge for clients that start a program: a message on each line of stdin is sent to the server, and each answer is
a line on stdout."""

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

import httpx

from apps.api.mcp.headers import NAMED_BY, VERSION, encode

SECONDS: Final = 120.0


def bridge(address: str, headers: Mapping[str, str], given: IO[bytes], said: IO[bytes]) -> int:
    """Serve until stdin ends; returns the exit code."""
    negotiated = ""  # of a client that begins with ``initialize``
    with httpx.Client(
        headers=[(name.encode(), value.encode()) for name, value in headers.items()], timeout=SECONDS
    ) as http:
        for line in given:
            if not line.strip():
                continue
            message = _parsed(line)
            for answer in _answers(http, address, line, message, negotiated):
                if message.get("method") == "initialize":
                    negotiated = _version(answer) or negotiated
                said.write(answer + b"\n")
                said.flush()
    return 0


def _answers(
    http: httpx.Client, address: str, line: bytes, message: Mapping[str, Any], negotiated: str
) -> Iterator[bytes]:
    own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        with http.stream("POST", address, content=line, headers=own | _routing(message, negotiated)) as response:
            if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                for text in response.iter_lines():
                    if text.startswith("data: "):
                        yield text.removeprefix("data: ").encode()
                return
            body = response.read()
            if response.status_code == 202:
                return
            if "jsonrpc" in _parsed(body):
                yield body
                return
            reason = _parsed(body).get("detail") or f"The server answered {response.status_code}."
    except httpx.HTTPError as error:
        reason = f"The server at {address} cannot be reached ({type(error).__name__})."
    if "id" in message:
        yield json.dumps(
            {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": str(reason)}}
        ).encode()


def _routing(message: Mapping[str, Any], negotiated: str) -> dict[str, str]:
    """The headers that repeat the message."""
    params = message.get("params")
    params = params if isinstance(params, Mapping) else {}
    meta = params.get("_meta")
    version = meta.get(VERSION) if isinstance(meta, Mapping) else None
    if not isinstance(version, str):
        return {"MCP-Protocol-Version": negotiated} if negotiated else {}
    method = str(message.get("method", ""))
    named = params.get(NAMED_BY.get(method, ""))
    repeated = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    return repeated | ({"Mcp-Name": encode(named)} if isinstance(named, str) else {})


def _version(answer: bytes) -> str:
    result = _parsed(answer).get("result")
    return str(result.get("protocolVersion", "")) if isinstance(result, Mapping) else ""


def _parsed(text: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
