"""Bounding a call that no socket's timeout bounds."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")


def run_with_timeout(seconds: float, call: Callable[[float], Answer]) -> Answer:
    """What ``call`` answers, or TimeoutError.  call: is given its deadline, by ``time.monotonic``.

    In a thread of its own: looking up a name, and an answer that drips byte by byte, both escape a socket's timeout.
    What was begun ends by itself soon after, and is forgotten.
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
