"""supermemory: the answer of `/v3/documents/list` with `includeContent` (`memories`), or of the lists of memory
entries (`memoryEntries`, `results`).

A container is a space of its own there, so a document with one container tag goes to the end user of that name.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memsync.importers.files import documents, elements
from memsync.importers.records import IMPORTANCE, Item, SkippedItem, record

PRODUCT: Final = "supermemory"


def read(file: io.BufferedReader) -> Iterator[Item]:
    for document in documents(file, "*.json"):
        for _, element in elements(document, "memories", "memoryEntries", "results", "documents"):
            yield _item(element)


def _item(element: Any) -> Item:
    if not isinstance(element, Mapping):
        return SkippedItem("not a memory")
    if element.get("isForgotten") is True:
        return SkippedItem("forgotten there")
    if element.get("isLatest") is False:
        return SkippedItem("replaced by a newer version there")
    if element.get("status") in ("failed", "queued", "extracting", "chunking", "embedding", "indexing"):
        return SkippedItem("not processed there")
    is_entry = "memory" in element
    # Of a page or a file, the content is an address or raw text; the summary says what it is about.
    is_text = element.get("type") in (None, "text")
    text = element.get("memory") if is_entry else element.get("content") if is_text else element.get("summary")
    containers = element.get("containerTags") or ([element["containerTag"]] if element.get("containerTag") else [])
    one = containers[0] if isinstance(containers, list) and len(containers) == 1 else None
    return record(
        PRODUCT, "memory" if is_entry else "document", text or element.get("summary"), id_=element.get("id"),
        at=element.get("updatedAt") or element.get("createdAt"), end_user=one, importance=IMPORTANCE,
        tags=containers if one is None else (),
        metadata={name: element.get(name) for name in ("customId", "title", "url", "metadata")},
    )  # fmt: skip
