"""Sealing anew what this app sealed: the topics of clusters, and the keyed handles made of them."""

from typing import ClassVar, Final

from apps.crypto.sealed_tables import SealedColumns, write_columns
from apps.crypto.services import DecryptError, SpaceCipher
from apps.projects.scope import Scope, SpaceRef
from apps.summaries.clusters import topic_mac
from apps.summaries.models import LABEL, Cluster

CLUSTER: Final = "cluster"


class Clusters(SealedColumns):
    name = CLUSTER
    model = Cluster
    columns: ClassVar = {"label_ct": LABEL}

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is None:
            return 0
        made = []
        for row in Cluster.objects.within(scope).filter(space_id=space.id).order_by("pk").iterator(1_000):
            try:
                topic = before.open(LABEL, row.pk, bytes(row.label_ct)).reveal()
            except DecryptError:
                continue
            made.append([row.pk, topic_mac(after, row.type, topic, project_id=row.project_id)])
        write_columns(self.table, {"id": "bigint", "topic_mac": "bytea"}, made, scope)
        return len(made)
