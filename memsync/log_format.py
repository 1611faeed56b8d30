"""Logs as JSON lines.  Only allow-listed fields leave the process, so that content cannot slip in as an extra."""

import json
import logging
import re
import traceback
from datetime import UTC, datetime

OURS = ("apps", "memsync", "text")  # a test checks that their messages are constant sentences
ALLOWED = (
    "request_id", "tenant", "environment", "route", "method", "status", "ms", "action", "job_id", "outbox_id", "kind",
    "kept", "refused", "count", "attempt", "error", "embedder", "backend", "path", "component", "pid", "seconds",
    "key_id", "permanent",
)  # fmt: skip
# A `%` placeholder: key, flags, width, precision, length and conversion.
FILLED = re.compile(r"%(?:\([^)]*\))?[-#0 +]*[\d*]*(?:\.[\d*]+)?[hlL]?([a-zA-Z%])")
LONGEST = 200  # characters per field


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message and the allowed extras.

    For an exception, its class and where it was raised; never its message, which may quote input.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        line.update({name: _value(getattr(record, name)) for name in ALLOWED if hasattr(record, name)})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["at"] = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(record.exc_info[2])[-6:]]
        return json.dumps(line)


def _message(record: logging.LogRecord) -> str:
    """Our own message in full; a library's as its template, with dots for the arguments, which may quote a request.

    A library's message without arguments may already be formatted, so only the place of the call is logged.
    """
    template = record.msg if isinstance(record.msg, str) else ""
    if record.name.split(".")[0] in OURS:
        return template
    if template and record.args:
        return FILLED.sub(_blank, template)
    return f"said in {record.module}, line {record.lineno}"


def _blank(found: re.Match[str]) -> str:
    return "%" if found[1] == "%" else "..."


def _value(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return value[:LONGEST] if isinstance(value, str) else f"<{type(value).__name__}>"
