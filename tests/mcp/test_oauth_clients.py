"""The official client connects through OAuth, and the protocol's suite for authorization servers."""

import asyncio
import os
import re
import shlex
import subprocess
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import mcp
import pytest
from django.db import connections
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from apps.accounts.models import OAuthGrant
from apps.apikeys.onboarding import OpenedTenant
from apps.web.oauth import clients
from tests.mcp.every_tool import KEY, structured
from tests.web.people import Person, make_person

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)

BACK = "http://localhost:3917/callback"


class Kept:
    """What the client keeps between its runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


def allow(person: Person, address: str) -> str:
    """Where the person's browser is sent once they have allowed what the client asks for at this address."""
    path = address.partition("/app/")[2]
    try:
        return _allow(person, path)
    finally:
        connections.close_all()  # of this thread


def _allow(person: Person, path: str) -> str:
    page = person.client.get(f"/app/{path}").content.decode()
    form = {
        "place": re.findall(r'<option value="([^"]+/proj_\w+)"', page)[0],
        "environment": "production",
        "end_user": "alice",
        "scopes": re.findall(r'name="scopes" value="([^"]+)"', page),
    }
    answer = person.client.post(f"/app/{path}", form)
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def provider(url: str, person: Person, kept: Kept, asked: list[str]) -> OAuthClientProvider:
    back: list[str] = []

    async def redirect(address: str) -> None:
        asked.append(address)
        back.append(await asyncio.to_thread(allow, person, address))

    async def callback() -> AuthorizationCodeResult:
        found = parse_qs(urlsplit(back.pop()).query)
        return AuthorizationCodeResult(code=found["code"][0], state=found["state"][0], iss=found["iss"][0])

    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "Official client", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    )
    return OAuthClientProvider(url, metadata, kept, redirect_handler=redirect, callback_handler=callback)


async def use(client: Any) -> tuple[Any, ...]:
    """The names of the tools, and what three of them answer."""
    names = [one.name for one in (await client.list_tools()).tools]
    added = await client.call_tool("add_memory", {"text": KEY})
    found = await client.call_tool("search_memory", {"query": "Where is the spare key?"})
    return names, added, found, await client.call_tool("whoami", {})


async def connect(url: str, person: Person, kept: Kept, asked: list[str], use: Any) -> Any:
    async with httpx2.AsyncClient(auth=provider(url, person, kept, asked), timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with mcp.Client(transport) as client:
            return await use(client)


@pytest.fixture
def switched_on(live_server: Any, settings: Any) -> str:
    settings.OAUTH_ISSUER = live_server.url
    settings.OAUTH_REGISTRATION = True
    return f"{live_server.url}/v1/mcp"


@pytest.fixture
def person(acme: OpenedTenant) -> Person:
    made = make_person(acme.tenant)
    made.show_factor(ago=10)
    return made


def test_the_official_client_connects_uses_memories_and_refreshes(switched_on: str, person: Person) -> None:
    kept, asked = Kept(), list[str]()

    names, added, found, who = asyncio.run(connect(switched_on, person, kept, asked, use))

    assert len(names) == 14
    assert structured(added)["status"] == "created"
    assert structured(found)["memories"][0]["text"] == KEY
    assert structured(who)["end_user"] == "alice"
    assert len(asked) == 1
    assert kept.tokens is not None

    before = kept.tokens
    kept.tokens = before.model_copy(update={"access_token": "mso_expired"})
    *_, who = asyncio.run(connect(switched_on, person, kept, asked, use))
    assert structured(who)["end_user"] == "alice"
    assert OAuthGrant.objects.count() >= 1


def test_the_official_client_asks_for_more_when_it_lacks_a_right(switched_on: str, person: Person) -> None:
    kept, asked = Kept(), list[str]()

    async def remember(client: Any) -> Any:
        return await client.call_tool("record_turn", {"role": "user", "text": "I moved to Ghent."})

    async def only_read(client: Any) -> Any:
        return await client.call_tool("whoami", {})

    asyncio.run(connect(switched_on, person, kept, asked, only_read))
    assert "history%3Awrite" not in asked[0]

    recorded = asyncio.run(connect(switched_on, person, kept, asked, remember))

    assert structured(recorded)["turn_ids"]
    assert len(asked) == 2
    assert "history%3Awrite" in asked[1]


@pytest.mark.skipif("MCP_CONFORMANCE" not in os.environ, reason="MCP_CONFORMANCE names no command")
def test_the_suite_for_authorization_servers_passes(
    live_server: Any, settings: Any, person: Person, acme: OpenedTenant, tmp_path: Path
) -> None:
    settings.OAUTH_ISSUER, settings.OAUTH_CLIENT_DOCUMENTS = live_server.url, True
    back = "http://127.0.0.1:3918/callback"
    client, _ = clients.create("Conformance", [back], is_public=True, now=acme.tenant.created_at)
    command = [
        *shlex.split(os.environ["MCP_CONFORMANCE"]), "authorization", "--url", live_server.url,
        "--client-id", client.pk, "--resource", f"{live_server.url}/v1/mcp", "--port", "3918",
    ]  # fmt: skip
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said: list[str] = []

    def answer() -> None:
        """The suite prints the address that a person has to open."""
        assert running.stdout is not None
        for line in running.stdout:
            said.append(line)
            if found := re.search(r"http\S+/app/connect\?\S+", line):
                httpx2.get(allow(person, found[0]), timeout=10)

    reading = threading.Thread(target=answer, daemon=True)
    reading.start()
    try:
        assert running.wait(timeout=120) == 0, "".join(said)
    finally:
        running.kill()
        reading.join(timeout=10)
        assert running.stdout is not None
        running.stdout.close()
    summary = "".join(said)
    assert "authorization-code-grant" in summary
    assert "FAILURE" not in summary, summary
