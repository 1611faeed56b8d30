"""Summarizes memories: on request, and in the background as a cluster grows.

A summary is itself a memory, encrypted and found like any other, made of its sources' sentences without a model.  It
never outlives them: see ``apps.memories.lineage``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded
from apps.edges.opened import NewEdge
from apps.edges.services import write_edges
from apps.memories import integrity, lineage, postings, revisions
from apps.memories.indexing_mode import SpaceFull, check_room
from apps.memories.lookup_keys import LookupValues, public_id, text_mac
from apps.memories.models import Memory, MemoryVector
from apps.memories.models.memory import CONTENT, SUMMARY
from apps.memories.revisions import FieldChange
from apps.memories.sealing import Readable, open_text, seal_into
from apps.memories.selectors import MemoryNotFound
from apps.memories.soft_delete import GRACE
from apps.memories.spaces import lock_space
from apps.memories.types import TYPES
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.summaries.clusters import ENOUGH, MOST_IDS, clusters_behind
from apps.summaries.models import Cluster, ClusterMember
from text.summary import summary_of
from text.terms import terms

TYPE: Final = "summary"
VOICE: Final = "summary"  # so that a user who states the same words does not repeat the summary
LONGEST_WHOLE: Final = 8_000  # characters of sources; up to this, a cluster's summary is lossless


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized:
    """memory_id: the summary; None if there was nothing to summarize.  is_new: false if it existed already."""

    memory_id: int | None
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    row: Memory
    text: str


def summarize(scope: Scope, memory_ids: Sequence[int], *, lossless: bool, now: datetime) -> Summarized:
    """Summarize these memories of the scope's one space; a summary among them stands for its own sources.

    Superseded and archived memories are left out.  Nothing is made if the summary would be no shorter than a single
    source; the same sources give the same summary again.  Raises MemoryNotFound, SpaceFull.
    """
    if not scope.spaces:
        raise MemoryNotFound
    with tenant_transaction(scope):
        space, cipher = _lock(scope)
        rows = _wanted(scope, memory_ids, now)
        sources = [_Source(row=row, text=open_text(row, cipher).reveal()) for row in rows]
        text = summary_of([one.text for one in sources], lossless=lossless)
        if not sources or (len(sources) == 1 and len(text) >= len(sources[0].text.strip())):
            return Summarized(memory_id=None)
        before = _made_from(scope, [row.pk for row in rows], now)
        for row in before:
            if open_text(row, cipher).reveal() == text:
                return Summarized(memory_id=row.pk)
        row = _create(scope, space, cipher, sources, text, lossless=lossless, now=now)
        return Summarized(memory_id=row.pk, is_new=True)


def tend_clusters(scope: Scope, cluster_ids: Sequence[int], *, now: datetime) -> None:
    """Update the summaries of these clusters: create them, rebuild them in place, or remove them.

    Inside the tenant's transaction.  Running it twice changes nothing the second time.
    """
    for cluster in Cluster.objects.within(scope).filter(pk__in=list(cluster_ids)).order_by("space_id", "pk"):
        try:
            _tend_cluster(scope, cluster, now)
        except (MemoryNotFound, SpaceFull):
            continue  # the space was shredded meanwhile, or is sealed and full


def tend_summaries(scope: Scope, summary_ids: Sequence[int], *, now: datetime) -> None:
    """Rebuild these summaries without the sources they lost, or remove them if fewer than three sources remain.

    Inside the tenant's transaction.
    """
    rows = Memory.objects.within_tenant(scope).filter(pk__in=list(summary_ids), is_summary=True)
    for memory_id, space_id in rows.order_by("space_id", "pk").values_list("pk", "space_id"):
        cluster = Cluster.objects.within(scope).filter(summary_id=memory_id).first()
        try:
            if cluster is not None:
                _tend_cluster(scope, cluster, now)
            else:
                _tend_summary(scope, space_id, memory_id, now)
        except MemoryNotFound:
            continue


def ask_for_work(scope: Scope, *, limit: int = 500, now: datetime) -> None:
    """Queue what writes did not: summaries that lost a source, and clusters that grew or were never summarized."""
    with tenant_transaction(scope):
        enqueue(scope, "resummarize", lineage.stale_summaries(scope, limit=limit), now=now)
        enqueue(scope, "summarize", clusters_behind(scope, limit=limit, now=now), now=now)


# --- sources --------------------------------------------------------------------------------------------------------


def _wanted(scope: Scope, memory_ids: Sequence[int], now: datetime) -> list[Memory]:
    """The live memories to summarize, oldest first.  Raises MemoryNotFound."""
    wanted = set(memory_ids)
    if not all(0 < memory_id < 2**63 for memory_id in wanted):
        raise MemoryNotFound
    rows = list(Memory.objects.within(scope).existing(now).filter(pk__in=wanted))
    if len(rows) < len(wanted):
        raise MemoryNotFound
    own = lineage.sources_among(scope, [row.pk for row in rows if row.is_summary])
    plain = {row.pk for row in rows if not row.is_summary} | {one for sources in own.values() for one in sources}
    live = Memory.objects.within(scope).live(now).filter(pk__in=plain, is_summary=False)
    return list(live.order_by("pk"))


def _made_from(scope: Scope, source_ids: Sequence[int], now: datetime) -> list[Memory]:
    """The live summaries made from exactly these."""
    rows = list(
        Memory.objects.within(scope)
        .live(now)
        .filter(is_summary=True, pk__in=lineage.summaries_of(scope, source_ids))
        .order_by("pk")
    )
    made = lineage.sources_among(scope, [row.pk for row in rows])
    return [row for row in rows if made.get(row.pk) == sorted(source_ids)]


def _live_members(scope: Scope, cluster: Cluster, now: datetime) -> list[Memory]:
    """The newest live members, oldest first."""
    members = ClusterMember.objects.within(scope).filter(cluster_id=cluster.pk).values("memory_id")
    rows = Memory.objects.within_tenant(scope).live(now).filter(pk__in=members).order_by("-pk")[:MOST_IDS]
    return sorted(rows, key=lambda row: row.pk)


# --- updating -------------------------------------------------------------------------------------------------------


def _inside(scope: Scope, space_id: int, project_id: int | None) -> Scope:
    """The system's scope, limited to this space.  Raises MemoryNotFound if the space is gone."""
    space = Space.objects.within(scope).filter(pk=space_id).first()
    if space is None:
        raise MemoryNotFound
    there = replace(scope, environment=Environment(space.environment), project_id=project_id)
    return there.in_spaces(space.ref)


