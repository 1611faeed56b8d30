"""Which log messages a client wants: a modern one says so in each call, an older one with ``logging/setLevel``."""

from typing import Any, Final

from apps.api.mcp import client_state
from apps.api.mcp.protocol import INVALID_PARAMS, INVALID_REQUEST, RpcError
from apps.api.mcp.session import ToolSession

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
DEFAULT: Final = "info"  # of an older client that has set none


def set_level(session: ToolSession) -> None:
    level = session.call.params.get("level")
    if level not in LEVELS:
        raise RpcError(INVALID_PARAMS, f"level is one of: {', '.join(LEVELS)}.")
    if not session.call.session_id:
        raise RpcError(INVALID_REQUEST, "Begin with initialize, and send the session's header.")
    client_state.put(session.view, session.call.session_id, {"level": level})


def is_wanted(session: ToolSession, level: str) -> bool:
    least: Any = session.call.log_level
    if not session.call.is_modern:
        stored = client_state.find(session.view, session.call.session_id) if session.call.session_id else None
        least = (stored or {}).get("level", DEFAULT)
    return least in LEVELS and LEVELS.index(level) >= LEVELS.index(least)
