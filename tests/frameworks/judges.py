"""Tests that frameworks publish for implementations of their interfaces, loaded from their source archives.

FRAMEWORK_SDISTS names a directory where the archives are unpacked, as ``scripts/clients frameworks`` does.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

WaitFor = Callable[[Coroutine[Any, Any, Any]], Any]

VARIABLE: Final = "FRAMEWORK_SDISTS"


def installed(*modules: str, group: str = "frameworks") -> None:
    """Skip the calling module unless these are installed, which the group of dependencies does."""
    for name in modules:
        try:
            is_there = importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            is_there = False
        if not is_there:
            reason = f"{name} is not installed: `uv sync --no-default-groups --group {group}`"
            pytest.skip(reason, allow_module_level=True)


def published(package: str, module: str) -> ModuleType:
    """A module of the tests in a package's source archive.  Skips the calling module if there is no such archive."""
    where = os.environ.get(VARIABLE)
    archives = sorted(Path(where).glob(f"{package}-[0-9]*/")) if where else []
    if not archives:
        reason = f"{VARIABLE} names no directory with the unpacked source archive of {package}"
        pytest.skip(reason, allow_module_level=True)
    with _their_tests(archives[-1]):
        return importlib.import_module(module)


@contextmanager
def _their_tests(root: Path) -> Iterator[None]:
    """Let ``tests`` mean the archive's package, and forget it afterwards: ours has the same name."""
    ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "tests"}
    for name in ours:
        del sys.modules[name]
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(root))
        for name in [one for one in sys.modules if one.split(".")[0] == "tests"]:
            del sys.modules[name]
        sys.modules |= ours


def assert_passes(test: Callable[..., Any], *arguments: Any, wait_for: WaitFor | None = None, **named: Any) -> None:
    """Run a published test, whose assertions are its own.  wait_for: runs its coroutine, if it is asynchronous."""
    outcome = test(*arguments, **named)
    if isinstance(outcome, Coroutine):
        assert wait_for is not None
        wait_for(outcome)
