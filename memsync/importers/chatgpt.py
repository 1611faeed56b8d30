"""ChatGPT: Settings, Data controls, Export data: a ZIP with `conversations.json`, or `conversations-000.json` and on.

A conversation is a tree of messages, because a message may be edited and an answer repeated; `current_node` is the end
of the branch that was seen last.  What the user wrote on it becomes records.  Saved memories are not a file of the
export; the newest list of them that a conversation was given (`model_set_context`) is read instead.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memsync.importers.files import documents, elements
from memsync.importers.records import IMPORTANCE, Item, SkippedItem, record
from text import patterns

PRODUCT: Final = "chatgpt"
SAVED: Final = patterns.compile(r"^\d+\. \[(\d{4}-\d{2}-\d{2})\]\.? (.+)$")


def read(file: io.BufferedReader) -> Iterator[Item]:
    newest: tuple[float, str] = (0.0, "")
    for document in documents(file, "conversations.json", "conversations-*.json"):
        for _, conversation in elements(document, "conversations"):
            if not isinstance(conversation, Mapping) or not isinstance(conversation.get("mapping"), Mapping):
                yield SkippedItem("not a conversation")
                continue
            newest = max(newest, _saved_memories(conversation["mapping"]))
            yield from _messages(conversation)
    for line in newest[1].splitlines():
        if found := SAVED.match(line):
            yield record(PRODUCT, "saved memory", found[2], at=found[1], importance=IMPORTANCE, tags=["saved memory"])


def _messages(conversation: Mapping[str, Any]) -> Iterator[Item]:
    mapping: Mapping[str, Any] = conversation["mapping"]
    branch = _branch(mapping, conversation.get("current_node"))
    id_ = conversation.get("conversation_id") or conversation.get("id")
    for name, node in mapping.items():
        message = node.get("message") if isinstance(node, Mapping) else None
        if not isinstance(message, Mapping):
            continue
        author, content = message.get("author"), message.get("content")
        role = author.get("role") if isinstance(author, Mapping) else None
        if role != "user":
            yield SkippedItem("not written by the user")
        elif branch and name not in branch:
            yield SkippedItem("replaced by an edit")
        elif not isinstance(content, Mapping) or content.get("content_type") not in ("text", "multimodal_text"):
            yield SkippedItem("no text")
        elif _is_hidden(message):
            yield SkippedItem("custom instructions")
        else:
            parts = content.get("parts")
            text = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
            title = conversation.get("title")
            yield record(
                PRODUCT, "message", text, id_=message.get("id") or name, at=message.get("create_time"), session=id_,
                metadata={"title": title[:200] if isinstance(title, str) else None},
            )  # fmt: skip


def _branch(mapping: Mapping[str, Any], end: Any) -> set[str]:
    """The nodes from the end to the root; empty if the end is unknown."""
    met: set[str] = set()
    while isinstance(end, str) and end not in met and isinstance(node := mapping.get(end), Mapping):
        met.add(end)
        end = node.get("parent")
    return met


def _is_hidden(message: Mapping[str, Any]) -> bool:
    metadata = message.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation") is True


def _saved_memories(mapping: Mapping[str, Any]) -> tuple[float, str]:
    """When a conversation was given the list of saved memories, and the list."""
    newest: tuple[float, str] = (0.0, "")
    for node in mapping.values():
        message = node.get("message") if isinstance(node, Mapping) else None
        content = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(message, Mapping) or not isinstance(content, Mapping):
            continue
        text, at = content.get("model_set_context"), message.get("create_time")
        if isinstance(text, str) and text.strip():
            newest = max(newest, (float(at) if isinstance(at, int | float) else 0.0, text))
    return newest
