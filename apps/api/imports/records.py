"""Records of an import, validated like the API's request bodies."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson
from rest_framework import serializers

from apps.api.collection_fields import FieldValues, FilledLabels, Metadata, Tags
from apps.api.errors import invalid
from apps.api.fields import Choice, Flag, Fraction, Label, Moment, Text
from apps.api.input_serializers import Input
from apps.api.memory.add import RememberInput, proposal
from apps.api.memory.export import ExportedOutput, ExportedRelationOutput
from apps.api.parsers import parse
from apps.api.platform.memories import MOST_ASSETS, MOST_MESSAGES, AssetInput
from apps.api.profiles.fields import Content
from apps.api.v1.history_fields import Entries
from apps.core.errors import DomainError, Invalid
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.imported import ImportedMemory, KeptEdge
from apps.memories.typed import PlatformLabels, TypedMemory, typed_name
from apps.transfers.exports.formats import COLUMNS
from apps.transfers.imports.records import EXPORTED, EndUserUnnamed, ImportRecord

TIERS: Final = ("hot", "warm", "cold")
PRECISIONS: Final = ("exact", "day", "week", "month", "approximate", "unknown")


class ExportedEdgeInput(Input):
    """A relation as an export writes it; without references its ends cannot be known here."""

    passed_over = tuple(ExportedRelationOutput().fields)

    from_ref = Label(required=False, max_length=128)
    to_ref = Label(required=False, max_length=128)
    relationship_type = Label(max_length=32)
    confidence = Fraction(default=1.0)
    metadata = Metadata(required=False)
    automatic = Flag(default=False)


class ExportedPlatformInput(Input):
    """Labels of a memory of an agent platform."""

    category = Label()
    workspace = Label(required=False, max_length=256)
    context = Label(required=False, max_length=1_024)  # type: ignore[assignment]  # the wire's name, not DRF's
    messages = FilledLabels(required=False, max_items=MOST_MESSAGES, max_length=256)


class PlatformContentInput(Input):
    """The content of a memory of an agent platform."""

    value = Text()
    summary = Text(required=False)
    category = Label()
    tags = Tags(required=False)
    created_at = Moment()
    expires_at = Moment(required=False)
    messages = FilledLabels(required=False, max_items=MOST_MESSAGES, max_length=256)
    assets = Entries(child=AssetInput(), required=False, max_length=MOST_ASSETS)


class ExportedInput(Input):
    """A memory as ``GET /memory/export``, or a file of ``/exports``, has it.

    What depends on ids, owner and index is rebuilt.
    """

    passed_over = (*ExportedOutput().get_fields(), *COLUMNS)

    text = Text()
    extracted_type = Label(max_length=32)
    extracted_key = Label(required=False, max_length=256)
    extracted_value = Text(required=False)
    summary = Text(required=False)
    content = Content(required=False)
    keywords = Text(required=False)
    platform = ExportedPlatformInput(required=False)
    source = Label(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    event_type = Label(required=False)
    tags = Tags(required=False)
    importance = Fraction(default=0.5)
    metadata = Metadata(required=False)
    fields = FieldValues(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    is_summary = Flag(default=False)
    pinned = Flag(default=False)
    tier = Choice(choices=TIERS, default="hot")
    validity = Choice(choices=("current", "superseded", "disputed"), default="current")
    retention_status = Choice(choices=("active", "archived"), default="active")
    quality_score = Fraction(required=False)
    event_at = Moment(required=False)
    event_precision = Choice(choices=PRECISIONS, required=False)
    valid_from = Moment(required=False)
    valid_to = Moment(required=False)
    expires_at = Moment(required=False)
    namespace = Label(required=False, max_length=256)
    end_user_id = Label(required=False, max_length=256)
    client_ref = Label(required=False, max_length=128)
    session_id = Label(required=False, max_length=256)
    speaker = Label(required=False, max_length=256)
    edges = ExportedEdgeInput(many=True, required=False)


def read_record(raw: bytes, *, end_user: str | None, since: datetime) -> ImportRecord:
    """Parse one record.  Raises an Invalid whose message names the field and quotes no content, or TooLarge for its
    metadata."""
    try:
        record = parse(raw)
    except DomainError as refusal:
        raise Invalid(refusal.message.replace("The body", "The record")) from None
    is_exported = EXPORTED in record
    try:
        fields: Mapping[str, Any] = (ExportedInput if is_exported else RememberInput).check(record)
        made = _exported(fields, record, since=since) if is_exported else proposal(fields, deduplicate=True)
    except serializers.ValidationError as found:
        raise invalid(found) from found
    whose = fields.get("end_user_id", end_user)
    if whose is None or not whose.strip():
        raise EndUserUnnamed
    return ImportRecord(end_user=whose, namespace=fields.get("namespace"), proposal=made)


def _typed(fields: Mapping[str, Any]) -> TypedMemory | None:
    """The typed memory that was exported; None if it was of another kind."""
    if "content" not in fields:
        return None
    labels = fields.get("platform")
    if labels is not None:
        PlatformContentInput.check(orjson.loads(fields["content"]))
    return TypedMemory(
        type=typed_name(fields["extracted_type"]),
        summary=Plaintext(fields.get("summary", fields["text"])),
        content=Plaintext(fields["content"]),
        topic_key=fields.get("extracted_key"),
        keywords=Plaintext(fields["keywords"]) if "keywords" in fields else None,
        labels=PlatformLabels(**labels) if labels is not None else None,
    )


def _exported(fields: Mapping[str, Any], record: Mapping[str, Any], *, since: datetime) -> Proposal:
    is_superseded = fields["validity"] == "superseded"
    return Proposal(
        text=Plaintext(fields["text"]),
        source=fields.get("source", ""),
        source_kind="import",
        event_type=fields.get("event_type", ""),
        tags=fields.get("tags", ()),
        importance=fields["importance"],
        metadata=fields.get("metadata", {}),
        client_ref=fields.get("client_ref") or _reference(record),
        session_id=fields.get("session_id"),
        speaker=fields.get("speaker"),
        fields=fields.get("fields", {}),
        typed=_typed(fields),
        kept=ImportedMemory(
            type=fields["extracted_type"],
            key=fields.get("extracted_key"),
            value=fields.get("extracted_value"),
            since=since,
            is_current=not is_superseded,
            # Exports write replaced memories as archived.
            is_archived=fields["retention_status"] == "archived" and not is_superseded,
            is_summary=fields["is_summary"],
            pinned=fields["pinned"],
            tier=fields["tier"],
            confidence=fields.get("quality_score"),
            event_at=fields.get("event_at"),
            event_precision=fields.get("event_precision", ""),
            valid_from=fields.get("valid_from"),
            valid_to=fields.get("valid_to"),
            expires_at=fields.get("expires_at"),
            edges=[_edge(edge) for edge in fields.get("edges", ()) if "from_ref" in edge and "to_ref" in edge],
        ),
    )


def _edge(fields: Mapping[str, Any]) -> KeptEdge:
    return KeptEdge(
        from_ref=fields["from_ref"],
        to_ref=fields["to_ref"],
        type=fields["relationship_type"],
        confidence=fields["confidence"],
        metadata=fields.get("metadata", {}),
        is_automatic=fields["automatic"],
    )


def _reference(record: Mapping[str, Any]) -> str:
    """Reference of an exported memory that has none, so that importing the same export again stores it once.

    The hash covers id and time, which distinguish memories with the same text, and the text, because ids of different
    servers may collide.
    """
    told = orjson.dumps([record.get(name) for name in ("id", "created_at", "text")])
    return f"exported:{hashlib.sha256(told).hexdigest()}"
