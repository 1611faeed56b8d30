"""What is found in a file: records to import, and items that are left out, each with its reason."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from text import patterns

MAX_CHARACTERS: Final = 100_000  # of a text; a longer one is a pasted document, no statement
IMPORTANCE: Final = 0.7  # of what the other product kept as a memory: it is kept here too
MAX_REFERENCE: Final = 128  # the server's limits
MAX_LABEL: Final = 256
LIST_MARK: Final = patterns.compile(r"^[-*•]\s+")
HEADING: Final = patterns.compile(r"#|\*\*[^*]+\*\*:?$|[-*_=\s]+$")


@dataclass(frozen=True, slots=True)
class ConvertedRecord:
    """fields: as an import takes them.  kind: what it was there, for the preview."""

    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SkippedItem:
    reason: str


Item = ConvertedRecord | SkippedItem


def record(
    product: str,
    kind: str,
    text: Any,
    *,
    id_: Any = None,
    at: Any = None,
    end_user: Any = None,
    session: Any = None,
    importance: float | None = None,
    tags: Any = (),
    metadata: Mapping[str, Any] | None = None,
) -> Item:
    """A record of a text, or why there is none.  Values of another type than documented are left out.

    at: seconds since 1970, or ISO 8601.  metadata: stored under the product's name, because some names mean something
    to the server.
    """
    if not isinstance(text, str) or not text.strip():
        return SkippedItem("no text")
    if len(text) > MAX_CHARACTERS:
        return SkippedItem(f"longer than {MAX_CHARACTERS:,} characters")
    moment = moment_of(at)
    fields: dict[str, Any] = {
        "text": text.strip(),
        "source": product,
        "client_ref": _reference(product, id_, text, moment),
    }
    if moment:
        fields["occurred_at"] = moment
    if label := label_of(end_user):
        fields["end_user_id"] = label
    if label := label_of(session):
        fields["session_id"] = label
    if importance is not None:
        fields["importance"] = importance
    if names := [label_of(name)[:64] for name in tags if label_of(name)] if isinstance(tags, list | tuple) else []:
        fields["tags"] = names[:64]
    if metadata and (known := {name: value for name, value in metadata.items() if value not in (None, "", [], {})}):
        fields["metadata"] = {product: known}
    return ConvertedRecord(kind, fields)


def lines_of_notes(text: Any) -> Iterator[str]:
    """The statements of a text in Markdown: its list items and paragraphs, without headings and marks."""
    if not isinstance(text, str):
        return
    for line in text[: 10 * MAX_CHARACTERS].splitlines():
        bare = LIST_MARK.sub("", line.strip())
        if bare and not HEADING.match(bare):
            yield bare


def label_of(value: Any) -> str:
    """The value as an ID; empty if it cannot be one."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    usable = isinstance(value, str) and value.strip() and len(value) <= MAX_LABEL and value.isprintable()
    return str(value) if usable else ""


def moment_of(value: Any) -> str:
    """A time in ISO 8601, in UTC; empty if the value is none."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC).isoformat()
        if isinstance(value, str) and len(value) <= 64:
            found = datetime.fromisoformat(value.strip())
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
    return ""


def _reference(product: str, id_: Any, text: str, moment: str) -> str:
    """The same for the same item, so that a repeated import stores it once."""
    reference = f"{product}:{label_of(id_)}"
    if label_of(id_) and len(reference) <= MAX_REFERENCE:
        return reference
    told = json.dumps([label_of(id_), text, moment]).encode()
    return f"{product}:{hashlib.sha256(told).hexdigest()}"
