"""How many recalls of one process compute at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apps.adapters.embedders.fake import FakeEmbedder
from apps.adapters.per_process import PerProcess
from apps.recall import concurrency
from apps.recall.concurrency import computing


@pytest.fixture(params=[1, 2])
def most(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    settings.RECALL_CONCURRENCY = request.param
    monkeypatch.setattr(concurrency, "_free", PerProcess(concurrency._slots))
    return int(request.param)


@contextmanager
def others(number: int) -> Iterator[threading.Event]:
    """Other threads compute until the block ends.  Yields whether one more computes."""
    begun, ended, one_more = threading.Barrier(number + 1), threading.Event(), threading.Event()

    def compute() -> None:
        with computing():
            begun.wait(10)
            ended.wait(10)

    def compute_too() -> None:
        with computing():
            one_more.set()

    threads = [threading.Thread(target=compute) for _ in range(number)]
    for thread in threads:
        thread.start()
    begun.wait(10)
    threads.append(threading.Thread(target=compute_too))
    threads[-1].start()
    try:
        yield one_more
    finally:
        ended.set()
        for thread in threads:
            thread.join(10)


def test_one_more_waits_for_its_turn(most: int) -> None:
    with others(most) as one_more:
        assert not one_more.wait(0.2)
    assert one_more.is_set()


def test_fewer_do_not_wait(most: int) -> None:
    with others(most - 1) as one_more:
        assert one_more.wait(10)


def test_waiting_for_other_machines_is_no_computing(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEmbedder, "is_local", False)

    with others(most) as one_more:
        assert one_more.wait(10)


def test_a_failure_gives_the_turn_back(most: int) -> None:
    for _ in range(most + 1):
        with pytest.raises(ValueError, match="broken"), computing():
            raise ValueError("broken")
