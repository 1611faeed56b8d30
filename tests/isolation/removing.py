"""A pytest plugin that removes one filter after the other and runs the tests that reach it, to see which notice.

``pytest -p tests.isolation.removing TESTS`` runs each of the tests once, noting what it calls and which statements it
sends.  Then, for each filter, it removes it and runs the cheapest tests that call the function it was in, until one
fails, or sends a statement to which rows of others are no longer as rows that are not there (``elsewhere``).  Row-level
security is off.  What comes of it goes to the file FILTERS_RESULT.
"""

import ast
import builtins
import gc
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
import pytest
from _pytest.runner import runtestprotocol
from django.db import connections, models

from memsync.testing.databases import SUPERUSER_URL
from tests.isolation.elsewhere import APPS, Breach, Origin, Watch
from tests.isolation.filters import ROOT, Filter, all_filters

MOST_TESTS: Final = int(os.environ.get("FILTERS_MOST_TESTS", "25"))  # that are asked about one filter
KINDS: Final = {"scope": "tenant"}


@dataclass(slots=True)
class Probe:
    """A test.  calls: the functions of ours that it ran, as file and name.  texts: of its statements."""

    item: pytest.Item
    seconds: float
    calls: frozenset[tuple[str, str]]
    texts: frozenset[str]
    passes: bool


def pytest_runtestloop(session: pytest.Session) -> bool:
    _Run(session).run()
    return True


