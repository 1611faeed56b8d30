"""The fields of a record.  The API's request bodies define the rules, and the API provides the reader (``connect``)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import orjson
from django.utils.module_loading import import_string

from apps.core.errors import Invalid
from apps.ingest.candidates import Proposal
from apps.memories.tenant_types import Registry
from apps.memories.type_fields import check_values
from apps.transfers.imports.payload import PayloadLine

EXPORTED: Final = "extracted_type"  # only exported memories have it; callers cannot set it elsewhere


class ReferenceMissing(Invalid):
    """With resume, every record needs a client_ref."""

    code = "CLIENT_REF_REQUIRED"


class ImportedTypeUnknown(Invalid):
    """extracted_type: no type of this tenant; `memsync types add` or `POST /v1/types` adds one."""


class EndUserUnnamed(Invalid):
    """The record names no end user, and neither does the import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """One proposal, and its end user, in a namespace, if one is given."""

    end_user: str
    namespace: str | None = None
    proposal: Proposal


class Reader(Protocol):
    """Turns raw bytes into an ImportRecord, or raises an Invalid whose message does not quote them.

    end_user: default for records that name none.  since: when the import began.
    """

    def __call__(self, raw: bytes, *, end_user: str | None, since: datetime) -> ImportRecord: ...


_paths: list[str] = []


def connect(path: str) -> None:
    """Register the Reader; called once, when the API is ready.  path: dotted path of the Reader.  It is imported on
    first use, because it imports the whole API and most commands do not need it."""
    _paths[:] = [path]


def read_record(raw: bytes, *, end_user: str | None, since: datetime) -> ImportRecord:
    reader: Reader = import_string(_paths[0])
    return reader(raw, end_user=end_user, since=since)


def check_type(proposal: Proposal, types: Registry) -> None:
    """Raises ImportedTypeUnknown, BadFieldValues.  Other proposals than exported memories name no type."""
    if proposal.kept is None:
        return
    if proposal.kept.type not in types:
        raise ImportedTypeUnknown
    check_values(types.fields(proposal.kept.type), proposal.fields or {})


def check_reference(line: PayloadLine) -> None:
    """Raises ReferenceMissing for a record without a ``client_ref``.  Invalid records are refused later, when they are
    read."""
    try:
        record = orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        return
    if isinstance(record, dict) and not record.get("client_ref") and EXPORTED not in record:
        raise ReferenceMissing(f"With resume, every record needs a client_ref: record {line.number} has none.")
