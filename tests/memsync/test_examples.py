"""Every example of the README, the quickstart, guides and docs/api, run as it stands: a page's blocks in order, in a
tenant of its own.

``python`` blocks of a page share their names, ``bash`` blocks their variables; a call that the server refuses fails the
page.  Blocks with another word behind the fence are shown and not run.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import orjson
import pytest
from memorysync import MemorySyncClient

from tests.running import Up

pytestmark = pytest.mark.e2e

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
PAGES: Final = [
    ROOT / "README.md",
    DOCS / "quickstart.md",
    DOCS / "guides" / "agents.md",
    DOCS / "guides" / "command-line.md",
    DOCS / "guides" / "moving-in.md",
    DOCS / "mem0.md",
    *sorted((DOCS / "api").glob("*.md")),
]
# Pages whose examples use a published client that is in a group of its own, and its name.
CLIENTS: Final = {"mem0": "mem0"}
FENCE: Final = re.compile(r"^```(?P<language>\w+)[ ]*\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """line: of its first line of code in the page."""

    language: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(language=match["language"], code=match["code"], line=text.count("\n", 0, match.start("code")) + 1)
        for match in FENCE.finditer(text)
        if match["language"] in ("bash", "python")
    ]


# What `memsync tenant create` and `memsync key issue --scopes '*'` do, for every page in one process.
TENANTS: Final = """
import json, sys
import django
django.setup()
from tests.makers import make_api_key, make_tenant
print(json.dumps({name: make_api_key(make_tenant(name).scope, scopes=["*"]).text for name in sys.argv[1:]}))
"""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, prepared_home: Path) -> Iterator[Up]:
    up = Up(tmp_path_factory.mktemp("examples") / "home", prepared=prepared_home)
    yield up
    up.stop(signal.SIGKILL)  # test_up.py stops one as people do, which takes seconds


@pytest.fixture(scope="module")
def keys(instance: Up) -> dict[str, str]:
    """Of a tenant for each page, by its name."""
    environment = instance.environment | {"DJANGO_SETTINGS_MODULE": "memsync.settings", "PYTHONPATH": str(ROOT)}
    made = subprocess.run(
        [sys.executable, "-c", TENANTS, *(page.stem for page in PAGES)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    found: dict[str, str] = orjson.loads(made.stdout)
    return found


@pytest.fixture
def environment(instance: Up, keys: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """Of a stranger who has just made a tenant, in an empty directory."""
    (tmp_path / "bin").mkdir()
    # curl says what it was told, and takes a refusal for a success; an example that is refused is a wrong one.
    shim = tmp_path / "bin" / "curl"
    shim.write_text('#!/bin/sh\nexec /usr/bin/env PATH="$REAL_PATH" curl --silent --show-error --fail-with-body "$@"\n')
    shim.chmod(0o755)
    command = tmp_path / "bin" / "memsync"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m memsync.cli "$@"\n')
    command.chmod(0o755)
    path = os.environ["PATH"]
    return {
        "PATH": f"{tmp_path / 'bin'}:{path}",
        "REAL_PATH": path,
        "HOME": str(tmp_path),
        "MEMSYNC_HOME": str(instance.home),
        "MEMSYNC_URL": instance.ready["url"],
        "MEMSYNC_API_KEY": keys[request.node.callspec.id],
        "NO_PROXY": "*",
    }


def test_every_page_has_examples() -> None:
    assert [page.name for page in PAGES if not blocks(page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_the_page_work(
    page: Path, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if client := CLIENTS.get(page.stem):
        pytest.importorskip(client, reason=f"needs a published client: uv sync --group {page.stem}")
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    names: dict[str, Any] = {"__name__": "example"}

    try:
        for block in blocks(page):
            _run(block, page, names, environment)
    finally:
        for one in [*names.values(), *(getattr(each, "client", None) for each in names.values())]:
            if isinstance(one, MemorySyncClient | httpx.Client):
                one.close()


def _run(block: Block, page: Path, names: dict[str, Any], environment: dict[str, str]) -> None:
    if block.language == "python":
        # Blank lines in front, so that a traceback names the line of the page.
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)  # noqa: S102  (ours)
        return
    script = (
        f"[ ! -f .variables ] || . ./.variables\n{block.code}\nexport -p | grep -v '^declare -[a-z]*r' > .variables"
    )
    done = subprocess.run(
        ["bash", "-aeuo", "pipefail", "-c", script],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{page.name}:{block.line}\n{done.stdout}\n{done.stderr}"
