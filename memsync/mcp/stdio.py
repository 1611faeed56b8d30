"""A bridge for clients that start a program: a message on each line of stdin is sent to the server, and each answer is
a line on stdout."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, Final

import httpx

from apps.api.mcp.headers import NAMED_BY, VERSION, encode
from memsync.client.server import in_utf8

SECONDS: Final = 120.0


def bridge(address: str, headers: Mapping[str, str], given: IO[bytes], said: IO[bytes]) -> int:
    """Serve until stdin ends; returns the exit code.

    Requests are sent one after the other.  A reply of the client passes them, because the call that asked waits for it.
    """
    with (
        httpx.Client(headers=in_utf8(headers), timeout=SECONDS) as http,
        ThreadPoolExecutor(max_workers=1) as requests,
    ):
        server = _Server(http, address)
        latest: Future[None] | None = None
        for line in given:
            message = _parsed(line)
            if latest is not None and latest.done():
                latest.result()  # raises what ended it
            if "method" not in message and ("result" in message or "error" in message):
                list(server.answers(line, message))
            elif line.strip():
                latest = requests.submit(_serve, server, line, message, said)
        if latest is not None:
            latest.result()
    return 0


def _serve(server: "_Server", line: bytes, message: Mapping[str, Any], said: IO[bytes]) -> None:
    for answer in server.answers(line, message):
        said.write(answer + b"\n")
        said.flush()


class _Server:
    """What a client that begins with ``initialize`` has agreed on: headers of all that follows."""

    def __init__(self, http: httpx.Client, address: str) -> None:
        self.http, self.address = http, address
        self.agreed: dict[str, str] = {}

    def answers(self, line: bytes, message: Mapping[str, Any]) -> Iterator[bytes]:
        own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent = own | (_routing(message) or self.agreed)
        try:
            with self.http.stream("POST", self.address, content=line, headers=sent) as response:
                if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    for text in response.iter_lines():
                        if text.startswith("data: "):
                            yield text.removeprefix("data: ").encode()
                    return
                body = response.read()
                if response.status_code == 202:
                    return
                if "jsonrpc" in _parsed(body):
                    if message.get("method") == "initialize":
                        self._agree(body, response.headers.get("Mcp-Session-Id"))
                    yield body
                    return
                reason = _parsed(body).get("detail") or f"The server answered {response.status_code}."
        except httpx.HTTPError as error:
            reason = f"The server at {self.address} cannot be reached ({type(error).__name__})."
        if "id" in message:
            yield json.dumps(
                {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": str(reason)}}
            ).encode()

    def _agree(self, answer: bytes, session_id: str | None) -> None:
        result = _parsed(answer).get("result")
        if isinstance(result, Mapping):
            self.agreed = {"MCP-Protocol-Version": str(result.get("protocolVersion", ""))}
            self.agreed |= {"Mcp-Session-Id": session_id} if session_id else {}


def _routing(message: Mapping[str, Any]) -> dict[str, str]:
    """The headers that repeat the message; none of a client of before 2026-07-28."""
    params = message.get("params")
    params = params if isinstance(params, Mapping) else {}
    meta = params.get("_meta")
    version = meta.get(VERSION) if isinstance(meta, Mapping) else None
    if not isinstance(version, str):
        return {}
    method = str(message.get("method", ""))
    named = params.get(NAMED_BY.get(method, ""))
    repeated = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    return repeated | ({"Mcp-Name": encode(named)} if isinstance(named, str) else {})


def _parsed(text: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
