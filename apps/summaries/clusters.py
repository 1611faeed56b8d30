"""Clusters: memories of one topic that exist beside each other and do not replace each other.

Memories of keys with many values, such as tastes and allergies, are clustered by the shared part of their canonical
key; memories that accumulate, such as events and decisions, by their first tag.  Memories that replace their
predecessor have no cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from apps.core.plaintext import Plaintext
from apps.core.queries import fetch_all, fetch_column
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories.models import Memory
from apps.memories.types import MemoryType
from apps.outbox.services import enqueue
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.summaries.models import LABEL, Cluster, ClusterMember

ENOUGH: Final = 3  # live members for a summary
LEAST_SHOWN: Final = 2
MOST_IDS: Final = 50  # the newest members of a cluster, shown or summarized
TAG: Final = "tag:"

_Name = tuple[str, str, int | None]  # type, topic and project of a cluster, one of each in a space

# Whether the member ``memory`` is live.  Parameters: now.
LIVE_MEMBER: Final = (
    "memory.retention_status = 'active' and memory.validity <> 'superseded' "
    "and (memory.expires_at is null or memory.expires_at > %s)"
)
_SHOWN: Final = f"""
select cluster.id, cluster.space_id, cluster.type, cluster.label_ct, cluster.summary_id, count(*) as size,
    (array_agg(memory.id order by memory.id desc))[1:%s], count(*) over ()
from summaries_cluster cluster
join summaries_clustermember member on member.tenant_id = cluster.tenant_id and member.cluster_id = cluster.id
join memories_memory memory on memory.tenant_id = member.tenant_id and memory.id = member.memory_id and {LIVE_MEMBER}
    and memory.environment = %s and (%s::bigint is null or memory.project_id is null or memory.project_id = %s)
where cluster.tenant_id = %s and cluster.space_id = any(%s)
group by cluster.id, cluster.space_id, cluster.type, cluster.label_ct, cluster.summary_id
having count(*) >= %s order by size desc, cluster.id desc limit %s
"""  # noqa: S608  (ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedCluster:
    """topic: encrypted at rest, the label in clear here.  memory_ids: of live members, the newest fifty."""

    id: int
    topic: str
    type: str
    size: int
    memory_ids: Sequence[int]
    summary_id: int | None

    @property
    def key(self) -> str | None:
        """The shared part of the members' canonical keys; None if the topic is a tag."""
        return None if self.topic.startswith(TAG) else self.topic


def topic_of(type_: MemoryType, key: str | None, tags: Sequence[str], *, many_valued: bool) -> str | None:
    """The topic that a memory is clustered by, or None."""
    if key is not None and many_valued and "." in key:
        return key.rpartition(".")[0]
    if type_.group is None and type_.name != "summary" and tags:
        return TAG + tags[0]
    return None


def topic_mac(cipher: SpaceCipher, type_: str, topic: str, *, project_id: int | None) -> bytes:
    return cipher.identity_mac("cluster", type_, str(project_id or ""), topic)


def join(
    scope: Scope,
    space: Space,
    cipher: SpaceCipher,
    topics: Mapping[int, str],
    *,
    settles: timedelta = timedelta(0),
    now: datetime,
) -> None:
    """Add memories to the clusters of their topics.  Clusters that are large enough are summarized later.

    topics: by memory id.  settles: how long a cluster may keep growing before it is summarized.

    Inside the transaction that wrote the memories and holds the space's lock.
    """
    rows = Memory.objects.within_tenant(scope).filter(pk__in=list(topics)).order_by("pk")
    names = {
        memory_id: (type_, topics[memory_id], project_id)
        for memory_id, type_, project_id in rows.values_list("pk", "type", "project_id")
    }
    met = _meet(scope, space, cipher, set(names.values()), now)
    members = ClusterMember.objects.bulk_create(
        scope,
        (
            ClusterMember(space_id=space.pk, cluster_id=met[name], memory_id=memory_id, created_at=now)
            for memory_id, name in names.items()
        ),
    )
    if due := _large_enough(scope, sorted({member.cluster_id for member in members}), now):
        enqueue(scope, "summarize", due, after=settles, now=now)


