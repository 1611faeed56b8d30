"""Finds every condition in ``apps/`` that says whose rows are meant, and writes each module without one of them.

A condition is a call of ``within`` or ``within_tenant``, or about one of the columns of ``WALLS``: a keyword of
``filter``, ``exclude``, ``get``, ``Q`` and the like, or a comparison in SQL.  When one is taken out, no line moves.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

# What a condition may be on, and the columns that show whose a row is by it.
WALLS: Final = {
    "tenant_id": "tenant",
    "tenant_uid": "tenant",
    "tenant": "tenant",
    "space_id": "space",
    "space_uid": "space",
    "space": "space",
    "environment": "environment",
    "owner_id": "owner",
}
SCOPING: Final = ("within", "within_tenant")
LOOKUPS: Final = ("filter", "exclude", "get", "Q", "get_or_create", "update_or_create")
_COLUMN = r"(?:[\w{}]+\.)?\b(?P<column>tenant_id|tenant_uid|space_id|space_uid|environment|owner_id)"
_VALUE = (
    r"(?P<any>any\s?\(\s*)?(?P<value>%s|%\(\w+\)s|\{\w*\}\.\w+|\{\w*\}|'\w+'|\w+\.\w+)(?:::\w+(?:\[\])?)?(?(any)\s*\))"
)
CONDITION: Final = re.compile(rf"{_COLUMN}\s*(?:=|<>|is not distinct from|in)\s*{_VALUE}")
# What makes a policy of row-level security is no query: tests/architecture/test_tenancy.py looks at what came of it.
NO_QUERIES: Final = ("EnableTenantIsolation", "_foreign_key", "Meta")
# ``pk=scope.tenant_id`` and its kind: a condition on the tenant by another name.
TENANT_VALUE: Final = re.compile(r"(\.tenant_id|\.tenant\.(uid|id|pk)|\btenant\.(uid|id|pk))$")


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition.  path: from the project's root.  line: its first, from 1.  kind: a value of WALLS, or "scope".

    function: the outermost function it is in, as Python names it; "" for a constant of the module or class.
    start, end: what to cut from the module's text.  instead: what to put there.  number: among those that read alike.
    """

    path: str
    line: int
    kind: str
    text: str
    function: str
    start: int
    end: int
    instead: str
    number: int = 1

    @property
    def name(self) -> str:
        """As it is listed: without the line, so that it survives what is written above it."""
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.path} {self.function or 'constant'}: {self.text}{again}"

    def without(self) -> str:
        """The module's text with this one condition taken out."""
        text = _text(ROOT / self.path)
        cut = text[self.start : self.end]
        return (
            text[: self.start] + self.instead + "\n" * (cut.count("\n") - self.instead.count("\n")) + text[self.end :]
        )


def all_filters() -> list[Filter]:
    """In the order of the files and of the lines in them."""
    paths = sorted(path for path in (ROOT / "apps").rglob("*.py") if "migrations" not in path.parts)
    found = [one for path in paths for one in _Module(path).filters()]
    found.sort(key=lambda one: (one.path, one.start))
    seen: Counter[str] = Counter()
    numbered = []
    for one in found:
        seen[one.name] += 1
        numbered.append(replace(one, number=seen[one.name]))
    return numbered


@cache
def _text(path: Path) -> str:
    return path.read_text()


class _Module:
    def __init__(self, path: Path) -> None:
        self.path = str(path.relative_to(ROOT))
        self.text = _text(path)
        self.lines = [0]
        for line in self.text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def filters(self) -> Iterator[Filter]:
        yield from self._below(ast.parse(self.text), "", ())

    def _below(self, node: ast.AST, function: str, names: tuple[str, ...]) -> Iterator[Filter]:
        for child in ast.iter_child_nodes(node):
            if getattr(child, "name", "") in NO_QUERIES:
                continue
            inner, path = function, names
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                path = (*names, child.name)
                if not isinstance(child, ast.ClassDef):
                    inner = function or ".".join(path)
            if isinstance(child, ast.Call):
                yield from self._of_call(child, inner)
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
                yield from self._of_sql(child, inner)
                continue
            yield from self._below(child, inner, path)

    def _of_call(self, call: ast.Call, function: str) -> Iterator[Filter]:
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called in SCOPING and isinstance(call.func, ast.Attribute):
            start, end = self._span(call)
            rows, argument = self._text(call.func.value), self._text(call.args[0])
            padding = "\n" * (self.text[start:end].count("\n") - rows.count("\n") - argument.count("\n"))
            # Not the rows' span alone: between them and the dot may be a line's end.
            yield self._made(call, "scope", function, (start, end), f"unwalled({rows}, {padding}{argument})")
        if called in LOOKUPS:
            for keyword in call.keywords:
                columns = (keyword.arg or "").split("__")
                is_tenant = columns[0] in ("pk", "id", "uid") and TENANT_VALUE.search(self._text(keyword.value))
                # Of ``space__tenant_id`` the last: it is about the space's tenant.
                kinds = [WALLS[column] for column in columns if column in WALLS]
                if kind := kinds[-1] if kinds else "tenant" if is_tenant else "":
                    start, end = self._span(keyword)
                    if comma := re.compile(r"\s*,\s*").match(self.text, end):
                        end = comma.end()
                    yield self._made(keyword, kind, function, (start, end), "")

    def _of_sql(self, node: ast.expr, function: str) -> Iterator[Filter]:
        start, end = self._span(node)
        for match in CONDITION.finditer(self.text, start, end):
            value = match["value"]
            # A parameter stays, or there would be one too many.
            instead = f"({value} is not null or true)" if value == "%s" or value.endswith("}") else "true"
            yield self._made(node, WALLS[match["column"]], function, match.span(), instead)

    def _made(
        self, node: ast.expr | ast.keyword, kind: str, function: str, span: tuple[int, int], instead: str
    ) -> Filter:
        start, end = span
        text = " ".join(self.text[start:end].split()).rstrip(", ")
        line = self.text.count("\n", 0, start) + 1
        return Filter(self.path, line, kind, text, function, start, end, instead)

    def _span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """column: in bytes of UTF-8, as the parser counts."""
        start = self.lines[line - 1]
        return start + len(self.text[start : self.lines[line]].encode()[:column].decode())

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self.text[start:end]