def _lock(scope: Scope) -> tuple[Space, SpaceCipher]:
    """Lock the space.  Raises MemoryNotFound if it is gone."""
    try:
        return lock_space(scope)
    except SpaceShredded:
        raise MemoryNotFound from None


def _tend_cluster(scope: Scope, cluster: Cluster, now: datetime) -> None:
    scope = _inside(scope, cluster.space_id, cluster.project_id)
    space, cipher = _lock(scope)
    cluster.refresh_from_db(fields=["summary_id"], from_queryset=Cluster.objects.within(scope).all())
    row = _active(scope, cluster.summary_id)
    sources = _opened(scope, _live_members(scope, cluster, now), cipher, now)
    if len(sources) < ENOUGH:
        if row is not None:
            _retire(scope, space, cipher, row, now)
        return
    ids = [one.row.pk for one in sources]
    if row is not None and lineage.sources_among(scope, [row.pk]).get(row.pk) == ids:
        return
    lossless = sum(len(one.text) for one in sources) <= LONGEST_WHOLE
    text = summary_of([one.text for one in sources], lossless=lossless)
    if row is not None:
        _renew(scope, space, cipher, row, sources, text, lossless=lossless, now=now)
        return
    row = _create(scope, space, cipher, sources, text, lossless=lossless, now=now)
    cluster.summary_id = row.pk
    cluster.save(update_fields=["summary_id"])


def _tend_summary(scope: Scope, space_id: int, memory_id: int, now: datetime) -> None:
    scope = _inside(scope, space_id, None)
    space, cipher = _lock(scope)
    row = _active(scope, memory_id)
    if row is None:
        return
    made_from = lineage.sources_among(scope, [row.pk]).get(row.pk, [])
    live = Memory.objects.within_tenant(scope).live(now).filter(pk__in=made_from).order_by("pk")
    sources = _opened(scope, list(live), cipher, now)
    if len(sources) == len(made_from):
        return
    if len(sources) < ENOUGH:
        _retire(scope, space, cipher, row, now)
        return
    lossless = _is_lossless(row, cipher)
    text = summary_of([one.text for one in sources], lossless=lossless)
    _renew(scope, space, cipher, row, sources, text, lossless=lossless, now=now)


def _active(scope: Scope, memory_id: int | None) -> Memory | None:
    if memory_id is None:
        return None
    rows = Memory.objects.within_tenant(scope).filter(pk=memory_id, retention_status="active", is_summary=True)
    return rows.select_for_update(no_key=True).first()


def _opened(scope: Scope, rows: Sequence[Memory], cipher: SpaceCipher, now: datetime) -> list[_Source]:
    """The decrypted sources; those that fail decryption are left out and reported."""
    opened = []
    for row in rows:
        try:
            opened.append(_Source(row=row, text=open_text(row, cipher).reveal()))
        except DecryptError as error:
            integrity.note(scope, error, row.pk, space_id=row.space_id, now=now)
    return opened


def _is_lossless(row: Memory, cipher: SpaceCipher) -> bool:
    if not row.content_ct:
        return False
    return bool(orjson.loads(cipher.open_bytes(CONTENT, row.pk, bytes(row.content_ct))).get("lossless"))


# --- writing, under the space's lock --------------------------------------------------------------------------------


