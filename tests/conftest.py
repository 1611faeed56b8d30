"""The cast: two tenants who must never see each other, and a time that stands still.

Tests that touch them say ``pytestmark = pytest.mark.django_db(databases="__all__")``: a tenant's keys live in a
database of their own.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from apps.apikeys import quota
from apps.apikeys.onboarding import OpenedTenant
from apps.crypto import key_cache
from apps.erasure import receipt_log
from apps.memories import integrity
from apps.recall import read_log
from tests import makers, running


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For ``tests.running.Up``: once in a run, however many workers it has."""
    directory = tmp_path_factory.getbasetemp()
    return running.prepare_home(directory.parent if "PYTEST_XDIST_WORKER" in os.environ else directory)


@pytest.fixture(autouse=True, scope="session")
def _static_root() -> None:
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # or whitenoise warns about it


@pytest.fixture
def now() -> datetime:
    return makers.NOW


@pytest.fixture
def acme() -> OpenedTenant:
    return makers.make_tenant("acme")


@pytest.fixture
def globex() -> OpenedTenant:
    return makers.make_tenant("globex")


@pytest.fixture
def no_answer_is_kept(settings: Any) -> None:
    """For rows that are changed behind the product's back, which raises no number of changes."""
    settings.RECALL_CACHE_SECONDS = 0


@pytest.fixture(autouse=True)
def _receipts_may_be_older_than_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module's time is that of its import; the key of receipts is made when the first test wants it, in a long run
    much later."""
    monkeypatch.setattr(receipt_log, "CLOCKS_DIFFER", timedelta(days=30))


@pytest.fixture(autouse=True)
def _no_thread_writes_behind_a_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Access counts and broken seals are written when a test says ``flush()``, not by a timer that may outlive it."""
    monkeypatch.setattr(read_log, "EVERY_SECONDS", 86_400.0)
    monkeypatch.setattr(read_log, "_waiting", {})
    monkeypatch.setattr(integrity, "EVERY_SECONDS", 86_400.0)
    yield
    integrity.forget_all()


@pytest.fixture(autouse=True)
def _no_count_outlives_a_test() -> Iterator[None]:
    """What took long to count on a busy machine is kept for a while, and the next test would see it."""
    yield
    cache.clear()


@pytest.fixture(autouse=True)
def _no_quota_outlives_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process knows a tenant's for a second, and the tests of a module may share the tenant."""
    monkeypatch.setattr(quota, "_modes", {})


@pytest.fixture(autouse=True)
def _no_key_outlives_a_test() -> Iterator[None]:
    """Rows of keys are rolled back with the test; a process that still held them would use keys that never were."""
    yield
    key_cache.forget_all()


SLOWEST = 100
FEW = 5
LONG = {"e2e", "browser"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first, so that no worker has one of them left while the others are done."""
    files = {item.path for item in items if LONG & {mark.name for mark in item.iter_markers()}}
    items.sort(key=lambda item: item.path not in files)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Keep the slowest files and steps in build/durations.txt, and print the first above pytest's closing line."""
    reports = [one for every in terminalreporter.stats.values() for one in every if isinstance(one, pytest.TestReport)]
    slowest = sorted(reports, key=lambda one: one.duration, reverse=True)[:SLOWEST]
    if not slowest:
        return
    lines = [f"{one.duration:8.2f} s  {one.when:8}  {one.nodeid}" for one in slowest]
    kept = config.rootpath / "build" / "durations.txt"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("\n".join([*_slowest_files(reports), "", *lines]) + "\n")
    terminalreporter.section(f"slowest of {len(reports)} steps; more in {kept.relative_to(config.rootpath)}")
    for line in lines[:FEW]:
        terminalreporter.write_line(line)


def _slowest_files(reports: Sequence[pytest.TestReport]) -> list[str]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for one in reports:
        seconds[one.nodeid.partition("::")[0]] += one.duration
    slowest = sorted(seconds.items(), key=lambda one: -one[1])[:SLOWEST]
    return [f"{took:8.2f} s  {name}" for name, took in slowest]
