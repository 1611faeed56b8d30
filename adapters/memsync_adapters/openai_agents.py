"""A session of the OpenAI Agents SDK: ``Runner.run(agent, "Hi", session=MemsyncSession("s1", Client("alice")))``."""

from typing import Any

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from memsync_adapters.client import Client, History, Json, Steps


class MemsyncSession(SessionABC):
    """The items of a session, as turns of memsync's conversation history.

    extract: also extract memories from what the user says.
    """

    def __init__(
        self,
        session_id: str,
        client: Client,
        *,
        source: str = "openai-agents",
        extract: bool = False,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id, self.client = session_id, client
        self.history = History(session_id, source, extract)
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        limit = resolve_session_limit(limit, self.session_settings)
        if limit is not None and limit <= 0:
            return []
        return [turn["payload"] for turn in await self.client.arun(self.history.turns(limit or 0))]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        await self.client.arun(self.history.append([_turn(dict(item)) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        return await self.client.arun(self._pop())

    async def clear_session(self) -> None:
        await self.client.arun(self.history.clear())

    def _pop(self) -> Steps[TResponseInputItem | None]:
        """Of two callers at once, the one that deletes the turn gets it."""
        while turns := (yield from self.history.turns(1)):
            if (yield from self.history.delete([turns[0]["id"]])):
                item: TResponseInputItem = turns[0]["payload"]
                return item
        return None


def _turn(item: Json) -> Json:
    """The item itself is the payload; role and content are for memsync's readers and extraction."""
    role = item.get("role") or ("tool" if str(item.get("type", "")).endswith("_output") else "assistant")
    return {"role": role, "content": _text(item.get("content", item.get("output"))), "payload": item}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
