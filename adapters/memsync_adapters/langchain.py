"""A LangChain retriever of memories, and a chat message history.

``MemsyncRetriever(client=Client("alice"))`` and ``MemsyncChatMessageHistory("s1", Client("alice"))``.
"""

from collections.abc import Sequence
from typing import Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from memsync_adapters.client import Client, History, Json, find_memories

ROLES: Final = {"human": "user", "ai": "assistant"}


class MemsyncRetriever(BaseRetriever):
    """The end user's memories that answer a query, best first.  k: at most so many."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client
    k: int = 5

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return [_document(one) for one in self.client.run(find_memories(query, limit=k or self.k))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return [_document(one) for one in await self.client.arun(find_memories(query, limit=k or self.k))]


def _document(memory: Json) -> Document:
    told = {name: memory[name] for name in ("memory_id", "type", "score", "relevance")}
    return Document(page_content=memory["raw_text"], id=memory["memory_id"], metadata=memory["metadata"] | told)


class MemsyncChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session, as turns of memsync's conversation history.

    extract: also extract memories from what the user says.
    """

    def __init__(self, session_id: str, client: Client, *, source: str = "langchain", extract: bool = False) -> None:
        self.client, self.history = client, History(session_id, source, extract)

    @property
    def messages(self) -> list[BaseMessage]:
        return _messages(self.client.run(self.history.turns()))

    async def aget_messages(self) -> list[BaseMessage]:
        return _messages(await self.client.arun(self.history.turns()))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.client.run(self.history.append([_turn(one) for one in messages]))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await self.client.arun(self.history.append([_turn(one) for one in messages]))

    def clear(self) -> None:
        self.client.run(self.history.clear())

    async def aclear(self) -> None:
        await self.client.arun(self.history.clear())


def _turn(message: BaseMessage) -> Json:
    role = ROLES.get(message.type, message.type)
    return {"role": role, "content": str(message.text), "payload": message_to_dict(message)}


def _messages(turns: Sequence[Json]) -> list[BaseMessage]:
    messages: list[BaseMessage] = messages_from_dict([turn["payload"] for turn in turns])
    return messages
