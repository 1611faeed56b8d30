"""The only step that writes: rows, postings, vectors, entities, edges, decisions, history, audit and outbox."""

from collections.abc import Sequence
from functools import partial as bound

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.prepared_sql import insert, pipelined
from apps.core.sequences import reserve_ids
from apps.edges.opened import NewEdge
from apps.edges.services import write_edges
from apps.entities.resolving import resolve as resolve_entities
from apps.ingest import models
from apps.ingest.candidates import MADE, STORED, MemoryCandidate
from apps.ingest.memory_state import ClaimState, MemoryState
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.queries import execute_change
from apps.ingest.session_summaries import note_memories
from apps.ingest.snapshot import SpaceSnapshot
from apps.ingest.steps.encrypt import encrypt
from apps.ingest.steps.entities import said_of
from apps.ingest.steps.review_gate import write_waiting
from apps.memories import claims, end_parts, postings, validity
from apps.memories.claims import PartOfMemory
from apps.memories.embedding import vector_row
from apps.memories.ended_parts import MemoryPart
from apps.memories.indexing_mode import check_room
from apps.memories.models import Memory, MemoryClaim, MemoryTransition, MemoryVector
from apps.memories.sealing import open_memory
from apps.memories.services import renew
from apps.memories.spaces import write_counts
from apps.memories.types import confidence
from apps.outbox.services import enqueue
from apps.summaries import clusters
from text.extraction.reasons import Reason


def index(
    batch: Sequence[Sequence[MemoryCandidate]],
    edges: Sequence[NewEdge],
    snapshot: SpaceSnapshot,
    tools: PipelineContext,
) -> None:
    """Write the decided batch, in the transaction that locked the snapshot.  batch: each proposal's candidates."""
    candidates = [candidate for one in batch for candidate in one]
    new = [one for one in candidates if one.memory_id in snapshot.by_id and snapshot.by_id[one.memory_id].is_new
           and one.decision in MADE]  # fmt: skip
    changed = [known for known in snapshot.by_id.values() if not known.is_new and known.has_changed]
    if new:
        check_room(snapshot.scope, snapshot.space, len(new))
    if new or changed:
        snapshot.space.txid += 1
        snapshot.space.doc_count += len(new)
        snapshot.space.term_total += sum(len(one.terms) for one in new)
    ended = [known for known in snapshot.by_id.values() if known.ended and known.is_current]
    # The unique index of one current row per slot is checked at every statement: close old rows before inserting new
    # ones, and close a holder before reviving an earlier one.
    with pipelined():
        for known in sorted(changed, key=lambda known: known.validity == "current"):
            _write_change(known, snapshot)
        _write_claims([part for known in snapshot.by_id.values() for part in known.parts if part.has_changed], snapshot)
        if new or changed:
            write_counts(snapshot.scope, snapshot.space)
        without_vector = _write_new(new, edges, snapshot, tools)
        every = {known.id: known.periods for known in snapshot.by_id.values() if known.periods.has_changed}
        validity.write(snapshot.scope, snapshot.space.pk, every, now=snapshot.now)
        revived = [known.id for known in changed if known.is_current and not known.was_current]
        if waiting := without_vector + _out_of_date(revived, snapshot):
            enqueue(snapshot.scope, "embed", waiting, now=tools.now)
        # A near duplicate is not counted as a repetition, but renews the memory.
        if nearly := {one.memory_id for one in candidates if one.reason == Reason.NEAR_DUPLICATE and one.memory_id}:
            renew(snapshot.scope, nearly, now=snapshot.now)
        _write_history(new, changed, snapshot)
        write_waiting(snapshot.waiting, snapshot)
        _write_decisions(batch, snapshot)
        record(
            snapshot.scope,
            actor=snapshot.scope.principal.label,
            action=AuditAction.MEMORY_ADD,
            target=f"space:{snapshot.space.pk}",
            count=len(new),
            now=tools.now,
        )
    if ended:
        for known in ended:
            _end_parts(known, snapshot)
        write_counts(snapshot.scope, snapshot.space)


def _end_parts(known: MemoryState, snapshot: SpaceSnapshot) -> None:
    """Remove the ended words from a memory that otherwise stays valid."""
    row = Memory.objects.within_tenant(snapshot.scope).get(pk=known.id)
    made = [
        MemoryPart(
            start=one.start, end=one.end, ended_at=one.at, known_from=snapshot.now, by=one.by, claim_id=one.claim_id
        )
        for one in known.ended
    ]  # fmt: skip
    end_parts.end_parts(snapshot.scope, snapshot.space, row, made, snapshot.cipher, now=snapshot.now)


