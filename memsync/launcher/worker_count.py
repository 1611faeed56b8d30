"""The number of worker processes, which `memsync up` and the workers read.  No Django."""

import os
from typing import Final

from memsync.launcher.embedded.errors import Misconfigured

MOST: Final = 64


def worker_processes() -> int:
    """WORKER_PROCESSES.  Raises Misconfigured."""
    text = os.environ.get("WORKER_PROCESSES") or "2"
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise Misconfigured(f"WORKER_PROCESSES is {text[:40]!r}; it is a whole number from 1 to {MOST}.")
    return int(text)
