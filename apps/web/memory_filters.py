"""Filters of the memory list, as its URL carries them: labels and days, no text from a user."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Self

from django.utils.http import urlencode

from apps.console.memory_list import MemoryFilter
from apps.core.errors import Malformed
from apps.core.plaintext import Plaintext
from apps.memories.status import MemoryStatus
from apps.retention.memory_selection import MemorySelection

LONGEST: Final = 64
FIRST_DAY: Final = date(1970, 1, 1)
LAST_DAY: Final = date(9000, 12, 31)
SEALED_AT_MOST: Final = 1_000


class FilterRefused(Malformed):
    """A filter is not understood: days are written as 2026-11-22, and labels have at most 64 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilters:
    """since, until: days, both inclusive.  project: public id; empty for every project.  hidden: an encrypted tag and
    session (``memory_list.hide``).  as_of: select what held at the end of that day.  before: the id at which the page
    begins."""

    standing: MemoryStatus = MemoryStatus.CURRENT
    type: str = ""
    source: str = ""
    since: date | None = None
    until: date | None = None
    project: str = ""
    hidden: str = ""
    as_of: date | None = None
    before: int | None = None

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """Raises FilterRefused."""
        try:
            return cls(
                standing=MemoryStatus(given.get("status") or MemoryStatus.CURRENT),
                type=_label(given.get("type")),
                source=_label(given.get("source")),
                since=_day(given.get("since")),
                until=_day(given.get("until")),
                project=_label(given.get("project")),
                hidden=_label(given.get("with"), longest=SEALED_AT_MOST),
                as_of=_day(given.get("as_of")),
                before=_id(given.get("before")),
            )
        except ValueError:
            raise FilterRefused from None

    @property
    def query(self) -> str:
        """Query string of the filters, without the page."""
        return urlencode(self.fields)

    @property
    def fields(self) -> dict[str, str]:
        said = {
            "status": self.standing.value,
            "type": self.type,
            "source": self.source,
            "since": self.since.isoformat() if self.since else "",
            "until": self.until.isoformat() if self.until else "",
            "project": self.project,
            "with": self.hidden,
            "as_of": self.as_of.isoformat() if self.as_of else "",
        }
        return {name: value for name, value in said.items() if value}

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter other than the status is set."""
        return bool(self.type or self.source or self.since or self.until or self.project or self.hidden or self.as_of)

    @property
    def can_be_deleted(self) -> bool:
        """Whether a ``MemorySelection`` can express these filters."""
        return not self.hidden and self.as_of is None and self.standing != MemoryStatus.DELETED

    def memory_filter(self, *, tag: str = "", session: str = "") -> MemoryFilter:
        """tag, session: the values encrypted in ``hidden``."""
        return MemoryFilter(
            standing=self.standing,
            type=self.type,
            source=self.source,
            after=self._after,
            before=self._before,
            tag=Plaintext(tag) if tag else None,
            session=Plaintext(session) if session else None,
            as_of=end_of(self.as_of) if self.as_of else None,
        )

    @property
    def choice(self) -> MemorySelection:
        """The same filters as a selection of memories to delete."""
        return MemorySelection(
            type=self.type or None,
            source=self.source or None,
            after=self._after,
            before=self._before,
            standing=self.standing.value,
        )

    @property
    def _after(self) -> datetime | None:
        # "after" is exclusive, while the given day is inclusive from its midnight on.
        return midnight(self.since) - timedelta(microseconds=1) if self.since else None

    @property
    def _before(self) -> datetime | None:
        return midnight(self.until + timedelta(days=1)) if self.until else None


def midnight(day: date) -> datetime:
    """The start of the day in UTC."""
    return datetime.combine(day, time(), UTC)


def end_of(day: date) -> datetime:
    """The last microsecond of the day."""
    return midnight(day + timedelta(days=1)) - timedelta(microseconds=1)


def day_of(text: str | None) -> date | None:
    """Raises FilterRefused."""
    try:
        return _day(text)
    except ValueError:
        raise FilterRefused from None


def id_of(text: str | None) -> int | None:
    """Raises FilterRefused."""
    try:
        return _id(text)
    except ValueError:
        raise FilterRefused from None


def _id(text: str | None) -> int | None:
    if not text:
        return None
    number = int(text)
    if not 0 < number < 2**63:
        raise ValueError
    return number


def _label(text: str | None, *, longest: int = LONGEST) -> str:
    text = (text or "").strip()
    if len(text) > longest or not text.isprintable():
        raise ValueError
    return text


def _day(text: str | None) -> date | None:
    if not text:
        return None
    day = date.fromisoformat(text)
    if not FIRST_DAY <= day <= LAST_DAY:
        raise ValueError
    return day
