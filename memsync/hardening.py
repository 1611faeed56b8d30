"""What holds for every process that sees keys or text: it leaves no core file, and its last words quote nothing."""

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
    """No core file, and no other process of the same account may read this one's memory or environment.

    To be said by each program itself: starting another program takes it back.  Children that are forked keep it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def serve_quietly() -> None:
    """For web server, worker and beat: uncaught exceptions are logged by class and place, as all others are.

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
