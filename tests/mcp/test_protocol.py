"""POST /v1/mcp: JSON-RPC, both eras, headers and the order in which a request is refused."""

import base64
from typing import Any

import orjson
import pytest

from apps.api.mcp.headers import VERSION
from apps.api.mcp.protocol import CAPABILITIES, LEGACY
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests.api.conftest import Caller
from tests.mcp.conftest import MODERN, PATH, McpCaller, refused

pytestmark = pytest.mark.django_db(databases="__all__")


def test_a_modern_client_discovers_the_server_in_one_request(mcp: McpCaller) -> None:
    found = mcp.result("server/discover")

    assert found["supportedVersions"] == [MODERN, *LEGACY]
    assert found["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
    assert found["resultType"] == "complete"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "memsync"
    assert (found["cacheScope"], found["ttlMs"] >= 0) == ("public", True)


def test_fourteen_tools_are_listed_with_their_schemas(mcp: McpCaller) -> None:
    tools = mcp.result("tools/list")["tools"]

    assert len(tools) == 14
    assert len({one["name"] for one in tools}) == 14
    assert all(one["inputSchema"]["type"] == "object" and one["title"] and one["description"] for one in tools)
    assert [one["name"] for one in tools if one["annotations"]["destructiveHint"]] == ["delete_memory"]


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_client_begins_with_initialize(mcp: McpCaller, version: str) -> None:
    begun = mcp.legacy("initialize", {"protocolVersion": version, "capabilities": {}}, version=None)

    assert begun.status_code == 200
    assert begun.json()["result"]["protocolVersion"] == version
    assert "resultType" not in begun.json()["result"]
    assert begun["Mcp-Session-Id"]
    assert mcp.legacy("ping", version=version).json()["result"] == {}
    assert len(mcp.legacy("tools/list", version=version).json()["result"]["tools"]) == 14


def test_an_unknown_legacy_version_gets_the_newest(mcp: McpCaller) -> None:
    begun = mcp.legacy("initialize", {"protocolVersion": "2020-01-01", "capabilities": {}}, version=None)

    assert begun.json()["result"]["protocolVersion"] == LEGACY[0]


def test_a_notification_is_accepted_without_an_answer(mcp: McpCaller) -> None:
    for headers in ({}, {"MCP_Protocol_Version": LEGACY[0]}):
        response = mcp.raw({"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)

        assert (response.status_code, response.content) == (202, b"")


def test_get_and_delete_are_not_served(alice: Caller) -> None:
    for method in ("GET", "DELETE"):
        response = alice(method, PATH)

        assert (response.status_code, response["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32600),
    ],
)
def test_what_is_no_request_is_refused(mcp: McpCaller, body: bytes, code: int) -> None:
    assert refused(mcp.raw(body), 400, code)["id"] is None


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_a_list_of_one_page_has_no_cursor(mcp: McpCaller, method: str) -> None:
    assert mcp.result(method, {"cursor": None})
    refused(mcp.send(method, {"cursor": "2"}), 400, -32602)


@pytest.mark.parametrize("meta", [None, {}, {VERSION: MODERN}, {CAPABILITIES: {}}, {VERSION: 3, CAPABILITIES: {}}, "x"])
def test_a_modern_request_names_version_and_capabilities(mcp: McpCaller, meta: Any) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {} if meta is None else {"_meta": meta}}

    assert refused(mcp.raw(body, Mcp_Method="tools/list"), 400, -32602)["id"] == 7


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("tools/list", {"Mcp_Method": None}),
        ("tools/list", {"Mcp_Method": "tools/call"}),
        ("tools/list", {"Mcp_Method": "tools/list, tools/list"}),
        ("tools/list", {"MCP_Protocol_Version": None}),
        ("tools/list", {"MCP_Protocol_Version": LEGACY[0]}),
        ("tools/call", {"Mcp_Name": None}),
        ("tools/call", {"Mcp_Name": "add_memory"}),
        ("tools/call", {"Mcp_Name": "=?base64?!!!?="}),
        ("tools/call", {"Mcp_Name": "=?base64?d2hvYW1p"}),
    ],
)
def test_headers_repeat_the_body(mcp: McpCaller, method: str, headers: dict[str, Any]) -> None:
    response = mcp.send(method, {"name": "whoami", "arguments": {}} if method == "tools/call" else None, **headers)

    assert refused(response, 400, -32020)["id"] == 7


def test_a_name_may_be_encoded(mcp: McpCaller) -> None:
    name = f"=?base64?{base64.b64encode(b'whoami').decode()}?="

    assert mcp.send("tools/call", {"name": "whoami", "arguments": {}}, Mcp_Name=name).status_code == 200


def test_a_version_that_is_not_served_is_refused_with_those_that_are(mcp: McpCaller) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/list",
            "params": {"_meta": {VERSION: "2099-01-01", CAPABILITIES: {}}}}  # fmt: skip

    said = refused(mcp.raw(body, MCP_Protocol_Version="2099-01-01", Mcp_Method="tools/list"), 400, -32022)

    assert said["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/subscribe", "nonsense"])
def test_a_method_that_is_not_served_is_not_found(mcp: McpCaller, method: str) -> None:
    refused(mcp.send(method), 404, -32601)


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("no_such_tool", {}, "No such tool."),
        ("search_memory", {}, "required: query"),
        ("search_memory", {"query": ""}, "minLength"),
        ("search_memory", {"query": "x", "limit": 0}, "minimum"),
        ("search_memory", {"query": "x", "user_id": "bob"}, "takes only"),
        ("get_memory", {"id": "12; drop"}, "pattern"),
        ("update_memory", {"id": "m_1", "importance": "high"}, "number"),
    ],
)
def test_bad_arguments_are_refused_by_name_and_rule(
    mcp: McpCaller, name: str, arguments: dict[str, Any], rule: str
) -> None:
    said = refused(mcp.send("tools/call", {"name": name, "arguments": arguments}), 400, -32602)

    assert rule in said["error"]["message"]
    assert mcp.legacy("tools/call", {"name": name, "arguments": arguments}).json()["error"]["code"] == -32602


def test_pages_of_another_origin_are_refused(mcp: McpCaller) -> None:
    assert mcp.send("tools/list", Origin="http://testserver").status_code == 200
    assert mcp.send("tools/list", Origin="https://evil.example.com").status_code == 403
    assert mcp.send("tools/list", Host="evil.example.com").status_code == 400


def test_a_caller_without_a_good_key_learns_nothing(acme: OpenedTenant, mcp: McpCaller) -> None:
    good = acme.keys[Environment.PRODUCTION]
    for key in (None, "", "ms_live_wrong", f"{good}x"):
        response = McpCaller(Caller(key)).send("tools/list")

        assert response.status_code == 401
        assert response["WWW-Authenticate"] == "Bearer"
        assert b"search_memory" not in response.content
    bearer = Caller(None).with_headers(Authorization=f"Bearer {good}")
    assert McpCaller(bearer).send("tools/list").status_code == 200


def test_a_body_beyond_the_limit_is_refused(mcp: McpCaller, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 1_000

    assert mcp.raw(b" " * 2_000).status_code == 413


def test_the_short_address_is_the_same(alice: Caller) -> None:
    assert McpCaller(alice, "/mcp").result("tools/list") == McpCaller(alice).result("tools/list")


def test_answers_are_of_one_line_of_json(mcp: McpCaller) -> None:
    response = mcp.send("tools/list")

    assert response["Content-Type"] == "application/json"
    assert orjson.loads(response.content)["jsonrpc"] == "2.0"
