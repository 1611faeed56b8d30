"""Summarizes memories: on request, and in the background as a cluster grows.

A summary is itself a memory, encrypted and found like any other, made of its sources' sentences without a model.  It
never outlives them: see ``apps.memories.lineage``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded
from apps.memories import integrity, lineage
from apps.memories.indexing_mode import SpaceFull
from apps.memories.models import Memory
from apps.memories.models.memory import CONTENT
from apps.memories.sealing import open_text
from apps.memories.selectors import MemoryNotFound
from apps.memories.spaces import lock_space
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.summaries.clusters import ENOUGH, MOST_IDS, clusters_behind
from apps.summaries.models import Cluster, ClusterMember
from apps.summaries.storage import REFLECTION, SESSION, SUMMARIZE_SESSION, NewSummary, create, inside, renew, retire
from text.summary import summary_of

LONGEST_WHOLE: Final = 8_000  # characters of sources; up to this, a cluster's summary is lossless
MOST_QUEUED: Final = 500  # of each kind, in one pass


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
        row = create(scope, space, cipher, _new(sources, text, lossless=lossless), now=now)
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


def ask_for_work(scope: Scope, *, now: datetime) -> None:
    """Queue what writes did not: summaries that lost a source, and clusters that grew or were never summarized."""
    with tenant_transaction(scope):
        enqueue(scope, "resummarize", lineage.stale_summaries(scope, limit=MOST_QUEUED), now=now)
        enqueue(scope, "summarize", clusters_behind(scope, limit=MOST_QUEUED, now=now), now=now)


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


def _lock(scope: Scope) -> tuple[Space, SpaceCipher]:
    """Lock the space.  Raises MemoryNotFound if it is gone."""
    try:
        return lock_space(scope)
    except SpaceShredded:
        raise MemoryNotFound from None


def _tend_cluster(scope: Scope, cluster: Cluster, now: datetime) -> None:
    scope = inside(scope, cluster.space_id, cluster.project_id)
    space, cipher = _lock(scope)
    cluster.refresh_from_db(fields=["summary_id"], from_queryset=Cluster.objects.within(scope).all())
    row = _active(scope, cluster.summary_id)
    sources = _opened(scope, _live_members(scope, cluster, now), cipher, now)
    if len(sources) < ENOUGH:
        if row is not None:
            retire(scope, space, cipher, row, now=now)
        return
    ids = [one.row.pk for one in sources]
    if row is not None and lineage.sources_among(scope, [row.pk]).get(row.pk) == ids:
        return
    lossless = sum(len(one.text) for one in sources) <= LONGEST_WHOLE
    text = summary_of([one.text for one in sources], lossless=lossless)
    if row is not None:
        renew(scope, space, cipher, row, _new(sources, text, lossless=lossless), now=now)
        return
    row = create(scope, space, cipher, _new(sources, text, lossless=lossless), now=now)
    cluster.summary_id = row.pk
    cluster.save(update_fields=["summary_id"])


def _tend_summary(scope: Scope, space_id: int, memory_id: int, now: datetime) -> None:
    scope = inside(scope, space_id, None)
    space, cipher = _lock(scope)
    row = _active(scope, memory_id)
    if row is None:
        return
    if row.type == REFLECTION:
        retire(scope, space, cipher, row, now=now)  # the next run makes another of what is left
        return
    if row.source == SESSION:
        enqueue(scope, SUMMARIZE_SESSION, [row.pk], now=now)
        return
    made_from = lineage.sources_among(scope, [row.pk]).get(row.pk, [])
    live = Memory.objects.within_tenant(scope).live(now).filter(pk__in=made_from).order_by("pk")
    sources = _opened(scope, list(live), cipher, now)
    if len(sources) == len(made_from):
        return
    if len(sources) < ENOUGH:
        retire(scope, space, cipher, row, now=now)
        return
    lossless = _is_lossless(row, cipher)
    text = summary_of([one.text for one in sources], lossless=lossless)
    renew(scope, space, cipher, row, _new(sources, text, lossless=lossless), now=now)


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


def _new(sources: Sequence[_Source], text: str, *, lossless: bool) -> NewSummary:
    return NewSummary(text=text, sources=[one.row for one in sources], lossless=lossless)
