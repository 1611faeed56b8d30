"""Logs as JSON lines.  Only allow-listed fields leave the process, so that content cannot slip in as an extra."""

import json
import logging
import traceback
from datetime import UTC, datetime

ALLOWED = (
    "request_id", "tenant", "environment", "route", "method", "status", "ms", "action", "job_id", "outbox_id", "kind",
    "kept", "refused", "count", "attempt", "error", "embedder", "backend", "path", "component", "pid", "seconds",
    "key_id", "permanent",
)  # fmt: skip


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, the allowed extras, and for an exception its class and
    where it was raised.  Never its text: exception messages may quote input."""

    def format(self, record: logging.LogRecord) -> str:
        # The message is formatted only when its arguments are plain numbers or short labels of our own code.
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({name: getattr(record, name) for name in ALLOWED if hasattr(record, name)})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["at"] = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(record.exc_info[2])[-6:]]
        return json.dumps(line, default=lambda value: f"<{type(value).__name__}>")
