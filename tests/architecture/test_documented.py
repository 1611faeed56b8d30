"""Whatever a user can set, type or be refused with has its line in the docs."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.apps import apps as django_apps
from django.core.management import get_commands

import apps
from apps.apikeys.permissions import PERMISSIONS
from apps.audit.actions import AuditAction
from apps.core.errors import DomainError
from memsync import cli, env
from text.extraction.reasons import Reason

ROOT = Path(__file__).resolve().parents[2]
# Functions whose first argument names a setting.
READERS = {name for name in env.__all__ if name.startswith("env_")} | {"given"}
INTERNAL = {
    "DJANGO_SETTINGS_MODULE": "Django's own",
    "MEMSYNC_AS_OWNER": "set by the command line for the commands that migrate",
    "LC_ALL": "of child processes",
    "UV": "set by uv for what it runs",
}


def settings_read(source: str) -> set[str]:
    """Names that Python source takes from the environment."""
    return {name for node in ast.walk(ast.parse(source)) for name in _names(node)}


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ" and isinstance(node.ctx, ast.Load):
        yield from _constant(node.slice)
    if not isinstance(node, ast.Call) or not node.args:
        return
    function = ast.unparse(node.func)
    is_reader = function.split(".")[-1] in READERS or function in {
        "os.environ.get",
        "os.getenv",
        "os.environ.setdefault",
    }
    if is_reader or re.fullmatch(r"env(\.\w+)?", function):
        yield from _constant(node.args[0])


def _constant(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[A-Z][A-Z0-9_]+", node.value):
        yield node.value


def settings_of_the_project() -> set[str]:
    files = [path for top in ("apps", "memsync", "text") for path in (ROOT / top).rglob("*.py")]
    found = {name for path in files if "testing" not in path.parts for name in settings_read(path.read_text())}
    return found - INTERNAL.keys()


def error_codes() -> set[str]:
    for module in pkgutil.walk_packages(apps.__path__, "apps."):
        if ".migrations" not in module.name:
            importlib.import_module(module.name)
    return {kind.code for kind in _subclasses(DomainError) if kind.__module__.startswith("apps.")}


def _subclasses(kind: type[DomainError]) -> Iterator[type[DomainError]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def commands() -> set[str]:
    here = {config.name for config in django_apps.get_app_configs() if config.name.split(".")[0] in ("apps", "memsync")}
    return {name for name, owner in get_commands().items() if owner in here} | {*cli.OWN, *cli.CLIENT, *cli.AS_OWNER}


def reasons_written_out(source: str) -> list[str]:
    """Reasons that a call of ``refuse`` names by a text of its own, in place of a ``Reason``."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1]
    refusals = [call.args for call in calls if ast.unparse(call.func).split(".")[-1] in ("refuse", "_refused")]
    constants = [node for args in refusals for node in args[1:] if isinstance(node, ast.Constant)]
    return [node.value for node in constants if isinstance(node.value, str) and not node.value.startswith("discarded_")]


def undocumented(names: Iterable[str], *texts: str) -> list[str]:
    """Names that stand nowhere in the texts as code: between backticks, or in a line of an indented or fenced block."""
    code = "\n".join(found for text in texts for found in _code(text))
    return [name for name in sorted(names) if not re.search(rf"(?<![\w:-]){re.escape(name)}(?![\w:-])", code)]


def _code(text: str) -> list[str]:
    return [
        *re.findall(r"`([^`\n]+)`", text),
        *re.findall(r"```.*?```", text, re.DOTALL),
        *re.findall(r"^ {4,}\S.*$", text, re.MULTILINE),
    ]


def docs(*names: str) -> list[str]:
    found = [ROOT / name for name in names if (ROOT / name).exists()]
    assert found, f"none of {', '.join(names)} is there"
    return [path.read_text() for path in found]


def test_every_setting_has_its_line() -> None:
    assert undocumented(settings_of_the_project(), *docs("docs/settings.md")) == []


def test_every_error_code_has_its_line() -> None:
    assert undocumented(error_codes(), *docs("docs/errors.md")) == []


def test_every_permission_has_its_line() -> None:
    assert undocumented(PERMISSIONS, *docs("docs/permissions.md", "docs/settings.md")) == []


def test_every_command_has_its_line() -> None:
    assert undocumented(commands(), *docs("docs/commands.md", "README.md")) == []


def test_every_reason_of_a_decision_has_its_line() -> None:
    assert undocumented(Reason, *docs("docs/extraction.md")) == []


def test_every_action_of_the_audit_trail_has_its_line() -> None:
    assert undocumented(AuditAction, *docs("docs/audit.md")) == []


def test_a_candidate_is_refused_for_a_listed_reason_only() -> None:
    sources = [path for top in ("apps/ingest", "text") for path in (ROOT / top).rglob("*.py")]

    assert [f"{path.name}: {name}" for path in sources for name in reasons_written_out(path.read_text())] == []


def test_a_reason_that_is_written_out_is_seen() -> None:
    assert reasons_written_out('one.refuse("discarded_policy", "because")') == ["because"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('A = env.str("TOKEN", default="")', {"TOKEN"}),
        ('B = os.environ["HOME_DIR"] if given("CACHE_URL") else env_secret("SECRET_KEY")',
         {"HOME_DIR", "CACHE_URL", "SECRET_KEY"}),
        ('os.environ["SET_HERE"] = "1"', set()),
        ('print("NOT_ONE")', set()),
    ],
)  # fmt: skip
def test_settings_are_found_where_they_are_read(source: str, expected: set[str]) -> None:
    assert settings_read(source) == expected
