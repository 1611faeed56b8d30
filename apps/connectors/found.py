"""What readers of connectors return."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apps.core.errors import Invalid
from apps.ingest.objects import GivenObject


class SourceFailed(Exception):
    """The source cannot be read.  cause: a code, without content."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class SourceRefused(Invalid):
    """settings: this source is not allowed on this server"""

    code = "SOURCE_REFUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObjects:
    """objects: in a fixed order, read one by one.  is_complete: objects that are missing are gone.

    is_unchanged: the source says that nothing changed since the last run.  validators: for the next run.
    """

    objects: Iterator[GivenObject]
    is_complete: bool = False
    is_unchanged: bool = False
    validators: Mapping[str, str] = field(default_factory=dict)
