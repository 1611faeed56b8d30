"""Claude: Settings, Privacy, Export data: a ZIP with `conversations.json`, and `memories.json` since memory exists.

What the person wrote becomes records, and every statement of the memory.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memsync.importers.files import documents, elements
from memsync.importers.records import IMPORTANCE, Item, SkippedItem, lines_of_notes, record

PRODUCT: Final = "claude"
MEMORIES: Final = ("conversations_memory", "project_memories")


def read(file: io.BufferedReader) -> Iterator[Item]:
    for document in documents(file, "conversations.json", "conversations-*.json", "memories.json", "memories/*.json"):
        for name, element in elements(document, "conversations", members=MEMORIES):
            yield from _items({name: element} if name in MEMORIES else element)


def _items(element: Any) -> Iterator[Item]:
    if isinstance(element, Mapping) and isinstance(element.get("chat_messages"), list):
        yield from _messages(element)
    elif isinstance(element, Mapping) and any(name in element for name in MEMORIES):
        yield from _memories(element)
    else:
        yield SkippedItem("not a conversation")


def _messages(conversation: Mapping[str, Any]) -> Iterator[Item]:
    for message in conversation["chat_messages"]:
        if not isinstance(message, Mapping) or message.get("sender") != "human":
            yield SkippedItem("not written by the user")
            continue
        name = conversation.get("name")
        yield record(
            PRODUCT, "message", _text(message), id_=message.get("uuid"), at=message.get("created_at"),
            session=conversation.get("uuid"), metadata={"title": name[:200] if isinstance(name, str) else None},
        )  # fmt: skip


def _text(message: Mapping[str, Any]) -> str:
    """The text, or in newer exports the text blocks."""
    blocks = message.get("content")
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping) and block.get("type") == "text"] \
        if isinstance(blocks, list) else []  # fmt: skip
    joined = "\n".join(text for text in texts if isinstance(text, str))
    return joined if joined.strip() else str(message.get("text") or "")


def _memories(memory: Mapping[str, Any]) -> Iterator[Item]:
    for line in lines_of_notes(memory.get("conversations_memory")):
        yield record(PRODUCT, "memory", line, importance=IMPORTANCE, tags=["memory"])
    projects = memory.get("project_memories")
    for project, text in projects.items() if isinstance(projects, Mapping) else ():
        for line in lines_of_notes(text):
            yield record(PRODUCT, "memory of a project", line, id_=None, importance=IMPORTANCE, tags=["memory"],
                         metadata={"project": project})  # fmt: skip
