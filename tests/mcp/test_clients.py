"""The official client, in three modes, and another published one, on real connections."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import fastmcp
import httpx2
import mcp
import mcp_types
import pytest
from django.db import connections
from django.utils import timezone
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client

from apps.apikeys import services
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment, Principal
from apps.retention.requests import confirm
from tests.api.conftest import Caller
from tests.makers import make_api_key
from tests.mcp.every_tool import KEY, SCOPES, SERVERS, is_error, structured

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)

MODES = ["auto", "legacy", "2026-07-28"]
FASTMCP = "fastmcp"  # in place of a mode of the official client
every_mode = pytest.mark.parametrize("mode", MODES)
every_client = pytest.mark.parametrize("mode", [*MODES, FASTMCP])


@asynccontextmanager
async def connected(server: Any, key: str, mode: str, path: str = "/v1/mcp", **options: Any) -> AsyncIterator[Any]:
    address, headers = f"{server.url}{path}", {"X-API-Key": key, "X-End-User-ID": "alice"}
    if mode == FASTMCP:
        async with fastmcp.Client(StreamableHttpTransport(address, headers=headers), **options) as other:
            # Its methods as the official client has them: what they return, and what they raise.
            call_tool = partial(other.call_tool, raise_on_error=False)
            yield SimpleNamespace(call_tool=call_tool, list_tools=other.list_tools_mcp)
        return
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(address, http_client=http)
        async with mcp.Client(transport, mode=mode, **options) as client:
            yield client


def ended() -> pytest.RaisesGroup[mcp.MCPError]:
    """What a client raises that the server does not let in, alone or in the groups of its tasks."""
    error = pytest.RaisesExc(mcp.MCPError, match="Server returned an error response")
    return pytest.RaisesGroup(error, allow_unwrapped=True, flatten_subgroups=True)


def latest_status(caplog: pytest.LogCaptureFixture) -> int:
    """Of the answers to messages; a client of before 2026-07-28 also asks for a stream, and ends its session."""
    answers = [vars(one) for one in caplog.records if one.name == "apps.api.access"]
    return int([one["status"] for one in answers if one["method"] == "POST"][-1])


async def in_thread(change: Callable[[], object]) -> None:
    """Make a change to the database beside the client's event loop."""

    def run() -> None:
        try:
            change()
        finally:
            connections.close_all()

    await asyncio.to_thread(run)


@pytest.fixture
def key(acme: OpenedTenant) -> str:
    return make_api_key(acme.scope, scopes=SCOPES).text


@every_client
@pytest.mark.parametrize("tools", SERVERS)
def test_every_tool_is_listed_and_called(live_server: Any, key: str, mode: str, tools: str) -> None:
    served = SERVERS[tools]

    async def run() -> tuple[Any, ...]:
        async with connected(live_server, key, mode, served.path) as client:
            return await client.list_tools(), await served.call_all(client.call_tool)

    listed, results = asyncio.run(run())

    assert set(results) == {one.name for one in listed.tools}
    served.check(results, "alice")


@every_mode
def test_a_mode_is_a_version_of_the_protocol(live_server: Any, key: str, mode: str) -> None:
    async def run() -> Any:
        async with connected(live_server, key, mode) as client:
            return client.protocol_version

    version = asyncio.run(run())

    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")


@every_mode
def test_official_client_reads_resources_and_the_prompt(live_server: Any, key: str, mode: str) -> None:
    async def run() -> tuple[Any, ...]:
        async with connected(live_server, key, mode) as client:
            await client.call_tool("add_memory", {"text": KEY})
            return (
                await client.list_prompts(),
                await client.read_resource("memsync://profile"),
                await client.get_prompt("recall", {"topic": "key"}),
            )

    prompts, profile, prompt = asyncio.run(run())

    assert [one.name for one in prompts.prompts] == ["recall"]
    assert KEY in profile.contents[0].text
    assert KEY in prompt.messages[0].content.text


