"""Clients of before 2026-07-28: their sessions, what a tool asks them while it runs, and log messages."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Any

import pytest
from django.core import signing

from apps.api.mcp import asking, legacy_sessions
from apps.api.mcp.catalogue import catalogue_of
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.history.models import StateItem
from apps.projects.scope import Environment
from tests.api.conftest import Caller
from tests.mcp.conftest import META as MODERN_META
from tests.mcp.conftest import PATH, McpCaller, refused

pytestmark = pytest.mark.django_db(databases="__all__")

KEY = "The spare key lies under the blue flower pot."
SHOWS_ADDRESSES = {"elicitation": {"url": {}}}
ACCEPTS = "application/json, text/event-stream"


@dataclass
class LegacyClient:
    """Of 2025-11-25, with a session."""

    caller: Caller
    session_id: str

    @classmethod
    def begin(cls, caller: Caller, capabilities: Any, name: str = "cursor") -> "LegacyClient":
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": name}}
        begun = McpCaller(caller).legacy("initialize", params, version=None)
        assert begun.status_code == 200
        return cls(caller, begun["Mcp-Session-Id"])

    def post(self, body: Any) -> Any:
        return self.caller("POST", PATH, body, **self.headers)

    def stream(self, tool: str, **arguments: Any) -> Iterator[Any]:
        """The messages of a call, one at a time, while the tool runs."""
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        own = {"X-API-Key": self.caller.key, "X-End-User-ID": self.caller.end_user}
        sent = own | {name.replace("_", "-"): value for name, value in self.headers.items()}
        response: Any = self.caller.client.generic(
            "POST", PATH, json.dumps(call).encode(), content_type="application/json", headers=sent
        )
        assert response["Content-Type"] == "text/event-stream"
        with closing(response._iterator) as pieces:  # as a server closes it where the connection ends
            for piece in pieces:
                yield from (json.loads(line[6:]) for line in piece.decode().splitlines() if line.startswith("data: "))

    def reply(self, request: Any, **reply: Any) -> Any:
        return self.post({"jsonrpc": "2.0", "id": request["id"], **reply})

    @property
    def headers(self) -> dict[str, str]:
        return {"MCP_Protocol_Version": "2025-11-25", "Mcp_Session_Id": self.session_id, "Accept": ACCEPTS}


@pytest.fixture
def client(alice: Caller) -> LegacyClient:
    return LegacyClient.begin(alice, SHOWS_ADDRESSES)


def kept(acme: OpenedTenant) -> int:
    """What is kept of clients."""
    with tenant_transaction(acme.scope):
        return StateItem.objects.within(acme.scope).count()


def ping(client: LegacyClient) -> Any:
    return client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})


def test_a_session_says_what_its_client_can_and_is_of_one_tenant(client: LegacyClient, globex: OpenedTenant) -> None:
    assert ping(client).status_code == 200
    for session_id in ("x", client.session_id[:-1], signing.dumps([1, "", {}, ""], salt="other")):
        answer = ping(LegacyClient(client.caller, session_id))
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "MCP_SESSION_NOT_FOUND")
    stranger = Caller(globex.keys[Environment.PRODUCTION])
    assert ping(LegacyClient(stranger, client.session_id)).status_code == 404
    assert ping(LegacyClient(Caller(None), client.session_id)).status_code == 401


def test_a_session_ends(client: LegacyClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy_sessions, "SECONDS", -1)

    assert ping(client).status_code == 404


@pytest.mark.parametrize("said", [None, 7, {"elicitation": 3}, {"elicitation": {"url": {}}, "x" * 999: {}}])
def test_any_capabilities_begin_a_session(alice: Caller, said: Any) -> None:
    assert ping(LegacyClient.begin(alice, said, name="x" * 999)).status_code == 200


def test_a_memory_has_its_client_as_its_source(client: LegacyClient, alice: Caller) -> None:
    call = {"name": "add_memory", "arguments": {"text": KEY}}

    added = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).json()["result"]

    (memory_id,) = added["structuredContent"]["memory_ids"]
    assert alice("GET", f"/memory/{memory_id.removeprefix('m_')}").json()["source"] == "cursor"


def test_a_tool_asks_while_it_runs_and_the_reply_comes_in_another_request(
    client: LegacyClient, alice: Caller, acme: OpenedTenant
) -> None:
    messages = client.stream("delete_memory", id=f"m_{alice.add(KEY)['id']}")
    request = next(messages)
    assert (request["method"], request["params"]["mode"]) == ("elicitation/create", "url")

    assert client.reply(request, result={"action": "accept"}).status_code == 202

    (answer,) = messages
    assert answer["result"]["structuredContent"]["status"] == "pending"
    assert kept(acme) == 0


def test_declining_cancels_the_request(client: LegacyClient, alice: Caller) -> None:
    messages = client.stream("delete_memory", id=f"m_{alice.add(KEY)['id']}")
    client.reply(next(messages), result={"action": "decline"})

    (answer,) = messages

    assert "declined" in answer["result"]["content"][0]["text"]
    assert alice("GET", "/memory/forget-requests").json()["requests"][0]["status"] == "cancelled"


def test_an_error_a_silence_and_a_full_house_leave_the_address(
    client: LegacyClient, alice: Caller, acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = {"id": f"m_{alice.add(KEY)['id']}"}
    messages = client.stream("delete_memory", **arguments)
    client.reply(next(messages), error={"code": -1, "message": "no"})
    (answer,) = messages
    assert answer["result"]["structuredContent"]["status"] == "pending"

    monkeypatch.setattr(asking, "SECONDS", 0.0)
    _, answer = client.stream("delete_memory", **arguments)
    assert answer["result"]["structuredContent"]["status"] == "pending"

    monkeypatch.setattr(asking, "_places", BoundedSemaphore(1))
    asking._places.acquire()
    (answer,) = client.stream("delete_memory", **arguments)
    assert answer["result"]["structuredContent"]["status"] == "pending"
    assert kept(acme) == 0


def test_nobody_else_replies(client: LegacyClient, alice: Caller, acme: OpenedTenant, globex: OpenedTenant) -> None:
    messages = client.stream("delete_memory", id=f"m_{alice.add(KEY)['id']}")
    request = next(messages)
    for key, end_user in ((globex.keys[Environment.PRODUCTION], "alice"), (acme.keys[Environment.PRODUCTION], "bob")):
        other = LegacyClient.begin(Caller(key, end_user), SHOWS_ADDRESSES)
        assert other.reply(request, result={"action": "decline"}).status_code == 202
    client.reply(request | {"id": "another"}, result={"action": "decline"})
    client.reply(request | {"id": 7}, result={"action": "decline"})
    client.reply(request, result={"action": "accept"})
    client.reply(request, result={"action": "decline"})

    (answer,) = messages

    assert answer["result"]["structuredContent"]["status"] == "pending"
    assert alice("GET", "/memory/forget-requests").json()["requests"][0]["status"] == "pending"


def test_a_reply_without_a_session_is_no_request(mcp: McpCaller) -> None:
    refused(mcp.raw({"jsonrpc": "2.0", "id": 1, "result": {}}), 400, -32600)


def test_a_client_that_leaves_is_forgotten(client: LegacyClient, alice: Caller, acme: OpenedTenant) -> None:
    messages: Any = client.stream("delete_memory", id=f"m_{alice.add(KEY)['id']}")
    next(messages)
    assert kept(acme) == 1

    messages.close()

    assert kept(acme) == 0


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}])
def test_a_client_that_shows_no_addresses_is_not_asked(alice: Caller, capabilities: Any) -> None:
    client = LegacyClient.begin(alice, capabilities)
    call = {"name": "delete_memory", "arguments": {"id": f"m_{alice.add(KEY)['id']}"}}

    answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})

    assert answer.json()["result"]["structuredContent"]["status"] == "pending"


# -- log messages, of which the product's own tools send none ----------------------------------------------------------


@pytest.fixture
def logging_tools(settings: Any) -> Iterator[None]:
    settings.MCP_ADDITIONS = "tests.mcp.conformance"
    catalogue_of.cache_clear()
    yield
    catalogue_of.cache_clear()


def set_level(client: LegacyClient, level: Any) -> Any:
    return client.post({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": level}}).json()


def test_levels_are_not_served_where_nothing_is_logged(client: LegacyClient) -> None:
    assert set_level(client, "debug")["error"]["code"] == -32601


@pytest.mark.usefixtures("logging_tools")
def test_a_level_is_of_one_session(client: LegacyClient, alice: Caller) -> None:
    other = LegacyClient.begin(alice, {})
    assert set_level(client, "error")["result"] == {}
    assert set_level(client, "loud")["error"]["code"] == -32602

    assert [len(list(one.stream("test_tool_with_logging"))) for one in (client, other)] == [1, 4]


@pytest.mark.usefixtures("logging_tools")
@pytest.mark.parametrize(("level", "count"), [(None, 1), ("info", 4), ("error", 1)])
def test_a_modern_client_names_the_level_in_each_call(mcp: McpCaller, level: str | None, count: int) -> None:
    meta = {} if level is None else {"io.modelcontextprotocol/logLevel": level}
    params = {"name": "test_tool_with_logging", "arguments": {}, "_meta": meta | MODERN_META}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}

    response = mcp.raw(body, Mcp_Method="tools/call", Mcp_Name="test_tool_with_logging")

    assert response.content.count(b'"jsonrpc"') == count