def list_clusters(scope: Scope, *, limit: int, now: datetime) -> tuple[list[OpenedCluster], int]:
    """The clusters with at least two live members, largest first, and how many there are.

    Clusters whose topic fails decryption are left out and reported.
    """
    if not scope.spaces:
        return [], 0
    with tenant_transaction(scope):
        rows = fetch_all(
            _SHOWN,
            [MOST_IDS, now, scope.environment, scope.project_id, scope.project_id, scope.tenant_id,
             [space.id for space in scope.spaces], LEAST_SHOWN, limit],
        )  # fmt: skip
        summaries = {row[4] for row in rows if row[4] is not None}
        readable = set(Memory.objects.within(scope).live(now).filter(pk__in=summaries).values_list("pk", flat=True))
    ciphers = {space.id: open_space(scope.tenant, space) for space in scope.spaces}
    shown = []
    for cluster_id, space_id, type_, label, summary_id, size, memory_ids, _ in rows:
        try:
            topic = ciphers[space_id].open(LABEL, cluster_id, bytes(label)).reveal()
        except DecryptError as error:
            report_broken(scope, error, cluster_id, space_id=space_id, table="cluster", now=now)
            continue
        shown.append(
            OpenedCluster(
                id=cluster_id,
                topic=topic,
                type=type_,
                size=size,
                memory_ids=memory_ids,
                summary_id=summary_id if summary_id in readable else None,
            )
        )
    return shown, rows[0][7] if rows else 0


def clusters_behind(scope: Scope, *, limit: int, now: datetime) -> list[int]:
    """Clusters with enough live members whose summary is missing or was made from a different number of them.

    Inside the tenant's transaction.
    """
    return fetch_column(
        "select cluster.id from summaries_cluster cluster "  # noqa: S608  (ours)
        "join summaries_clustermember member "
        "on member.tenant_id = cluster.tenant_id and member.cluster_id = cluster.id "
        "join memories_memory memory on memory.tenant_id = member.tenant_id and memory.id = member.memory_id "
        f"and {LIVE_MEMBER} where cluster.tenant_id = %s "
        "group by cluster.id, cluster.tenant_id, cluster.summary_id having count(*) >= %s "
        "and least(count(*), %s) <> (select count(*) from memories_summarysource link "
        "join memories_memory summary on summary.tenant_id = link.tenant_id and summary.id = link.summary_id "
        "and summary.retention_status = 'active' "
        "where link.tenant_id = cluster.tenant_id and link.summary_id = cluster.summary_id) "
        "order by cluster.id limit %s",
        [now, scope.tenant_id, ENOUGH, MOST_IDS, limit],
    )


def _meet(scope: Scope, space: Space, cipher: SpaceCipher, names: Iterable[_Name], now: datetime) -> dict[_Name, int]:
    """The ids of the clusters with these names; missing clusters are created."""
    macs = {
        topic_mac(cipher, type_, topic, project_id=project): (type_, topic, project) for type_, topic, project in names
    }
    there = Cluster.objects.within(scope).filter(space_id=space.pk, topic_mac__in=macs)
    met = {macs[bytes(mac)]: cluster_id for mac, cluster_id in there.values_list("topic_mac", "pk")}
    new = [(mac, name) for mac, name in macs.items() if name not in met]
    ids = reserve_ids(len(new), sequence="summaries_cluster_id_seq")
    Cluster.objects.bulk_create(
        scope,
        (
            Cluster(
                id=cluster_id,
                space_id=space.pk,
                project_id=project_id,
                type=type_,
                topic_mac=mac,
                label_ct=cipher.seal(LABEL, cluster_id, Plaintext(topic)),
                key_version=cipher.key_version,
                created_at=now,
            )
            for cluster_id, (mac, (type_, topic, project_id)) in zip(ids, new, strict=True)
        ),
    )
    return met | {name: cluster_id for cluster_id, (_, name) in zip(ids, new, strict=True)}


def _large_enough(scope: Scope, cluster_ids: Sequence[int], now: datetime) -> list[int]:
    return fetch_column(
        "select member.cluster_id from summaries_clustermember member "  # noqa: S608  (ours)
        "join memories_memory memory on memory.tenant_id = member.tenant_id and memory.id = member.memory_id "
        f"and {LIVE_MEMBER} where member.tenant_id = %s and member.cluster_id = any(%s) "
        "group by member.cluster_id having count(*) >= %s order by member.cluster_id",
        [now, scope.tenant_id, list(cluster_ids), ENOUGH],
    )