def _write_claims(changed: Sequence[ClaimState], snapshot: SpaceSnapshot) -> None:
    """Update stored claims that this batch changed."""
    for part in changed:
        if part.claim_id is not None:
            MemoryClaim.objects.within(snapshot.scope).filter(pk=part.claim_id).update(
                validity=part.validity,
                valid_to=part.periods.latest.end,
                known_from=snapshot.now,
                superseded_by_id=part.superseded_by,
            )


def _write_new(
    new: Sequence[MemoryCandidate], edges: Sequence[NewEdge], snapshot: SpaceSnapshot, tools: PipelineContext
) -> list[int]:
    """Insert new memories and everything that belongs to them; return the ids of those without a vector."""
    rows = [encrypt(one, snapshot) for one in new]
    vectors = [
        None
        if one.vector is None
        else vector_row(row, one.vector, snapshot.cipher, one.embedder(tools.embedder.id), tools.now)
        for one, row in zip(new, rows, strict=True)
    ]
    insert(rows)
    postings.write(
        snapshot.scope,
        [postings.posting_of(row, one.terms, snapshot.cipher) for one, row in zip(new, rows, strict=True)],
    )
    insert(vector for vector in vectors if vector is not None)
    said = {row.pk: one.claim for one, row in zip(new, rows, strict=True)}
    claims.write(
        snapshot.scope,
        snapshot.space.pk,
        {memory_id: claim for memory_id, claim in said.items() if claim is not None},
        snapshot.claim_ids,
        snapshot.cipher,
        now=snapshot.now,
    )
    _write_parts(new, snapshot)
    about = [one for one in map(said_of, new) if one is not None]
    resolve_entities(snapshot.scope, snapshot.space.pk, snapshot.cipher, about, now=snapshot.now)
    if edges:
        write_edges(snapshot.scope, snapshot.cipher, edges, new=set(said), now=tools.now)
    _join_clusters(new, snapshot, tools)
    latest = {one.proposal.session_id: one.memory_id or 0 for one in new if one.proposal.session_id}
    note_memories(snapshot.scope, latest, snapshot.cipher, now=snapshot.now)
    for one, row, vector in zip(new, rows, vectors, strict=True):
        row._state.fields_cache["vector"] = vector
        one.opened = bound(open_memory, row, snapshot.cipher, snapshot.ref, tools.lifetimes)
    return [row.pk for one, row in zip(new, rows, strict=True) if one.vector is None and one.embeds]


def _write_parts(new: Sequence[MemoryCandidate], snapshot: SpaceSnapshot) -> None:
    """Insert the claims of new memories that have several."""
    made = [
        (part, said, said.claim)
        for one in new
        for part, said in zip(snapshot.by_id[one.memory_id or 0].parts, one.parts, strict=True)
    ]
    wanted = [(part, said, claim) for part, said, claim in made if claim is not None]
    ids = claims.write_parts(
        snapshot.scope,
        snapshot.space.pk,
        [
            PartOfMemory(
                memory_id=part.id, claim=claim, key=said.key, value=said.value, start=part.start, end=part.end,
                slot=part.slot, value_mac=part.value_mac, validity=part.validity,
                valid_from=part.periods.latest.start, valid_to=part.periods.latest.end,
                superseded_by_id=part.superseded_by,
            )
            for part, said, claim in wanted
        ],
        snapshot.cipher,
        now=snapshot.now,
    )  # fmt: skip
    for (part, _, _), claim_id in zip(wanted, ids, strict=True):
        part.claim_id = claim_id


def _join_clusters(new: Sequence[MemoryCandidate], snapshot: SpaceSnapshot, tools: PipelineContext) -> None:
    topics = {
        one.memory_id: topic
        for one in new
        if one.memory_id is not None
        and (topic := clusters.topic_of(one.kind, one.key, one.proposal.tags, many_valued=one.many_valued))
    }
    if topics:
        clusters.join(snapshot.scope, snapshot.space, snapshot.cipher, topics, settles=tools.settles, now=snapshot.now)


