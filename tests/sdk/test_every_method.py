"""Each method of the published clients is called by a test of this folder, which runs it on both clients."""

import ast
import inspect
from pathlib import Path

from memorysync import AsyncMemorySyncClient, MemorySyncClient

HERE = Path(__file__).parent
NOT_REQUESTS = {"close", "aclose"}


def methods(client: type) -> set[str]:
    found = inspect.getmembers(client, inspect.isfunction)
    return {name for name, _ in found if not name.startswith("_")} - NOT_REQUESTS


def called() -> set[str]:
    """Methods called by name, or named in a test's parameters."""
    trees = [ast.parse(path.read_text()) for path in HERE.glob("test_*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {one.func.attr for one in calls if isinstance(one.func, ast.Attribute)}
    parametrized = [one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "parametrize"]
    values = [node.value for one in parametrized for node in ast.walk(one) if isinstance(node, ast.Constant)]
    return named | {value for value in values if isinstance(value, str)}


def test_both_clients_have_the_same_methods() -> None:
    assert methods(MemorySyncClient) == methods(AsyncMemorySyncClient)


def test_every_method_is_called() -> None:
    assert len(methods(MemorySyncClient)) >= 44  # 43 of the memory plane, and purge_user, which refuses by itself
    assert sorted(methods(MemorySyncClient) - called()) == []
