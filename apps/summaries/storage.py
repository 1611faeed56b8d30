"""Writes summaries: rows, words, sources, edges, history and audit.  All under the space's lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher
from apps.edges.opened import NewEdge
from apps.edges.services import write_edges
from apps.memories import lineage, postings, revisions, validity
from apps.memories.indexing_mode import check_room
from apps.memories.lookup_keys import LookupValues, public_id, text_mac
from apps.memories.models import Memory, MemoryVector, Validity
from apps.memories.models.memory import CONTENT, SUMMARY
from apps.memories.revisions import FieldChange
from apps.memories.sealing import Readable, open_text, seal_into
from apps.memories.selectors import MemoryNotFound
from apps.memories.soft_delete import GRACE, soft_delete
from apps.memories.types import TYPES
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.summaries.models import Cluster
from text.terms import terms

TYPE: Final = "summary"
REFLECTION: Final = "reflection"
SESSION: Final = "session"  # the source of sessions' summaries
SUMMARIZE_SESSION: Final = "summarize_session"  # outbox kind; ``apps.ingest`` handles it
VOICE: Final = "summary"  # so that a user who states the same words does not repeat the summary
_MIDDLING: Final = 0.5  # importance and confidence of a summary that quotes no memory


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSummary:
    """A summary to be written.

    sources: the memories that it quotes; it may be read only while all of them may.  label: its source in the API.
    session_id: the session that it is of.  replaces: the summary that it supersedes.
    """

    text: str
    sources: Sequence[Memory]
    lossless: bool = False
    type: str = TYPE
    label: str = ""
    session_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    replaces: Memory | None = None


def inside(scope: Scope, space_id: int, project_id: int | None) -> Scope:
    """The system's scope, limited to this space.  Raises MemoryNotFound if the space is gone."""
    space = Space.objects.within(scope).filter(pk=space_id).first()
    if space is None:
        raise MemoryNotFound
    there = replace(scope, environment=Environment(space.environment), project_id=project_id)
    return there.in_spaces(space.ref)


def create(scope: Scope, space: Space, cipher: SpaceCipher, new: NewSummary, *, now: datetime) -> Memory:
    """Raises SpaceFull."""
    check_room(scope, space, 1)
    (memory_id,) = reserve_ids(1, sequence="memories_memory_id_seq")
    handles = LookupValues(voice=VOICE, once=str(memory_id))
    importances = [one.importance for one in new.sources] or [_MIDDLING]
    row = Memory(
        id=memory_id,
        tenant_id=scope.tenant_id,
        space_id=space.pk,
        project_id=scope.project_id,
        environment=scope.environment,
        public_id=public_id(cipher, new.type, None, Plaintext(new.text), handles, project_id=scope.project_id),
        created_at=now,
        updated_at=now,
        created_txid=space.txid + 1,
        type=new.type,
        source=new.label,
        is_summary=True,
        type_prior=TYPES[new.type].prior,
        importance=sum(importances) / len(importances),
        valid_from=now,
    )
    _fill(row, space, cipher, new)
    space.txid += 1
    space.doc_count += 1
    space.term_total += len(terms(new.text))
    space.save(update_fields=["txid", "doc_count", "term_total"])
    Memory.objects.bulk_create(scope, [row])
    if new.replaces is not None:
        _supersede(scope, space, cipher, new.replaces, row.pk, now=now)
    _index(scope, space, cipher, row, new, event="created", now=now)
    return row


def renew(scope: Scope, space: Space, cipher: SpaceCipher, row: Memory, new: NewSummary, *, now: datetime) -> None:
    """Rebuild the summary in place from its current sources.  Its former text is not kept."""
    space.txid += 1
    space.term_total += len(terms(new.text)) - len(terms(open_text(row, cipher).reveal()))
    space.save(update_fields=["txid", "term_total"])
    row.updated_at = row.last_used_at = now
    _fill(row, space, cipher, new)
    row.save()
    postings.remove(scope, [row.pk])
    MemoryVector.objects.within(scope).filter(memory_id=row.pk).delete()
    _index(scope, space, cipher, row, new, event="updated", now=now)