def _out_of_date(revived: list[int], snapshot: SpaceSnapshot) -> list[int]:
    """Revived memories without a vector of the current embedder: a refresh skips superseded memories."""
    if not revived:
        return []
    vectors = MemoryVector.objects.within(snapshot.scope).filter(memory_id__in=revived, embedder=snapshot.embedder)
    return sorted(set(revived) - set(vectors.values_list("memory_id", flat=True)))


def _write_change(known: MemoryState, snapshot: SpaceSnapshot) -> None:
    """Update a stored row that this batch repeated, extended, superseded or revived."""
    row = known.row
    assert row is not None  # noqa: S101  (it was read)
    row.repetition_count += known.repetitions
    row.confidence = confidence(
        source_strength=row.source_strength,
        repetition_count=row.repetition_count,
        extractor_confidence=row.extractor_confidence,
        prior=row.type_prior,
    )
    row.expires_at, row.outdated_by_id = known.expires_at, known.outdated_by
    if known.repetitions:
        row.last_used_at = snapshot.now
    if known.validity != known.was:
        row.validity = known.validity
        row.superseded_at = None if known.is_current else snapshot.now
    if known.validity != known.was or known.periods.has_changed:
        known.periods.put_into(row)
        row.superseded_by_id, row.superseded_reason = known.superseded_by, known.reason
        row.changed_txid, row.updated_at = snapshot.space.txid, snapshot.now
    execute_change(snapshot.scope, row)


def _write_history(new: Sequence[MemoryCandidate], changed: Sequence[MemoryState], snapshot: SpaceSnapshot) -> None:
    def transition(memory_id: int, event: str, other_id: int | None) -> MemoryTransition:
        return MemoryTransition(
            tenant_id=snapshot.scope.tenant_id,
            memory_id=memory_id,
            space_id=snapshot.space.pk,
            txid=snapshot.space.txid,
            event=event,
            actor=snapshot.scope.principal.label,
            other_id=other_id,
            created_at=snapshot.now,
        )

    rows = [transition(one.memory_id, "created", one.replaces_id) for one in new if one.memory_id is not None]
    # Includes new rows that a later candidate of the same batch replaced.
    rows += [
        transition(known.id, "superseded", known.superseded_by)
        for known in snapshot.by_id.values()
        if not known.is_current and (known.is_new or known.was_current)
    ]
    rows += [transition(known.id, "revived", None) for known in changed if known.is_current and not known.was_current]
    rows += [
        transition(known.id, "disputed", None)
        for known in snapshot.by_id.values()
        if known.validity == "disputed" and (known.is_new or known.was == "current")
    ]
    # Rows whose validity is unchanged but whose periods or successor are corrected.
    rows += [
        transition(known.id, "corrected", known.superseded_by)
        for known in changed
        if known.periods.has_changed and known.validity == known.was
    ]
    insert(rows)


def _write_decisions(batch: Sequence[Sequence[MemoryCandidate]], snapshot: SpaceSnapshot) -> None:
    """Insert a row per candidate, with a keyed digest and no text, and a receipt per client reference that stored."""
    insert(
        models.Candidate(
            tenant_id=snapshot.scope.tenant_id,
            space_id=snapshot.space.pk,
            decision=one.decision,
            reason=one.reason,
            type=one.type if one.decision in STORED else "",
            memory_id=one.memory_id,
            digest=one.text_mac,
            extractor=one.extractor,
            fallback=one.proposal.reading.fallback if one.proposal.reading else "",
            tokens_in=one.spent.tokens_in if one.spent else None,
            tokens_out=one.spent.tokens_out if one.spent else None,
            cost_micros=one.spent.cost_micros if one.spent else None,
            created_at=snapshot.now,
        )
        for candidates in batch
        for one in candidates
    )
    ids = reserve_ids(len(snapshot.new_receipts), sequence="ingest_ingestreceipt_id_seq")
    insert(
        models.IngestReceipt(
            id=receipt_id,
            tenant_id=snapshot.scope.tenant_id,
            space_id=snapshot.space.pk,
            client_ref_mac=reference,
            client_ref_ct=snapshot.cipher.seal(models.CLIENT_REF, receipt_id, client_ref.encode()),
            key_version=snapshot.cipher.key_version,
            memory_ids=snapshot.receipts[reference],
            created_at=snapshot.now,
        )
        for receipt_id, (reference, client_ref) in zip(ids, sorted(snapshot.new_receipts.items()), strict=True)
    )
