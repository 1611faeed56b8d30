"""Lock file of a directory: one process at a time holds it, and others can look up which.

`memsync up` holds the lock of its home, and the embedded server that of its own directory.
"""

import fcntl
import os
from pathlib import Path
from typing import IO

from memsync.launcher.embedded.errors import AlreadyRunning


def lock(path: Path) -> IO[str]:
    """Lock path for this process; the lock is released however the process ends.  Raises AlreadyRunning."""
    handle = path.open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.seek(0)
        owner = handle.read().strip() or "unknown"
        handle.close()
        raise AlreadyRunning(
            f"Another memsync (process {owner}) uses {path.parent}: `memsync down` stops it."
        ) from error
    handle.truncate(0)
    handle.write(str(os.getpid()))
    handle.flush()
    return handle


def holder(home: Path) -> int | None:
    """The pid of the process that holds the home's lock, or None."""
    try:
        with (home / "lock").open() as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(handle.read() or 0) or None
    except (FileNotFoundError, ValueError):
        pass
    return None
