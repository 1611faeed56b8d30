"""A memory store of Strands: ``Agent(memory_manager=MemoryManager(stores=[MemsyncStrandsStore(Client("alice"))]))``."""

from typing import Final

from strands.memory.extraction.types import ExtractionConfig
from strands.memory.types import AddMessagesContext, MemoryEntry, MemoryStore, Metadata, SearchOptions
from strands.types.content import Message

from memsync_adapters.client import Client, Json, add_turn, find_memories

DESCRIPTION: Final = "What is known about the user: facts, preferences, events and instructions."


class MemsyncStrandsStore(MemoryStore):
    """The end user's memories.  What is added is read by memsync, which keeps what is worth remembering.

    extraction: as Strands takes it; True sends what the user says to memsync every few turns.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str = "memsync",
        description: str = DESCRIPTION,
        max_search_results: int = 5,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
    ) -> None:
        self.client, self.name, self.description = client, name, description
        self.max_search_results, self.writable = max_search_results, writable
        self.extraction = extraction

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        limit = (options or {}).get("max_search_results") or self.max_search_results
        found = await self.client.arun(find_memories(query, limit=limit))
        return [
            MemoryEntry(
                content=one["raw_text"],
                metadata=one["metadata"] | {name: one[name] for name in ("memory_id", "type", "score", "relevance")},
            )
            for one in found
        ]

    async def add(self, content: str, metadata: Metadata | None = None) -> Json:
        return await self.client.arun(add_turn(content, role="user", source="strands", metadata=dict(metadata or {})))

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Of other roles than the user's nothing is extracted."""
        for message in messages:
            text = "\n".join(block["text"] for block in message["content"] if "text" in block)
            if text.strip():
                await self.client.arun(add_turn(text, role=message["role"], source="strands"))