def retire(scope: Scope, space: Space, cipher: SpaceCipher, row: Memory, *, now: datetime) -> None:
    """Soft-delete a summary."""
    row.retention_status, row.deletion_method = "soft_deleted", "retention_policy"
    row.deleted_at, row.hard_delete_at, row.updated_at = now, now + GRACE, now
    row.save(update_fields=["retention_status", "deletion_method", "deleted_at", "hard_delete_at", "updated_at"])
    MemoryVector.objects.within(scope).filter(memory_id=row.pk).update(live=False)
    Cluster.objects.within(scope).filter(summary_id=row.pk).update(summary_id=None)
    revisions.write(scope, space, [FieldChange(memory_id=row.pk, event="soft_deleted")], cipher, now=now)
    _record(scope, AuditAction.MEMORY_SUMMARY_RETIRED, row, 1, now)


def withdraw(scope: Scope, space: Space, cipher: SpaceCipher, rows: Sequence[Memory], *, now: datetime) -> None:
    """Soft-delete summaries of sessions for good: they quote what was deleted, so they cannot be restored."""
    soft_delete(scope, space, rows, cipher, method="retention_policy", reason="", now=now)
    Memory.objects.within(scope).filter(pk__in=[row.pk for row in rows]).update(hard_delete_at=now)
    for row in rows:
        _record(scope, AuditAction.MEMORY_SUMMARY_RETIRED, row, 1, now)


def _supersede(
    scope: Scope, space: Space, cipher: SpaceCipher, row: Memory, successor_id: int, *, now: datetime
) -> None:
    periods = validity.read(scope, [row])[row.pk]
    periods.end_latest(now, now=now)
    periods.put_into(row)
    row.validity, row.superseded_by_id, row.superseded_at = Validity.SUPERSEDED, successor_id, now
    row.superseded_reason, row.updated_at, row.changed_txid = "newer", now, space.txid
    row.save(
        update_fields=[
            "validity", "superseded_by", "superseded_at", "superseded_reason", "updated_at", "changed_txid",
            "valid_from", "valid_to", "known_from",
        ]
    )  # fmt: skip
    validity.write(scope, space.pk, {row.pk: periods}, now=now)
    MemoryVector.objects.within(scope).filter(memory_id=row.pk).update(live=False)
    change = FieldChange(memory_id=row.pk, event="superseded", other_id=successor_id)
    revisions.write(scope, space, [change], cipher, now=now)


def _fill(row: Memory, space: Space, cipher: SpaceCipher, new: NewSummary) -> None:
    """Fill the columns that follow from the sources.  The summary expires with the first of them."""
    said = Plaintext(new.text)
    handles = LookupValues(voice=VOICE, once=str(row.pk), session=new.session_id)
    row.changed_txid = space.txid + 1
    row.text_mac = text_mac(cipher, said, voice=VOICE)
    row.confidence = min((one.confidence for one in new.sources), default=_MIDDLING)
    row.expires_at = min((one.expires_at for one in new.sources if one.expires_at), default=None)
    seal_into(row, Readable(text=said, handles=handles, metadata=new.metadata), cipher)
    row.summary_ct = cipher.seal(SUMMARY, row.pk, said)
    row.content_ct = cipher.seal(CONTENT, row.pk, orjson.dumps({"lossless": new.lossless}))


def _index(
    scope: Scope, space: Space, cipher: SpaceCipher, row: Memory, new: NewSummary, *, event: str, now: datetime
) -> None:
    """Index the words now and the vector later; write sources, edges, history and audit."""
    postings.write(scope, [postings.posting_of(row, terms(new.text), cipher)])
    enqueue(scope, "embed", [row.pk], now=now)
    ids = [one.pk for one in new.sources]
    lineage.write_sources(scope, space.pk, row.pk, ids)
    edges = [NewEdge(from_id=row.pk, to_id=one, type="summary_of", is_automatic=True) for one in ids]
    write_edges(scope, cipher, edges, now=now)
    replaced = new.replaces.pk if new.replaces is not None else None
    change = FieldChange(memory_id=row.pk, event=event, other_id=replaced)
    revisions.write(scope, space, [change], cipher, now=now)
    _record(scope, AuditAction.MEMORY_SUMMARIZE, row, len(ids), now)


def _record(scope: Scope, action: AuditAction, row: Memory, count: int, now: datetime) -> None:
    actor, target = scope.principal.label, f"memory:{row.pk}"
    record(scope, actor=actor, action=action, target=target, count=count, now=now)
