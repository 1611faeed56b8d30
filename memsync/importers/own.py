"""memsync: an export of an end user, an array of records, or a record on each line.  The server checks the records."""

import io
import json
from collections.abc import Iterator
from typing import Any

from memsync.importers.files import MAX_ELEMENT, FileUnreadable, JsonDocument, documents, elements
from memsync.importers.records import ConvertedRecord, Item, SkippedItem


def read(file: io.BufferedReader) -> Iterator[Item]:
    for document in documents(file, "*.json", "*.jsonl"):
        found = _lines(document) if _is_lines(file, document) else (one for _, one in elements(document, "memories"))
        for element in found:
            if not isinstance(element, dict):
                yield SkippedItem("not an object")
            else:
                yield ConvertedRecord("memory" if "extracted_type" in element else "record", element)


def _is_lines(file: io.BufferedReader, document: JsonDocument) -> bool:
    """Whether the first line is an object by itself."""
    if document.name:
        return document.name.endswith(".jsonl")
    at = file.tell()
    first = file.readline(MAX_ELEMENT).strip()
    file.seek(at)
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "memories" not in value


def _lines(document: JsonDocument) -> Iterator[Any]:
    number = 0
    while line := document.stream.readline(MAX_ELEMENT):
        number += 1
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            raise FileUnreadable(f"line {number} is no valid JSON") from None
