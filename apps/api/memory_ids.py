"""IDs of memories as strings, ``m_12``: of the routes under /v1 and of tools."""

from typing import Any, Final

ID: Final[dict[str, Any]] = {"type": "string", "pattern": "^m_[1-9][0-9]{0,18}$", "description": "Such as m_12."}


def memory_id(id_: str) -> int:
    return int(id_.removeprefix("m_"))


def public_id(memory_id: int) -> str:
    return f"m_{memory_id}"
