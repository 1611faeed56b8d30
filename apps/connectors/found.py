"""What readers of connectors return."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from apps.core.errors import Invalid
from apps.ingest.objects import GivenObject
from apps.sources.sealing import ObjectName


class SourceFailed(Exception):
    """The source cannot be read.  cause: a code, without content."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class SourceRefused(Invalid):
    """settings: this source is not allowed on this server"""

    code = "SOURCE_REFUSED"


class ObjectUnreadable(Exception):
    """This object cannot be read now; the others can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObject:
    """An object of a source.  read: returns it; raises ObjectUnreadable, SourceFailed.

    size: bytes that reading it takes.  version: names its content, so that an object of a known version need not be
    read; empty if the source names none.
    """

    name: ObjectName
    size: int
    read: Callable[[], GivenObject]
    version: str = ""

    @classmethod
    def already_read(cls, given: GivenObject) -> Self:
        return cls(name=given.name, size=len(given.content), read=lambda: given)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObjects:
    """objects: in a fixed order, found one by one.  is_complete: objects that are missing are gone.

    is_unchanged: the source says that nothing changed since the last run.  validators: for the next run.
    """

    objects: Iterator[FoundObject]
    is_complete: bool = False
    is_unchanged: bool = False
    validators: Mapping[str, str] = field(default_factory=dict)
