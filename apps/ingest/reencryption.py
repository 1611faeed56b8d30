"""Re-encryption of receipts and review items when keys rotate; see ``apps.crypto.encrypted_tables``."""

from apps.core.queries import execute
from apps.crypto.encrypted_tables import SealedColumns
from apps.crypto.services import SpaceCipher
from apps.ingest import review_storage
from apps.ingest.models import CLIENT_REF, IngestReceipt, ReviewItem, ReviewState, TurnReceipt
from apps.ingest.speakers import speaker_key
from apps.memories.lookup_keys import text_mac
from apps.projects.scope import Scope, SpaceRef


class Receipts(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """Recompute digests of receipts; delete those of candidates and turns, which have no stored text."""
        if space is None:
            return 0
        execute(
            "update ingest_candidate set digest = '' where tenant_id = %s and space_id = %s",
            [scope.tenant_id, space.id],
        )
        TurnReceipt.objects.within(scope).filter(space_id=space.id).delete()

        def handles(row: IngestReceipt) -> list[bytes]:
            client_ref = before.open(CLIENT_REF, row.pk, bytes(row.client_ref_ct)).reveal()
            return [after.identity_mac("client_ref", client_ref)]

        mine = IngestReceipt.objects.within(scope).filter(space_id=space.id)
        return self.remake(scope, mine, {"client_ref_mac": "bytea"}, handles)


class ReviewItems(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """Recompute the digests of pending items.  Decided ones lose digest and content: they are no longer recognized,
        and their decisions cannot be undone."""
        if space is None:
            return 0
        mine = ReviewItem.objects.within(scope).filter(space_id=space.id)
        mine.exclude(state=ReviewState.PENDING).update(digest=b"", content_ct=None, undo_until=None)

        def handles(row: ReviewItem) -> list[bytes]:
            said = review_storage.proposal_of(row, review_storage.opened(row, before), text=None, pinned=False)
            return [text_mac(after, said.text, voice=speaker_key(said))]

        return self.remake(scope, mine.filter(state=ReviewState.PENDING), {"digest": "bytea"}, handles)
