"""mem0: the answer of `get_all` of the platform (`results`, or a list in v1) or of the open-source package, or the
`memories` of an export with a schema of one's own."""

import io
from collections.abc import Iterator, Mapping
from typing import Final

from memsync.importers.files import documents, elements
from memsync.importers.records import IMPORTANCE, Item, SkippedItem, record

PRODUCT: Final = "mem0"
KEPT: Final = ("agent_id", "app_id", "metadata", "structured_attributes")


def read(file: io.BufferedReader) -> Iterator[Item]:
    for document in documents(file, "*.json"):
        for _, memory in elements(document, "results", "memories"):
            if not isinstance(memory, Mapping):
                yield SkippedItem("not a memory")
                continue
            yield record(
                PRODUCT, "memory", memory.get("memory") or memory.get("text") or memory.get("content"),
                id_=memory.get("id"),
                at=memory.get("updated_at") or memory.get("created_at"),  # an update replaces the text
                end_user=memory.get("user_id"), session=memory.get("run_id"), importance=IMPORTANCE,
                tags=memory.get("categories") or (), metadata={name: memory.get(name) for name in KEPT},
            )  # fmt: skip