class _Run:
    def __init__(self, session: pytest.Session) -> None:
        self.items = _some(session.items)
        self.next = _Nothing.from_parent(session, name="nothing")
        self.watch = Watch()
        self.filters = all_filters()
        for path in {one.path for one in self.filters}:
            importlib.import_module(path.removesuffix(".py").replace("/", "."))
        self.functions = _functions()
        self.usual: dict[tuple[str, str, str], set[Breach]] = {}
        builtins.unwalled = _unwalled  # type: ignore[attr-defined]
        # One statement at a time, so that each can be tried with other rows before it is sent.
        psycopg.Connection.pipeline = lambda self: nullcontext()  # type: ignore[assignment,method-assign,misc,return-value]
        address = urlsplit(os.environ[SUPERUSER_URL])
        for one in connections.all():
            one.settings_dict |= {"USER": address.username, "PASSWORD": address.password or ""}
            one.execute_wrappers.append(self.watch)

    def run(self) -> None:
        wanted = json.loads(os.environ["FILTERS_WANTED"])
        recorded = [self.record(item) for item in self.items]
        probes = sorted((probe for probe in recorded if probe.passes), key=lambda probe: probe.seconds)
        say(f"{len(probes)} of {len(self.items)} tests pass, in {sum(probe.seconds for probe in probes):.0f} s")
        found: dict[str, Any] = {}
        for one in self.filters:
            if one.name in wanted:
                first = wanted[one.name]
                found[one.name] = self.ask(one, sorted(probes, key=lambda probe: probe.item.nodeid != first))
                say(f"{len(found)} {one.path}:{one.line} {one.function} {one.text}: {found[one.name] or 'not noticed'}")
                Path(os.environ["FILTERS_RESULT"]).write_text(json.dumps(found))

    # -- running tests -------------------------------------------------------------------------------------------------

    def record(self, item: pytest.Item) -> Probe:
        self.watch.listen()
        calls: set[tuple[str, str]] = set()

        def note(frame: Any, event: str, argument: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(APPS):
                calls.add((frame.f_code.co_filename, frame.f_code.co_qualname))

        started = time.monotonic()
        sys.setprofile(note)
        try:
            passes = self.passes(item)
        finally:
            sys.setprofile(None)
        return Probe(item, time.monotonic() - started, frozenset(calls), frozenset(self.watch.heard), passes)

    def passes(self, item: pytest.Item) -> bool:
        # Something of the session is said to come next, so that what lasts for the session stays, and nothing else.
        reports = runtestprotocol(item, log=False, nextitem=self.next)
        return [report.outcome for report in reports] == ["passed"] * 3

    # -- asking --------------------------------------------------------------------------------------------------------

    def ask(self, one: Filter, probes: Sequence[Probe]) -> dict[str, str] | None:
        """Which test noticed, and what; None when none did."""
        removal = Removal.of(one, self.functions)
        tried = 0
        for probe in probes:
            if not removal.concerns(probe):
                continue
            if (tried := tried + 1) > MOST_TESTS:
                break
            if why := self.notices(one, removal, probe):
                return {"by": probe.item.nodeid, "why": why}
        return None

    def notices(self, one: Filter, removal: "Removal", probe: Probe) -> str:
        kind = KINDS.get(one.kind, one.kind)
        self.watch.listen([kind], asked=lambda text, origin: text not in probe.texts)
        with removal.done():
            passes = self.passes(probe.item)
        assert not self.watch.malformed, f"{one.name} leaves no SQL: {self.watch.malformed}"
        breaches = self.watch.breaches
        if not breaches and passes:
            return ""
        usual = self.usual_breaches(probe, kind, {origin for origin, _, _ in breaches})
        if new := sorted(breaches - usual):
            _, table, column = new[0]
            return f"{table}.{column}"
        return "" if passes or not self.passes(probe.item) else "fails"

    def usual_breaches(self, probe: Probe, kind: str, origins: set[Origin]) -> set[Breach]:
        """What the code finds at these places as it is."""
        if not origins:
            return set()
        self.watch.listen([kind], asked=lambda text, origin: origin in origins)
        self.passes(probe.item)
        return self.watch.breaches


@dataclass(slots=True)
class Removal:
    """How one filter goes: functions get other code, or strings lose a part."""

    code: list[tuple[FunctionType, CodeType]]
    strings: tuple[str, str] | None
    where: Callable[[Probe], bool]

    @classmethod
    def of(cls, one: Filter, functions: dict[tuple[str, str], list[FunctionType]]) -> "Removal":
        path = str(ROOT / one.path)
        text = one.without()
        if one.function:
            mine = functions.get((path, one.function), [])
            codes = {
                code.co_firstlineno: code
                for code in _codes(compile(text, path, "exec"))
                if code.co_qualname == one.function
            }
            code = [(function, codes[function.__code__.co_firstlineno]) for function in mine]
            return cls(code, None, lambda probe: (path, one.function) in probe.calls)
        old, new = _constant(path, one.line, text)
        pieces = re.split(r"\{\w*\}", old)  # it may be a template
        return cls([], (old, new), lambda probe: any(all(one in said for one in pieces) for said in probe.texts))

    def concerns(self, probe: Probe) -> bool:
        return self.where(probe)

    @contextmanager
    def done(self) -> Iterator[None]:
        before = [(function, function.__code__) for function, _ in self.code]
        for function, code in self.code:
            function.__code__ = code
        changed = list(_with_strings(*self.strings)) if self.strings else []
        try:
            yield
        finally:
            for function, code in before:
                function.__code__ = code
            for holder, place, value in changed:
                holder[place] = value


class _Nothing(pytest.Item):
    """A test that never runs."""

    def runtest(self) -> None:
        raise NotImplementedError


def _some(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of tests that differ in parameters alone, the first and the last."""
    alike: dict[str, list[pytest.Item]] = {}
    for item in items:
        alike.setdefault(item.nodeid.split("[")[0], []).append(item)
    return [item for ones in alike.values() for item in (ones if len(ones) < 3 else (ones[0], ones[-1]))]


def _functions() -> dict[tuple[str, str], list[FunctionType]]:
    """Every function of ours, by file and qualified name."""
    found: dict[tuple[str, str], list[FunctionType]] = {}
    gc.unfreeze()  # what the run has frozen is not listed
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(APPS):
            found.setdefault((thing.__code__.co_filename, thing.__code__.co_qualname), []).append(thing)
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _constant(path: str, line: int, text: str) -> tuple[str, str]:
    """The value of the module's constant that is made on this line, as it is and as the text makes it."""
    module = next(one for one in _ours() if one.__file__ == path)
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.lineno <= line <= (node.end_lineno or 0):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            assert isinstance(target, ast.Name)
            names = dict(vars(module))
            exec(compile(ast.Module([node], []), path, "exec"), names)  # noqa: S102
            old, new = vars(module)[target.id], names[target.id]
            assert isinstance(old, str)
            return old, new
    raise LookupError(f"{path}:{line} is in no constant")


def _with_strings(old: str, new: str) -> Iterator[tuple[Any, Any, Any]]:
    """Change each string of our modules, and of their lists, that holds the old one.  Yields what was where."""
    for module in _ours():
        for holder in (vars(module), *(value for value in vars(module).values() if isinstance(value, list))):
            for place, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
                if isinstance(value, str) and old in value:
                    holder[place] = value.replace(old, new)
                    yield holder, place, value


def _ours() -> list[Any]:
    return [one for one in list(sys.modules.values()) if (getattr(one, "__file__", None) or "").startswith(APPS)]


def _unwalled(rows: Any, scope: Any) -> Any:
    """The replacement of ``rows.within(scope)``: the same queryset, of all tenants."""
    if isinstance(rows, models.Manager):
        mine = rows.within(scope)  # type: ignore[attr-defined]
        return type(mine)(mine.model, using=mine._db)
    return rows.all()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201