def _create(
    scope: Scope,
    space: Space,
    cipher: SpaceCipher,
    sources: Sequence[_Source],
    text: str,
    *,
    lossless: bool,
    now: datetime,
) -> Memory:
    check_room(scope, space, 1)
    (memory_id,) = reserve_ids(1, sequence="memories_memory_id_seq")
    handles = LookupValues(voice=VOICE, once=str(memory_id))
    row = Memory(
        id=memory_id,
        tenant_id=scope.tenant_id,
        space_id=space.pk,
        project_id=scope.project_id,
        environment=scope.environment,
        public_id=public_id(cipher, TYPE, None, Plaintext(text), handles, project_id=scope.project_id),
        created_at=now,
        updated_at=now,
        created_txid=space.txid + 1,
        type=TYPE,
        is_summary=True,
        type_prior=TYPES[TYPE].prior,
        importance=sum(one.row.importance for one in sources) / len(sources),
        valid_from=now,
    )
    _fill(row, space, cipher, sources, text, lossless=lossless, now=now)
    space.txid += 1
    space.doc_count += 1
    space.term_total += len(terms(text))
    space.save(update_fields=["txid", "doc_count", "term_total"])
    Memory.objects.bulk_create(scope, [row])
    _index(scope, space, cipher, row, sources, text, event="created", now=now)
    return row


def _renew(
    scope: Scope,
    space: Space,
    cipher: SpaceCipher,
    row: Memory,
    sources: Sequence[_Source],
    text: str,
    *,
    lossless: bool,
    now: datetime,
) -> None:
    """Rebuild the summary in place from its current sources.  Its former text is not kept."""
    space.txid += 1
    space.term_total += len(terms(text)) - len(terms(open_text(row, cipher).reveal()))
    space.save(update_fields=["txid", "term_total"])
    row.updated_at = row.last_used_at = now
    _fill(row, space, cipher, sources, text, lossless=lossless, now=now)
    row.save()
    postings.remove(scope, [row.pk])
    MemoryVector.objects.within(scope).filter(memory_id=row.pk).delete()
    _index(scope, space, cipher, row, sources, text, event="updated", now=now)


def _retire(scope: Scope, space: Space, cipher: SpaceCipher, row: Memory, now: datetime) -> None:
    row.retention_status, row.deletion_method = "soft_deleted", "retention_policy"
    row.deleted_at, row.hard_delete_at, row.updated_at = now, now + GRACE, now
    row.save(update_fields=["retention_status", "deletion_method", "deleted_at", "hard_delete_at", "updated_at"])
    MemoryVector.objects.within(scope).filter(memory_id=row.pk).update(live=False)
    Cluster.objects.within(scope).filter(summary_id=row.pk).update(summary_id=None)
    revisions.write(scope, space, [FieldChange(memory_id=row.pk, event="soft_deleted")], cipher, now=now)
    _record(scope, AuditAction.MEMORY_SUMMARY_RETIRED, row, 1, now)


def _fill(
    row: Memory,
    space: Space,
    cipher: SpaceCipher,
    sources: Sequence[_Source],
    text: str,
    *,
    lossless: bool,
    now: datetime,
) -> None:
    """Fill the columns that follow from the sources.  The summary expires with the first of them."""
    said = Plaintext(text)
    handles = LookupValues(voice=VOICE, once=str(row.pk))
    row.changed_txid = space.txid + 1
    row.text_mac = text_mac(cipher, said, voice=VOICE)
    row.confidence = min(one.row.confidence for one in sources)
    row.expires_at = min((one.row.expires_at for one in sources if one.row.expires_at), default=None)
    seal_into(row, Readable(text=said, handles=handles), cipher)
    row.summary_ct = cipher.seal(SUMMARY, row.pk, said)
    row.content_ct = cipher.seal(CONTENT, row.pk, orjson.dumps({"lossless": lossless}))


def _index(
    scope: Scope,
    space: Space,
    cipher: SpaceCipher,
    row: Memory,
    sources: Sequence[_Source],
    text: str,
    *,
    event: str,
    now: datetime,
) -> None:
    """Index the words now and the vector later; write sources, edges, history and audit."""
    postings.write(scope, [postings.posting_of(row, terms(text), cipher)])
    enqueue(scope, "embed", [row.pk], now=now)
    ids = [one.row.pk for one in sources]
    lineage.write_sources(scope, space.pk, row.pk, ids)
    edges = [NewEdge(from_id=row.pk, to_id=one, type="summary_of", is_automatic=True) for one in ids]
    write_edges(scope, cipher, edges, now=now)
    revisions.write(scope, space, [FieldChange(memory_id=row.pk, event=event)], cipher, now=now)
    _record(scope, AuditAction.MEMORY_SUMMARIZE, row, len(ids), now)


def _record(scope: Scope, action: AuditAction, row: Memory, count: int, now: datetime) -> None:
    actor, target = scope.principal.label, f"memory:{row.pk}"
    record(scope, actor=actor, action=action, target=target, count=count, now=now)