@every_client
def test_bad_arguments_are_refused(live_server: Any, key: str, mode: str) -> None:
    async def run() -> None:
        async with connected(live_server, key, mode) as client:
            for name, arguments, rule in (
                ("search_memory", {}, "required: query"),
                ("search_memory", {"query": "x", "user_id": "bob"}, "takes only"),
                ("no_such_tool", {}, "No such tool"),
            ):
                with pytest.raises(mcp.MCPError, match=rule):
                    await client.call_tool(name, arguments)
            assert not is_error(await client.call_tool("whoami", {}))

    asyncio.run(run())


@every_client
@pytest.mark.parametrize("key", ["", "ms_live_0000000000000000"])
def test_without_a_good_key_nothing_is_listed(
    live_server: Any, key: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    listed: list[Any] = []

    async def run() -> None:
        async with connected(live_server, key, mode) as client:
            listed.append(await client.list_tools())

    with ended():
        asyncio.run(run())
    assert (listed, latest_status(caplog)) == ([], 401)


@every_client
def test_the_key_of_another_tenant_reaches_nothing(live_server: Any, key: str, globex: OpenedTenant, mode: str) -> None:
    async def run() -> tuple[Any, ...]:
        async with connected(live_server, key, mode) as client:
            one = structured(await client.call_tool("add_memory", {"text": KEY}))["memory_ids"][0]
        async with connected(live_server, globex.keys[Environment.PRODUCTION], mode) as client:
            return (
                await client.call_tool("search_memory", {"query": KEY}),
                await client.call_tool("get_memory", {"id": one}),
                await client.call_tool("delete_memory", {"id": one}),
            )

    found, got, deleted = asyncio.run(run())

    assert structured(found)["memories"] == []
    assert (is_error(got), is_error(deleted)) == (True, True)
    assert all(KEY not in str(one) for one in (found, got, deleted))


@every_client
def test_a_key_that_is_revoked_between_two_calls_is_refused(
    live_server: Any, acme: OpenedTenant, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    issued = make_api_key(acme.scope)
    results: list[Any] = []

    async def run() -> None:
        async with connected(live_server, issued.text, mode) as client:
            results.append(await client.call_tool("add_memory", {"text": KEY}))
            await in_thread(lambda: services.revoke(acme.scope, issued.key.pk, now=timezone.now()))
            results.append(await client.call_tool("search_memory", {"query": KEY}))

    with ended():
        asyncio.run(run())

    assert [structured(one)["status"] for one in results] == ["created"]
    assert latest_status(caplog) == 403


@every_mode
def test_a_client_shows_the_address_where_a_person_confirms(
    live_server: Any, acme: OpenedTenant, key: str, mode: str
) -> None:
    """In the modern era the client calls again; before, it is asked while the tool runs."""
    alice, shown = Caller(key), list[str]()

    def decide() -> None:
        """As a person of the tenant does in the browser, before the client goes on."""
        (asked,) = alice("GET", "/memory/forget-requests").json()["requests"]
        confirm(replace(acme.scope, principal=Principal(kind="account", id=7)), asked["id"], now=timezone.now())

    async def show(context: Any, params: Any) -> Any:
        shown.append(params.url)
        await in_thread(decide)
        return mcp_types.ElicitResult(action="accept")

    result = asyncio.run(delete_memory(live_server, key, mode, show))

    assert structured(result)["status"] == "deleted"
    assert [one.endswith("/app/t/acme/requests") for one in shown] == [True]


def test_a_person_who_declines_cancels_the_request(live_server: Any, key: str) -> None:
    async def decline(context: Any, params: Any) -> Any:
        return mcp_types.ElicitResult(action="decline")

    result = asyncio.run(delete_memory(live_server, key, "legacy", decline))

    assert (is_error(result), "declined" in str(result.content)) == (True, True)
    alice = Caller(key)
    assert [one["status"] for one in alice("GET", "/memory/forget-requests").json()["requests"]] == ["cancelled"]
    whose = {"tenant_id": "acme", "user_id": "alice", "source": "mcp"}
    assert alice("POST", "/v1/state/list", whose).json()["items"] == []


async def delete_memory(server: Any, key: str, mode: str, show: Any) -> Any:
    async with connected(server, key, mode, elicitation_callback=show) as client:
        one = structured(await client.call_tool("add_memory", {"text": KEY}))["memory_ids"][0]
        return await client.call_tool("delete_memory", {"id": one})
