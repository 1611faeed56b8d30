"""Hardening of every process that handles keys or text: no core files, and no exception text in its output."""

import ctypes
import logging
import resource
import sys
import threading
from types import TracebackType
from typing import Any, Final

PR_SET_DUMPABLE: Final = 4

logger = logging.getLogger(__name__)


def keep_out_of_dumps() -> None:
    """Disable core files, and keep other processes of this account from reading this one's memory or environment.

    Each program must call it, because exec() resets it; forked children keep it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def serve_quietly() -> None:
    """Log uncaught exceptions by class and place, in web server, worker and beat.

    Python's own hooks print the exception's text on stderr, and `logging` prints the arguments of a message that it
    cannot format.
    """
    keep_out_of_dumps()
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    sys.excepthook = _note
    sys.unraisablehook = lambda said: _note(said.exc_type, said.exc_value, said.exc_traceback)
    threading.excepthook = lambda said: _note(said.exc_type, said.exc_value, said.exc_traceback)


def _note(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> Any:
    if not issubclass(kind, KeyboardInterrupt | SystemExit):
        logger.critical("nobody caught an exception", exc_info=(kind, error or kind(), trace))
