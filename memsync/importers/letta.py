"""Letta: an agent file (`.af`): `blocks`, and the `messages` of its `agents`; an agent of the API or of older files:
`memory.blocks` or `core_memory`; or a list of passages of the archival memory, which agent files do not contain."""

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memsync.importers.files import documents, elements
from memsync.importers.records import IMPORTANCE, Item, SkippedItem, lines_of_notes, record

PRODUCT: Final = "letta"
LISTS: Final = ("blocks", "memory.blocks", "core_memory", "agents", "messages", "passages")


def read(file: io.BufferedReader) -> Iterator[Item]:
    for document in documents(file, "*.af", "*.json"):
        for name, element in elements(document, *LISTS):
            yield from _items(name, element)


def _items(name: str, element: Any) -> Iterator[Item]:
    if not isinstance(element, Mapping):
        yield SkippedItem("not a block, a message or a passage")
    elif name == "agents" or isinstance(element.get("messages"), list):
        for message in element.get("messages") or ():
            yield _message(message)
    elif "value" in element:
        yield from _block(element)
    elif "role" in element:
        yield _message(element)
    else:
        yield record(
            PRODUCT, "passage", element.get("text"), id_=element.get("id"), at=element.get("created_at"),
            importance=IMPORTANCE, tags=element.get("tags") or (),
        )  # fmt: skip


def _block(block: Mapping[str, Any]) -> Iterator[Item]:
    label = block.get("label")
    if label == "persona":
        yield SkippedItem("the block persona: it describes the agent")
        return
    for line in lines_of_notes(block.get("value")):
        yield record(PRODUCT, "line of a block", line, at=block.get("created_at"), importance=IMPORTANCE,
                     metadata={"block": label if isinstance(label, str) else None})  # fmt: skip


def _message(message: Any) -> Item:
    if not isinstance(message, Mapping) or message.get("role") != "user":
        return SkippedItem("not written by the user")
    content = message.get("content") or message.get("text")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    text = _unwrapped(content)
    if text is None:
        return SkippedItem("an event, written by no one")
    return record(PRODUCT, "message", text, id_=message.get("id"), at=message.get("created_at"))


def _unwrapped(content: Any) -> Any:
    """The user's text, which the server wraps in JSON; None for an event, such as a heartbeat."""
    if not isinstance(content, str) or not content.startswith("{"):
        return content
    try:
        event = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(event, dict) or "type" not in event:
        return content
    return event.get("message") if event["type"] == "user_message" else None
