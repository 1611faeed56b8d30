"""Limit the number of documents that all processes of this host read at once."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings

from apps.adapters.documents.limits import RETRY_SECONDS, THREADS, WAIT_SECONDS
from apps.core.errors import Busy

LOOK_SECONDS: Final = 0.05

_threads = threading.BoundedSemaphore(THREADS)


class DocumentsBusy(Busy):
    """As many documents are being read as may be at once; send this one again in a while."""

    def __init__(self) -> None:
        super().__init__(retry_after=RETRY_SECONDS)


@contextmanager
def place() -> Iterator[int]:
    """Yield a file descriptor that holds one of DOCUMENT_READERS places.  Pass it to the reading process: the place is
    free again when both that process and this context have ended, however they end.

    Waits up to WAIT_SECONDS, with at most THREADS threads of this process.  Raises DocumentsBusy.
    """
    if not _threads.acquire(blocking=False):
        raise DocumentsBusy
    try:
        descriptor = _take()
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    finally:
        _threads.release()


def _take() -> int:
    folder = Path(settings.DOCUMENT_PLACES)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        for number in range(settings.DOCUMENT_READERS):
            descriptor = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # The lock belongs to the open file, so a child that inherits it holds it as long as it lives.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
            else:
                return descriptor
        if time.monotonic() >= deadline:
            raise DocumentsBusy
        time.sleep(LOOK_SECONDS)
