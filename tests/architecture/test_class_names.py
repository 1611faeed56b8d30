"""A class name means one thing in the whole product, so that a reader who met it once knows it everywhere."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("apps", "memsync", "text")
OF_DJANGO = {"Meta", "Migration", "Command"}  # names that Django looks for


def defined_twice(files: Mapping[str, str]) -> dict[str, list[str]]:
    """files: source by path.  Class names of more than one module, with the modules."""
    found = defaultdict(set)
    for path, source in files.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and node.name not in OF_DJANGO:
                found[node.name].add(path)
    return {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}


def modules() -> Iterable[Path]:
    return (path for top in PRODUCT for path in (ROOT / top).rglob("*.py") if path.parent.name != "migrations")


def test_every_class_name_has_one_meaning() -> None:
    assert defined_twice({str(path.relative_to(ROOT)): path.read_text() for path in modules()}) == {}


def test_a_name_with_two_meanings_is_found() -> None:
    files = {"a.py": "class Page: ...\nclass Meta: ...", "b.py": "class Page: ...\nclass Meta: ...", "c.py": "Page = 1"}

    assert defined_twice(files) == {"Page": ["a.py", "b.py"]}
