"""What an import of a file would add, counted without a server."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memsync.importers.records import ConvertedRecord, Item

MAX_END_USERS = 100_000  # that are counted one by one


@dataclass(slots=True, kw_only=True)
class ImportPreview:
    """end_users: records by end user; "" for those that name none."""

    samples: int
    records: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    end_users: Counter[str] = field(default_factory=Counter)
    first: str = ""
    last: str = ""
    shown: list[Mapping[str, Any]] = field(default_factory=list)

    def count(self, item: Item) -> None:
        if not isinstance(item, ConvertedRecord):
            self.skipped[item.reason] += 1
            return
        self.records += 1
        self.kinds[item.kind] += 1
        named = item.fields.get("end_user_id")
        owner = named if isinstance(named, str) else ""
        if owner in self.end_users or len(self.end_users) < MAX_END_USERS:
            self.end_users[owner] += 1
        at = item.fields.get("occurred_at") or item.fields.get("valid_from")
        if isinstance(at, str):
            self.first, self.last = min(self.first or at, at), max(self.last, at)
        if len(self.shown) < self.samples:
            self.shown.append(item.fields)

    def body(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "kinds": dict(self.kinds),
            "skipped": dict(self.skipped),
            "end_users": dict(self.end_users),
            "first": self.first or None,
            "last": self.last or None,
            "samples": self.shown,
        }


def preview(items: Iterable[Item], *, samples: int) -> ImportPreview:
    found = ImportPreview(samples=samples)
    for item in items:
        found.count(item)
    return found
