"""What a record says.  The rules are those of the API's bodies, and the API lends them (``connect``)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import orjson
from django.utils.module_loading import import_string

from apps.core.errors import Invalid
from apps.ingest.candidates import Proposal
from apps.transfers.imports.payload import PayloadLine

EXPORTED: Final = "extracted_type"  # what only an exported memory has; no caller may set it elsewhere


class ReferenceMissing(Invalid):
    """With resume, every record needs a client_ref."""

    code = "CLIENT_REF_REQUIRED"


class EndUserUnnamed(Invalid):
    """The record names no end user, and neither does the import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """One thing to remember, and for whom."""

    end_user: str
    proposal: Proposal


class Reader(Protocol):
    """Makes a Record of what was sent, or raises an Invalid whose message quotes none of it.

    end_user: of records that name none.  since: when the import began.
    """

    def __call__(self, raw: bytes, *, end_user: str | None, since: datetime) -> ImportRecord: ...


_paths: list[str] = []


def connect(path: str) -> None:
    """Once, when the API is ready.  path: of a Reader, which imports all of the API: it is imported when there is
    something to read, and most commands have nothing."""
    _paths[:] = [path]


def read_record(raw: bytes, *, end_user: str | None, since: datetime) -> ImportRecord:
    reader: Reader = import_string(_paths[0])
    return reader(raw, end_user=end_user, since=since)


def check_reference(line: PayloadLine) -> None:
    """Raises ReferenceMissing for a record without one.  What is no record at all is refused when it is read."""
    try:
        record = orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        return
    if isinstance(record, dict) and not record.get("client_ref") and EXPORTED not in record:
        raise ReferenceMissing(f"With resume, every record needs a client_ref: record {line.number} has none.")
