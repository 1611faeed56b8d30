"""SQL couples apps where no import shows it: an app's statements name no table of an app above it."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.apps import apps

ROOT = Path(__file__).resolve().parents[2]


def layers() -> dict[str, int]:
    """Each app's height in the layers of pyproject.toml: the higher may name tables of the lower."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (ordered,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return {app.strip(): -place for place, line in enumerate(ordered) for app in line.split("|")}


def strings(path: Path) -> Iterator[str]:
    """What may be SQL: of Python every string but docstrings, of other files all."""
    if path.suffix != ".py":
        yield path.read_text()
        return
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def above(app: str, texts: Iterator[str], owners: Mapping[str, str], height: Mapping[str, int]) -> set[str]:
    """Tables in these texts that belong to apps above ``app``.  owners: of each table the app."""
    table = re.compile(rf"\b(?:{'|'.join(sorted(owners, key=len, reverse=True))})\b")
    named = {name for text in texts for name in table.findall(text)}
    return {name for name in named if height[owners[name]] > height[app]}


def owners_of_tables(height: Mapping[str, int]) -> dict[str, str]:
    return {
        model._meta.db_table: model._meta.app_label for model in apps.get_models() if model._meta.app_label in height
    }


def test_no_statement_names_a_table_of_an_app_above_its_own() -> None:
    height = layers()
    owners = owners_of_tables(height)
    found = {
        str(path.relative_to(ROOT)): above(path.relative_to(ROOT / "apps").parts[0], strings(path), owners, height)
        for path in sorted((ROOT / "apps").rglob("*"))
        if path.suffix in (".py", ".sql") and "migrations" not in path.parts and path.parent != ROOT / "apps"
    }

    assert {path: tables for path, tables in found.items() if tables} == {}


def test_a_table_of_an_app_above_is_reported(tmp_path: Path) -> None:
    (tmp_path / "services.py").write_text('"""Of webhooks_event."""\nRUN = "delete from webhooks_event where id = 1"\n')
    owners, height = {"webhooks_event": "webhooks", "tenants_tenant": "tenants"}, {"webhooks": 2, "memories": 1}

    found = strings(tmp_path / "services.py")

    assert above("memories", found, owners, height | {"tenants": 0}) == {"webhooks_event"}
