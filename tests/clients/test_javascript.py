"""The JavaScript client in Node against a served process: its own tests, and the examples of its page in the docs.

Node comes from the dependency group `javascript`, or from the path; the example for the AI SDK needs `npm install`.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.node import find_node
from tests.running import Up

pytestmark = pytest.mark.e2e

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "clients" / "javascript"
PAGE: Final = ROOT / "docs" / "guides" / "javascript.md"
BLOCK: Final = re.compile(r"^```js\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def node() -> str:
    return find_node()


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, prepared_home: Path, node: str) -> Iterator[Up]:
    one = Up(tmp_path_factory.mktemp("javascript") / "home", "--workers", "1", prepared=prepared_home)
    yield one
    one.stop()


def run(node: str, up: Up, *arguments: str, cwd: Path = PACKAGE) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "MEMSYNC_URL": up.ready["url"],
        "MEMSYNC_API_KEY": up.ready["keys"]["development"],
    }
    return subprocess.run(
        [node, "--no-warnings", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("file", "tests"), [("client", 8), ("transport", 10), ("ai-sdk", 1)])
def test_the_client_s_own_tests_pass(node: str, up: Up, file: str, tests: int) -> None:
    if file == "ai-sdk" and not (PACKAGE / "node_modules" / "ai").exists():
        pytest.skip("the package ai is missing: npm install in clients/javascript")

    done = run(node, up, "--test", "--test-reporter=tap", f"test/{file}.test.ts")

    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert f"\n# pass {tests}\n" in done.stdout


def test_the_examples_of_the_page_run(node: str, up: Up, tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "memsync").symlink_to(PACKAGE)
    (tmp_path / "page.mjs").write_text("\n".join(blocks))

    done = run(node, up, "--conditions=source", "page.mjs", cwd=tmp_path)

    assert len(blocks) > 3
    assert done.returncode == 0, done.stderr


def test_nothing_is_needed_at_run_time() -> None:
    package = json.loads((PACKAGE / "package.json").read_text())

    assert {"dependencies", "peerDependencies", "optionalDependencies"}.isdisjoint(package)
    sources = [path.read_text() for path in (PACKAGE / "src").glob("*.ts") if path.name != "openapi.ts"]
    assert len(sources) > 4
    assert {name for text in sources for name in re.findall(r'from "([^."][^"]*)"', text)} == set()
