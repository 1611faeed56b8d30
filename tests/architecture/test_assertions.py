"""No test passes whatever the product does: each asserts something, itself or through a function of the tests."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parents[1]
ASSERTING = {"raises", "warns", "fail", "expect"}  # of pytest, and of Playwright


class Function(NamedTuple):
    """calls: names of functions that it calls.  Methods are left out: many share a name with something that asserts."""

    name: str
    asserts: bool
    calls: frozenset[str]


def silent_tests(files: Iterable[Path]) -> list[str]:
    """Tests in which nothing can fail but what they call."""
    functions = [(path, one) for path in files for one in _functions(ast.parse(path.read_text()))]
    checking = {one.name for _, one in functions if one.asserts}
    while more := {one.name for _, one in functions if one.calls & checking} - checking:
        checking |= more
    return [
        f"{path.name}::{one.name}"
        for path, one in functions
        if one.name.startswith("test_") and not one.asserts and not one.calls & checking
    ]


def _functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = list(ast.walk(node))
            called = [one.func for one in inside if isinstance(one, ast.Call)]
            calls = frozenset(one.id for one in called if isinstance(one, ast.Name))
            names = calls | {one.attr for one in called if isinstance(one, ast.Attribute)}
            asserts = any(isinstance(one, ast.Assert) for one in inside) or any(
                name in ASSERTING or "assert" in name for name in names
            )
            yield Function(node.name, asserts, calls)


def test_every_test_asserts_something() -> None:
    assert silent_tests(sorted(TESTS.rglob("*.py"))) == []


@pytest.mark.parametrize(
    ("body", "is_silent"),
    [
        ("find('in 999 years')", True),
        ("print(find('x'))", True),
        ("thing.check('x')", True),
        ("assert find('x')", False),
        ("check('x')", False),
        ("twice('x')", False),
        ("with pytest.raises(ValueError):\n        find('x')", False),
        ("expect(page).to_be_visible()", False),
        ("mock.assert_called_once()", False),
    ],
)
def test_silent_test_is_found(body: str, is_silent: bool, tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    helpers = "def check(x):\n    assert x\ndef twice(x):\n    check(x)\n"
    file.write_text(f"{helpers}def test_it():\n    {body}\n")

    assert silent_tests([file]) == (["test_it.py::test_it"] if is_silent else [])
