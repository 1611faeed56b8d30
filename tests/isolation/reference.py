"""A reference model of the service: what a caller must see, and nothing else.  Plain Python, no database, no keys.

It knows every space of every tenant at once, so it can say of any id whose it is.  The machine compares each answer of
the real service with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

THINGS = (
    "The blue lamp stands in the hall.",
    "My grandmother planted a walnut orchard near Coimbra.",
    "Thursday choir rehearsals were moved to the old brewery.",
    "Our landlord repaired the leaking kitchen tap himself.",
    "A silver telescope waits for clear nights on the roof.",
    "The violin teacher prefers gut strings over steel ones.",
    "Seven chairs are missing from the conference room upstairs.",
)
# These take turns in one slot: a new one replaces the old one, and an old one that is said again comes back.
HOMES = ("I live in Tallinn.", "I live in Valparaiso.", "I live in Kumasi.")
# Refused by the gate, which says so and keeps nothing.
CHATTER = ("ok thanks!", "hello there")


@dataclass(frozen=True, slots=True)
class Place:
    """A space: one end user of one tenant in one environment."""

    tenant: str
    environment: str
    person: str


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a caller asks to have remembered."""

    text: str
    tags: tuple[str, ...] = ()
    session: str | None = None
    source: str = ""
    reference: str | None = None
    ttl_minutes: int | None = None
    deduplicate: bool = True

    @property
    def is_kept(self) -> bool:
        return self.text not in CHATTER


class Fate(Enum):
    """The outcome of an item."""

    STORED = "stored"
    REVIVED = "revived"
    MET = "met"
    REFUSED = "refused"


@dataclass(slots=True)
class Row:
    """A memory that was acknowledged."""

    id: int
    place: Place
    project: str
    item: Item
    expires_at: datetime | None
    is_current: bool = True
    is_swept: bool = False
    accesses: int = 0

    def exists(self, now: datetime) -> bool:
        return self.expires_at is None or self.expires_at > now

    def is_live(self, now: datetime) -> bool:
        return self.exists(now) and self.is_current


@dataclass(slots=True)
class Model:
    rows: dict[int, Row] = field(default_factory=dict)
    met: set[Place] = field(default_factory=set)
    references: dict[tuple[Place, str], list[int]] = field(default_factory=dict)
    changes: dict[Place, int] = field(default_factory=dict)

    # -- what is there -------------------------------------------------------------------------------------------------

    def existing(self, place: Place, project: str | None, now: datetime) -> list[Row]:
        """Readable by id.  project None: of any."""
        return [
            row
            for row in self.rows.values()
            if row.place == place and (project is None or row.project == project) and row.exists(now)
        ]

    def live(self, place: Place, project: str | None, now: datetime) -> list[Row]:
        """What recall may return."""
        return [row for row in self.existing(place, project, now) if row.is_current]

    def readable(self, row_id: int, place: Place, project: str | None, now: datetime) -> Row | None:
        return next((row for row in self.existing(place, project, now) if row.id == row_id), None)

    # -- what an item does ---------------------------------------------------------------------------------------------

    def begin(self, place: Place, project: str, items: Iterable[Item], now: datetime) -> None:
        """The writer exists from now on; and expired rows do not block any of these items."""
        self.met.add(place)
        self.changes[place] = self.changes.get(place, 0) + 1
        texts = {item.text for item in items}
        for row in self.rows.values():
            if row.place == place and row.project == project and row.item.text in texts and not row.exists(now):
                row.is_swept = True

    def fate(self, place: Place, project: str, item: Item, now: datetime) -> tuple[Fate, list[int]]:
        """The outcome of the item, and the ids of the rows that stand for it where it makes none of its own."""
        if not item.is_kept and (place, item.reference) not in self.references:
            return Fate.REFUSED, []
        if item.reference is not None and (ids := self.references.get((place, item.reference))):
            return Fate.MET, ids
        same = [row for row in self.existing(place, project, now) if row.item.text == item.text]
        current = [row for row in same if row.is_current]
        if item.deduplicate and current:
            return Fate.MET, [current[0].id]
        if item.text in HOMES and same and not current:
            return Fate.REVIVED, [same[-1].id]
        return Fate.STORED, []

    def apply(self, place: Place, project: str, item: Item, fate: Fate, ids: Sequence[int], now: datetime) -> None:
        """ids: of the rows stored or matched, as acknowledged."""
        if fate is Fate.REFUSED:
            return
        if fate is Fate.MET:
            for row_id in ids if item.reference is None or (place, item.reference) not in self.references else ():
                self._prolong(self.rows[row_id], item, now)
            return
        if item.text in HOMES:
            for row in self.existing(place, project, now):
                if row.item.text in HOMES:
                    row.is_current = False
        for row_id in ids:
            if fate is Fate.STORED:
                self.rows[row_id] = Row(row_id, place, project, item, end_of(item, now))
            else:
                self.rows[row_id].is_current = True
                self._prolong(self.rows[row_id], item, now)
        if item.reference is not None:
            self.references[place, item.reference] = list(ids)

    @staticmethod
    def _prolong(row: Row, item: Item, now: datetime) -> None:
        """Said once more, it stays for as long as either was to stay."""
        end = end_of(item, now)
        row.expires_at = None if row.expires_at is None or end is None else max(row.expires_at, end)


def end_of(item: Item, now: datetime) -> datetime | None:
    return now + timedelta(minutes=item.ttl_minutes) if item.ttl_minutes else None
