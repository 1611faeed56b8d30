"""The protocol's own conformance suite.  It runs where MCP_CONFORMANCE names a command that begins it, such as
``node …/conformance/dist/index.js``; ``scripts/clients mcp`` installs it.
"""

import os
import shlex
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.api.mcp.catalogue import catalogue_of
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment

pytestmark = [
    pytest.mark.django_db(databases="__all__", transaction=True),
    pytest.mark.skipif("MCP_CONFORMANCE" not in os.environ, reason="MCP_CONFORMANCE names no command"),
]


@pytest.fixture
def address(live_server: Any, acme: OpenedTenant, settings: Any) -> Iterator[str]:
    """Of a server with the suite's fixtures, behind a proxy that adds what the suite cannot send: key and end user."""
    settings.MCP_ADDITIONS = "tests.mcp.conformance"
    catalogue_of.cache_clear()
    own = {"X-API-Key": acme.keys[Environment.PRODUCTION], "X-End-User-ID": "alice"}

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            # Blanks around a value are not part of it; the client below would refuse them.
            sent = [(name, value.strip()) for name, value in self.headers.items() if name.lower() != "connection"]
            if self.headers.get("Host") == f"127.0.0.1:{self.server.server_address[1]}":
                sent = [(name, value) for name, value in sent if name.lower() not in ("host", "origin")]
            with (
                httpx.Client(trust_env=False, timeout=60) as client,
                client.stream(
                    self.command, live_server.url + self.path, content=body, headers=[*sent, *own.items()]
                ) as answer,
            ):
                self.send_response(answer.status_code)
                for name in ("Content-Type", "Allow", "WWW-Authenticate", "Mcp-Session-Id"):
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                self.send_header("Connection", "close")
                self.end_headers()
                for piece in answer.iter_raw():
                    self.wfile.write(piece)
                    self.wfile.flush()
            self.close_connection = True

        do_GET = do_POST = do_DELETE = _pass_on  # noqa: N815  (the base class's names)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1/mcp"
    server.shutdown()
    server.server_close()
    catalogue_of.cache_clear()


SCENARIOS = {"2026-07-28": 37, "2025-11-25": 30}  # that the suite scores
# What is not served, on purpose: docs/mcp.md.
MISSES = {
    "2026-07-28": set[str](),
    "2025-11-25": {
        "resources-subscribe",
        "resources-unsubscribe",
    },
}


@pytest.mark.parametrize("version", MISSES)
def test_every_scenario_passes_but_those_that_are_named(address: str, tmp_path: Path, version: str) -> None:
    command = [*shlex.split(os.environ["MCP_CONFORMANCE"]), "server", "--url", address, "--requirements", version]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)

    summary = done.stdout.partition("=== SUMMARY ===")[2]
    scored, _, unscored = summary.partition("Not scored")
    left_out = {line.split()[1] for line in unscored.splitlines() if line.startswith("  ")}
    found = {line.split()[1].rstrip(":"): line[0] for line in scored.splitlines() if line[:1] in ("✓", "✗")}
    assert len(found.keys() - left_out) == SCENARIOS[version], summary
    assert {name for name, mark in found.items() if mark == "✗"} - left_out == MISSES[version], summary


def test_every_check_of_headers_passes(address: str, tmp_path: Path) -> None:
    """It calls the tool that is listed first, without arguments."""
    command = [*shlex.split(os.environ["MCP_CONFORMANCE"]), "server", "--url", address]
    options = ["--scenario", "http-header-validation", "--spec-version", "2026-07-28"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)

    assert "Passed: 14/14" in done.stdout, done.stdout
