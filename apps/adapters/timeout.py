"""Run a call with an overall time limit, which socket timeouts do not give."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")


def run_with_timeout(seconds: float, call: Callable[[float], Answer]) -> Answer:
    """Return ``call(deadline)``, or raise TimeoutError.  The deadline is a ``time.monotonic`` value.

    The call runs in its own thread, because DNS lookups and responses that arrive byte by byte evade socket timeouts.
    After a timeout the thread ends by itself soon after, and its result is discarded.
    """
    deadline = time.monotonic() + seconds
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(call(deadline))
        except BaseException as error:  # noqa: BLE001 -- it is raised in the thread that waits
            answer.set_exception(error)

    threading.Thread(target=run, name="bounded call", daemon=True).start()
    return answer.result(timeout=seconds)
