"""`memsync mcp` on stdin and stdout, as the official client starts it, and the configurations that it writes."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
from mcp import StdioServerParameters

from apps.apikeys.onboarding import OpenedTenant
from memsync.mcp import commands
from tests.makers import make_api_key
from tests.mcp.every_tool import KEY, SCOPES, SERVERS, structured

MCP = [sys.executable, "-m", "memsync.cli", "mcp"]
SETTINGS = ["--url", "http://127.0.0.1:9", "--key", "ms_dev_x", "--end-user", "alice"]


@pytest.mark.django_db(databases="__all__", transaction=True)
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
@pytest.mark.parametrize("tools", SERVERS)
def test_official_client_starts_it_and_calls_every_tool(
    live_server: Any, acme: OpenedTenant, mode: str, tools: str
) -> None:
    server, served = started(live_server, acme, "--tools", tools, end_user="алиса"), SERVERS[tools]

    async def run() -> tuple[Any, ...]:
        async with mcp.Client(server, mode=mode) as client:
            return await client.list_tools(), await served.call_all(client.call_tool)

    listed, results = asyncio.run(run())

    assert set(results) == {one.name for one in listed.tools}
    served.check(results, "алиса")


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_a_reply_passes_the_call_that_waits_for_it(live_server: Any, acme: OpenedTenant) -> None:
    server = started(live_server, acme)

    async def decline(context: Any, params: Any) -> Any:
        return mcp_types.ElicitResult(action="decline")

    async def run() -> Any:
        async with mcp.Client(server, mode="legacy", elicitation_callback=decline) as client:
            one = structured(await client.call_tool("add_memory", {"text": KEY}))["memory_ids"][0]
            return await client.call_tool("delete_memory", {"id": one})

    assert "declined" in str(asyncio.run(run()).content)


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_bad_arguments_and_a_bad_key_are_told_in_the_protocol(live_server: Any, acme: OpenedTenant) -> None:
    good, bad = started(live_server, acme), started(live_server, acme, key="ms_live_0000000000000000")

    async def bad_arguments() -> None:
        async with mcp.Client(good) as client:
            with pytest.raises(mcp.MCPError, match="required: query"):
                await client.call_tool("search_memory", {})

    async def bad_key() -> None:
        async with mcp.Client(bad, mode="legacy"):
            pass

    asyncio.run(bad_arguments())
    with pytest.raises(BaseException, match=r"key|unhandled errors") as refused:
        asyncio.run(bad_key())
    assert not isinstance(refused.value, AssertionError)


def started(
    server: Any, acme: OpenedTenant, *options: str, end_user: str = "alice", key: str = ""
) -> StdioServerParameters:
    issued = key or make_api_key(acme.scope, scopes=SCOPES).text
    environment = {"MEMSYNC_URL": server.url, "MEMSYNC_API_KEY": issued, "MEMSYNC_END_USER": end_user}
    return StdioServerParameters(
        command=MCP[0], args=[*MCP[1:], *options], env=environment, cwd=Path(__file__).parents[2]
    )


def test_a_server_that_cannot_be_reached_is_told_in_the_protocol() -> None:
    asked = b'{"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}\n'

    done = subprocess.run([*MCP, *SETTINGS], input=asked, capture_output=True, timeout=60, check=True)

    answer = json.loads(done.stdout)
    assert (answer["id"], answer["error"]["code"]) == (3, -32603)
    assert "cannot be reached" in answer["error"]["message"]


def test_key_and_end_user_are_needed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMSYNC_API_KEY", raising=False)

    assert commands.main(["--end-user", "alice"]) == 2
    assert "MEMSYNC_API_KEY" in capsys.readouterr().err
    assert commands.main(["--tools", "graph", "--key", "x"]) == 2
    assert "MEMSYNC_END_USER" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--tools", "graph", "install"], ["install", "--tools", "graph"]])
def test_a_configuration_names_the_tools(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert commands.main([*options, *SETTINGS, "--vscode"]) == 0

    printed = capsys.readouterr().out.partition("\n")[2]
    assert json.loads(printed)["servers"]["memsync-graph"]["url"] == "http://127.0.0.1:9/v1/mcp/graph"


def test_typed_tools_need_no_end_user(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMSYNC_END_USER", raising=False)

    assert commands.main(["--tools", "typed", "--key", "k", "--url", "http://s", "install", "--codex"]) == 0
    assert 'url = "http://s/v1/mcp/typed"\nhttp_headers = { "X-API-Key" = "k" }' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("client", "path", "section"),
    [
        ("--claude-code", ".mcp.json", "mcpServers"),
        ("--cursor", "home/.cursor/mcp.json", "mcpServers"),
        ("--vscode", ".vscode/mcp.json", "servers"),
    ],
)
def test_a_configuration_is_written_beside_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str, path: str, section: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({section: {"other": {"url": "https://example.org"}}, "theme": "dark"}))

    assert commands.main(["install", *SETTINGS, client, "--write"]) == 0

    written = json.loads(file.read_text())
    assert (written["theme"], set(written[section])) == ("dark", {"other", "memsync"})
    assert written[section]["memsync"]["url"] == "http://127.0.0.1:9/v1/mcp"
    assert written[section]["memsync"]["headers"] == {"X-API-Key": "ms_dev_x", "X-End-User-ID": "alice"}


def test_what_is_not_plain_json_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text("// mine\n{}")

    assert commands.main(["install", *SETTINGS, "--claude-code", "--write"]) == 1
    assert (tmp_path / ".mcp.json").read_text() == "// mine\n{}"


def test_a_configuration_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["install", *SETTINGS, "--codex"]) == 0

    printed = capsys.readouterr().out
    assert "[mcp_servers.memsync]" in printed
    assert 'url = "http://127.0.0.1:9/v1/mcp"' in printed
