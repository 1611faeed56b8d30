"""The official client, in three modes, and another published one, on real connections."""

import asyncio
from typing import Any

import fastmcp
import httpx2
import mcp
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)

KEY = "The spare key lies under the blue flower pot."


async def use(client: Any) -> tuple[Any, ...]:
    """Everything that a client can do, through one that is connected."""
    tools = await client.list_tools()
    names = sorted(one.name for one in getattr(tools, "tools", tools))
    added = await client.call_tool("add_memory", {"text": KEY})
    found = await client.call_tool("search_memory", {"query": "Where is the spare key?"})
    who = await client.call_tool("whoami", {})
    return names, added, found, who


def structured(result: Any) -> Any:
    for name in ("structured_content", "structuredContent"):
        if (found := getattr(result, name, None)) is not None:
            return found
    raise AssertionError(result)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_official_client(live_server: Any, acme: OpenedTenant, mode: str) -> None:
    headers = {"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"}

    async def run() -> tuple[Any, ...]:
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{live_server.url}/v1/mcp", http_client=http)
            async with mcp.Client(transport, mode=mode) as client:
                return *await use(client), client.protocol_version, await client.list_prompts()

    names, added, found, who, version, prompts = asyncio.run(run())

    assert len(names) == 14
    assert structured(added)["status"] == "created"
    assert structured(found)["memories"][0]["text"] == KEY
    assert structured(who)["end_user"] == "alice"
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert [one.name for one in prompts.prompts] == ["recall"]


@pytest.mark.parametrize("key", ["", "ms_live_0000000000000000"])
def test_official_client_with_a_bad_key_is_refused(live_server: Any, key: str) -> None:
    async def run() -> None:
        async with httpx2.AsyncClient(headers={"X-API-Key": key}) as http:
            transport = streamable_http_client(f"{live_server.url}/v1/mcp", http_client=http)
            async with mcp.Client(transport) as client:
                await client.list_tools()

    with pytest.raises(BaseException, match=r"401|Unauthorized|API key|unhandled errors") as refused:
        asyncio.run(run())
    assert not isinstance(refused.value, AssertionError)


def test_fastmcp(live_server: Any, acme: OpenedTenant) -> None:
    headers = {"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"}

    async def run() -> tuple[Any, ...]:
        transport = StreamableHttpTransport(f"{live_server.url}/v1/mcp", headers=headers)
        async with fastmcp.Client(transport) as client:
            return await use(client)

    names, added, found, who = asyncio.run(run())

    assert len(names) == 14
    assert structured(added)["status"] == "created"
    assert structured(found)["memories"][0]["text"] == KEY
    assert structured(who)["end_user"] == "alice"
