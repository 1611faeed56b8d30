"""Re-encryption of the topics of clusters, and rekeying of the topics' hashes."""

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher
from apps.projects.scope import Scope, SpaceRef
from apps.summaries.clusters import topic_mac
from apps.summaries.models import LABEL, Cluster


class Clusters(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is None:
            return 0

        def handles(row: Cluster) -> list[bytes]:
            topic = before.open(LABEL, row.pk, bytes(row.label_ct)).reveal()
            return [topic_mac(after, row.type, topic, project_id=row.project_id)]

        mine = Cluster.objects.within(scope).filter(space_id=space.id)
        return self.remake(scope, mine, {"topic_mac": "bytea"}, handles)
