"""What takes too long in a worker: told so by its own work, or by the clock, and killed from outside if it is deaf."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from memsync import time_limits
from memsync.launcher import workers
from memsync.time_limits import Deadlines, limited


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deadlines]:
    deadlines = Deadlines(2)
    monkeypatch.setattr(time_limits, "_mine", (deadlines, 1))
    yield deadlines
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def work_for(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_work_of_its_own_ends_it(watched: Deadlines) -> None:
    with pytest.raises(SoftTimeLimitExceeded), limited(0.1, 60):
        work_for(30)


def test_waiting_is_no_work(watched: Deadlines) -> None:
    begun = time.monotonic()
    with limited(0.1, 60):
        time.sleep(0.4)

    assert time.monotonic() - begun >= 0.4


def test_clock_ends_what_only_waits_before_it_is_killed(watched: Deadlines) -> None:
    with pytest.raises(SoftTimeLimitExceeded), limited(0.1, time_limits.LAST_CALL + 0.3):
        time.sleep(30)

    assert (watched[0], watched[1]) == (0.0, 0.0)


def test_a_limit_within_a_limit_is_none(watched: Deadlines) -> None:
    with limited(5, 60):
        deadline = watched[1]
        with limited(0.01, 1):
            work_for(0.1)
        assert watched[1] == deadline


def test_nothing_is_limited_where_nobody_watches() -> None:
    worked = time.process_time()
    with limited(0.01, 0.02):
        work_for(0.1)

    assert time.process_time() - worked >= 0.1


def deaf(seconds: float) -> None:
    """Goes on whatever it is told, as what catches every exception does."""
    with limited(0.05, seconds):
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(60)


def test_what_is_deaf_is_killed_and_started_again_and_one_that_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def fork(queue: str, deadlines: Deadlines, place: int) -> int:
        pid = os.fork()
        if pid:
            begun.append(queue)
            if len(begun) == 5:
                os.kill(os.getpid(), signal.SIGTERM)
            return pid
        for sign in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sign, signal.SIG_DFL)
        time_limits.watch(deadlines, place)
        if queue == "deaf":
            deaf(0.2)
        os._exit(1)

    monkeypatch.setattr(workers, "_fork", fork)
    monkeypatch.setattr(workers, "PAUSE_SECONDS", 0.2)
    before = [signal.getsignal(sign) for sign in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert workers._keep_running(["deaf", "ends"]) == 0
    finally:
        for sign, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(sign, handler)
    assert {queue: begun.count(queue) >= 2 for queue in ("deaf", "ends")} == {"deaf": True, "ends": True}
