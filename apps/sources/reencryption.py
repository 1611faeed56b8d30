"""Re-encryption of external objects when keys rotate; see ``apps.crypto.encrypted_tables``."""

from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher
from apps.projects.scope import Scope, SpaceRef
from apps.sources.models import ExternalObject, ObjectMemory
from apps.sources.sealing import object_mac, open_object


class ExternalObjects(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """Recompute the hashes of objects.  Those of content, which is not stored, are removed: each object is read
        again when it is next seen."""
        if space is None:
            return 0
        mine = ExternalObject.objects.within(scope).filter(space_id=space.id)
        mine.update(digest=b"", version_mac=b"")
        ObjectMemory.objects.within(scope).filter(space_id=space.id).update(passage_macs=[])

        def handles(row: ExternalObject) -> list[bytes]:
            return [object_mac(after, open_object(row, before).name, project_id=row.project_id)]

        return self.remake(scope, mine, {"object_mac": "bytea"}, handles)
