"""Turn a candidate into a row: its content encrypted, its lookup values keyed."""

from datetime import datetime
from typing import Any

from apps.ingest.candidates import MemoryCandidate
from apps.ingest.imported import ImportedMemory
from apps.ingest.snapshot import SpaceSnapshot
from apps.ingest.speakers import speaker_key
from apps.memories.field_values import find_values
from apps.memories.lookup_keys import LookupValues, public_id
from apps.memories.models import Memory
from apps.memories.sealing import Readable, seal_into
from apps.memories.type_fields import fitting
from apps.memories.types import confidence


def encrypt(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> Memory:
    """The memory's row, not yet saved.  The candidate must have its id."""
    assert candidate.memory_id is not None  # noqa: S101  (``supersede`` gave it one)
    known = snapshot.by_id[candidate.memory_id]
    proposal, cipher, now = candidate.proposal, snapshot.cipher, snapshot.now
    prior = candidate.kind.prior
    handles = _handles(candidate, snapshot)
    row = Memory(
        id=known.id,
        tenant_id=snapshot.scope.tenant_id,
        space_id=snapshot.space.pk,
        project_id=snapshot.scope.project_id,
        environment=snapshot.scope.environment,
        public_id=candidate.public_id
        or public_id(
            cipher, candidate.type, candidate.key, candidate.text, handles, project_id=snapshot.scope.project_id
        ),
        created_at=now,
        updated_at=now,
        created_txid=snapshot.space.txid,
        changed_txid=snapshot.space.txid,
        type=candidate.type,
        slot=candidate.slot,
        value_mac=candidate.value_mac,
        text_mac=candidate.text_mac,
        source=proposal.source,
        pinned=proposal.pinned,
        source_kind=proposal.source_kind,
        event_type=proposal.event_type,
        from_assistant=candidate.from_assistant,
        validity=known.validity,
        superseded_by_id=known.superseded_by,
        superseded_at=None if known.is_current else now,
        superseded_reason=known.reason,
        outdated_by_id=known.outdated_by,
        expires_at=known.expires_at,
        source_strength=candidate.source_strength,
        repetition_count=1 + known.repetitions,
        extractor_confidence=candidate.extractor_confidence,
        type_prior=prior,
        confidence=confidence(
            source_strength=candidate.source_strength,
            repetition_count=1 + known.repetitions,
            extractor_confidence=candidate.extractor_confidence,
            prior=prior,
        ),
        importance=0.5 if proposal.importance is None else proposal.importance,
        event_at=candidate.event_at or proposal.occurred_at,
        event_precision=candidate.event_precision or ("exact" if proposal.occurred_at else ""),
        event_range=candidate.event_range,
        valid_from=known.periods.latest.start,
        valid_to=known.periods.latest.end,
    )
    if proposal.kept is not None:
        _keep(row, proposal.kept, is_vouched=proposal.is_vouched)
    seal_into(
        row,
        Readable(
            text=candidate.text,
            terms=candidate.terms,
            key=candidate.key,
            tags=proposal.tags,
            metadata=proposal.metadata,
            fields=_fields(candidate, said_at=row.valid_from or now),
            handles=handles,
            typed=proposal.typed,
        ),
        cipher,
    )
    return row


def _fields(candidate: MemoryCandidate, *, said_at: datetime) -> dict[str, Any]:
    """Values of the fields of its type: those that were given, or else those that the text has."""
    given = candidate.proposal.fields
    if given is None:
        given = find_values(candidate.fields, candidate.text.reveal(), now=said_at)
    return fitting(candidate.fields, given)


def _keep(row: Memory, kept: ImportedMemory, *, is_vouched: bool) -> None:
    """Copy the attributes of an imported memory.  It is pinned only if the import is vouched for."""
    row.tier, row.pinned, row.is_summary = kept.tier, kept.pinned and is_vouched, kept.is_summary
    row.retention_status = "archived" if kept.is_archived else "active"
    row.confidence = row.confidence if kept.confidence is None else kept.confidence
    row.event_at, row.event_precision = kept.event_at, kept.event_precision


def _handles(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> LookupValues:
    proposal = candidate.proposal
    # Each restatement of an accumulating type is a new row with its own public id.
    is_same = candidate.slot and proposal.deduplicate and not proposal.kept and not _is_restatement(candidate, snapshot)
    labels = proposal.typed.labels if proposal.typed else None
    return LookupValues(
        voice=speaker_key(proposal),
        actor=candidate.actor,
        session=proposal.session_id or None,
        value=candidate.value if candidate.slot else None,
        once="" if is_same else str(candidate.memory_id),
        typed=proposal.typed.type if proposal.typed else "",
        context=labels.context if labels else "",
        category=labels.category if labels else "",
        workspace=labels.workspace if labels else "",
        messages=labels.messages if labels else (),
    )


def _is_restatement(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> bool:
    """Whether an older row of the slot has the same value: then this one, with more words, is another memory."""
    assert candidate.slot is not None  # noqa: S101  (the caller looked)
    assert candidate.memory_id is not None  # noqa: S101  (``supersede`` gave it one)
    same = (known.id for known in snapshot.in_slot(candidate.slot) if known.value_mac == candidate.value_mac)
    return any(known_id < candidate.memory_id for known_id in same)
