"""Text that users wrote is read by patterns that take linear time: ``text.patterns``, and never ``re``."""

import ast
import gc
import re
from importlib import import_module
from pathlib import Path

import pytest

from text.patterns import Pattern, UnsupportedSyntax

ROOT = Path(__file__).resolve().parents[2]

# Modules that read text of users with ``re`` still.  It only ever gets shorter.
PENDING: frozenset[str] = frozenset()

# What ``re`` sees there is no text to be remembered and no query; the reason beside each.
_ONE_WORD = "a whole value against one class of characters with a bound"
NO_TEXT = {
    "apps/accounts/second_factors.py": "a code of a few digits",
    "apps/adapters/classifiers/tokens.py": "one class with a repeat and a bound, which no engine reads twice",
    "apps/adapters/documents/reading.py": "the ending of a file's name",
    "apps/adapters/embedders/fake.py": "one class with a repeat, which no engine reads twice; in tests alone",
    "apps/adapters/embedders/minilm/wordpiece.py": "one class with a repeat each, which no engine reads twice",
    "apps/adapters/kms/aws.py": "an address among the settings",
    "apps/adapters/kms/gcp.py": "an address among the settings",
    "apps/adapters/kms/vault.py": "what the key service answers",
    "apps/adapters/senders/http.py": _ONE_WORD,
    "apps/api/authentication.py": "the query string, one word with a bound",
    "apps/api/fields.py": _ONE_WORD,
    "apps/api/middleware.py": _ONE_WORD,
    "apps/api/unknown.py": _ONE_WORD,
    "apps/api/views.py": _ONE_WORD,
    "apps/apikeys/tokens.py": _ONE_WORD,
    "apps/breakglass/services.py": _ONE_WORD,
    "apps/core/admin.py": "the name of a column's type",
    "apps/core/retries.py": "statements of our own",
    "apps/transfers/exports/filters.py": _ONE_WORD,
    "apps/erasure/legal_holds.py": _ONE_WORD,
    "apps/erasure/disk_purge.py": "what PostgreSQL says of a vacuum",
    "apps/tenants/services.py": "names of organizations: classes with a bound, or one without a choice",
    "apps/webhooks/services.py": _ONE_WORD,
    "memsync/connections.py": "the head of a request: a name, then digits with a bound",
    "memsync/ops/dumps.py": "lines of a dump's outline",
    "memsync/log_format.py": "sentences of our own",
    "memsync/management/plain.py": _ONE_WORD,
    "memsync/ops/manifest.py": "the name of a file of our own",
    "memsync/admin_cards.py": "what PostgreSQL says of a plan",
    "text/patterns.py": "its flags and its escape, and no engine",
    "text/syntax.py": "its parser and its flags, and no engine",
}


def modules() -> list[Path]:
    return sorted(path for top in ("apps", "memsync", "text") for path in (ROOT / top).rglob("*.py"))


def importers() -> set[str]:
    found = set()
    for file in modules():
        for node in ast.walk(ast.parse(file.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if {"re", "regex"} & {name.split(".")[0] for name in [*names, module]}:
                found.add(file.relative_to(ROOT).as_posix())
    return found


def test_no_other_module_uses_re() -> None:
    unknown = importers() - PENDING - NO_TEXT.keys()

    assert not unknown, f"use text.patterns, or say here why no user's text comes there: {sorted(unknown)}"


def test_nothing_is_excused_that_needs_no_excuse() -> None:
    assert PENDING | NO_TEXT.keys() <= importers()


def test_every_pattern_that_stands_in_a_module_parses() -> None:
    """They are parsed on first use, which may be a rare one."""
    names = [
        file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for file in modules()
        if "patterns.compile(" in file.read_text() and file.name != "patterns.py"
    ]
    for name in names:
        import_module(name)

    gc.unfreeze()  # what was loaded when Django started is not listed else
    made = [one for one in gc.get_objects() if type(one) is Pattern]

    assert len(made) > 250
    assert not [pattern for pattern in made if not _parses(pattern)]


def _parses(pattern: Pattern) -> bool:
    try:
        _ = pattern.groups
    except (re.error, UnsupportedSyntax):
        return False
    return True


@pytest.mark.parametrize("statement", ["import re", "import re as plain", "from re import compile", "import re.a"])
def test_every_way_to_import_it_is_seen(statement: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "sneaky.py").write_text(statement)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)

    assert importers() == {"apps/sneaky.py"}
