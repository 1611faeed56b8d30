"""Zep: lists of the graph's API (v2, v3): `edges` with their facts, `episodes` or `messages` of users, or one of these
lists alone; `facts` of earlier versions.

A fact that had ended there comes as replaced, with its times, so that it is found only for the time when it held.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memsync.importers.files import documents, elements
from memsync.importers.records import IMPORTANCE, ConvertedRecord, Item, SkippedItem, moment_of, record

PRODUCT: Final = "zep"


def read(file: io.BufferedReader) -> Iterator[Item]:
    for document in documents(file, "*.json"):
        for _, element in elements(document, "edges", "facts", "episodes", "messages"):
            yield _item(element)


def _item(element: Any) -> Item:
    if not isinstance(element, Mapping):
        return SkippedItem("not a fact or a message")
    if "fact" in element:
        return _fact(element)
    if "content" in element:
        return _message(element)
    return SkippedItem("a node: its facts are edges" if "summary" in element else "not a fact or a message")


def _fact(edge: Mapping[str, Any]) -> Item:
    begun = edge.get("valid_at") or edge.get("created_at")
    made = record(
        PRODUCT, "fact", edge.get("fact"), id_=edge.get("uuid"), at=begun, end_user=edge.get("user_id"),
        importance=IMPORTANCE, metadata={"relation": edge.get("name")},
    )  # fmt: skip
    ended = moment_of(edge.get("invalid_at") or edge.get("expired_at"))
    if not ended or isinstance(made, SkippedItem):
        return made
    past = {"extracted_type": "fact", "validity": "superseded", "valid_to": ended}
    fields = dict(made.fields)
    if started := fields.pop("occurred_at", ""):
        past["valid_from"] = started
    return ConvertedRecord("fact that had ended", fields | past)


def _message(message: Mapping[str, Any]) -> Item:
    role = str(message.get("role_type") or message.get("role") or "user").lower()
    if role not in ("user", "human") or message.get("source") == "json":
        return SkippedItem("not written by the user")
    return record(
        PRODUCT, "message", message.get("content"), id_=message.get("uuid"), at=message.get("created_at"),
        end_user=message.get("user_id"), session=message.get("session_id") or message.get("thread_id"),
    )  # fmt: skip
