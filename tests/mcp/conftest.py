"""A client of /v1/mcp in this process."""

from dataclasses import dataclass
from typing import Any

import pytest

from apps.api.mcp.headers import NAMED_BY as NAMED
from apps.api.mcp.headers import VERSION
from apps.api.mcp.protocol import CAPABILITIES, LEGACY
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests.api.conftest import Caller

PATH = "/v1/mcp"
MODERN = "2026-07-28"
META = {VERSION: MODERN, CAPABILITIES: {}}


@dataclass
class McpCaller:
    """Sends requests of the modern era, unless told otherwise; headers: in place of its own, None for none."""

    caller: Caller
    path: str = PATH

    def raw(self, body: Any, **headers: Any) -> Any:
        sent = {"MCP-Protocol-Version": MODERN} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.caller(
            "POST", self.path, body, **{name: value for name, value in sent.items() if value is not None}
        )

    def send(self, method: str, params: dict[str, Any] | None = None, **headers: Any) -> Any:
        params = params or {}
        own = {"Mcp_Method": method} | ({"Mcp_Name": params.get(NAMED[method])} if method in NAMED else {})
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params | {"_meta": META}}
        return self.raw(body, **own | headers)

    def result(self, method: str, params: dict[str, Any] | None = None) -> Any:
        response = self.send(method, params)
        assert response.status_code == 200, response.content
        assert response.json()["id"] == 7
        return response.json()["result"]

    def tool(self, name: str, **arguments: Any) -> Any:
        return self.result("tools/call", {"name": name, "arguments": arguments})

    def legacy(self, method: str, params: dict[str, Any] | None = None, version: str | None = LEGACY[0]) -> Any:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
        return self.raw(body, MCP_Protocol_Version=version)


@pytest.fixture
def alice(acme: OpenedTenant) -> Caller:
    return Caller(acme.keys[Environment.PRODUCTION])


@pytest.fixture
def mcp(alice: Caller) -> McpCaller:
    return McpCaller(alice)


def refused(response: Any, status: int, code: int) -> Any:
    assert response.status_code == status, response.content
    body = response.json()
    assert body["jsonrpc"] == "2.0"
    assert body["error"]["code"] == code, body
    return body
