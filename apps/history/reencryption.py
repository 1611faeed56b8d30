"""Re-encryption of turns and state items.  See ``apps.crypto.encrypted_tables``."""

import orjson

from apps.core.plaintext import Plaintext
from apps.crypto.encrypted_tables import SealedColumns, open_fields
from apps.crypto.services import DecryptError, SpaceCipher
from apps.history.models import HistoryTurn, StateItem
from apps.history.state_lookup_keys import rekey
from apps.history.state_sealing import open_state
from apps.history.turns import Handles, handles_of
from apps.projects.scope import Scope, SpaceRef


class HistoryTurns(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is None:
            return 0

        def handles(row: HistoryTurn) -> Handles:
            opened = open_fields(row, before)
            content, about = opened["content_ct"] or b"", opened["about_ct"] or b""
            return handles_of(after, orjson.loads(about), row.seq, Plaintext(content.decode()))

        mine = HistoryTurn.objects.within(scope).filter(space_id=space.id)
        return self.remake(scope, mine, dict.fromkeys(Handles._fields, "bytea"), handles)


class States(SealedColumns):
    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        if space is None:
            return 0
        count = 0
        for row in StateItem.objects.within(scope).filter(space_id=space.id).order_by("pk").iterator(1_000):
            try:
                rekey(row, open_state(row, before), after)
            except DecryptError:
                continue
            count += 1
        return count
