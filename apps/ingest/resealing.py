"""Sealing anew what this app sealed: the callers' references.  See ``apps.memories.resealing``."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from apps.crypto.services import DecryptError, SpaceCipher
from apps.ingest.models import CLIENT_REF, IngestReceipt
from apps.memories.integrity import Broken
from apps.memories.resealing import ciphers_of, write_columns
from apps.projects.scope import Scope, SpaceRef


class Receipts:
    name = "receipt"
    table = "ingest_ingestreceipt"

    def reseal(self, scope: Scope, ids: Sequence[int], *, now: datetime) -> list[Broken]:
        rows = list(IngestReceipt.objects.within(scope).filter(pk__in=list(ids)).order_by("pk"))
        ciphers = ciphers_of(scope, {row.space_id for row in rows})
        broken: list[Broken] = []
        sealed: list[list[Any]] = []
        for row in rows:
            cipher = ciphers[row.space_id]
            try:
                raw = cipher.open_bytes(CLIENT_REF, row.pk, bytes(row.client_ref_ct))
            except DecryptError as error:
                broken.append(
                    Broken(table=self.name, record_id=row.pk, space_id=row.space_id, reason=error.reason, seen_at=now)
                )
                continue
            sealed.append([row.pk, cipher.key_version, cipher.seal(CLIENT_REF, row.pk, raw)])
        write_columns(self.table, {"id": "bigint", "key_version": "integer", "client_ref_ct": "bytea"}, sealed, scope)
        return broken

    def open_one(self, scope: Scope, receipt_id: int) -> None:
        """Raises DecryptError if it does not open."""
        row = IngestReceipt.objects.within(scope).filter(pk=receipt_id).first()
        if row is not None:
            cipher = ciphers_of(scope, {row.space_id})[row.space_id]
            cipher.open_bytes(CLIENT_REF, row.pk, bytes(row.client_ref_ct))

    def rekey(self, scope: Scope, space: SpaceRef | None, before: SpaceCipher, after: SpaceCipher) -> int:
        """The digests of decided candidates go: of what was refused there is nothing to make them anew from."""
        if space is None:
            return 0
        with connection.cursor() as cursor:
            cursor.execute(
                "update ingest_candidate set digest = '' where tenant_id = %s and space_id = %s",
                [scope.tenant_id, space.id],
            )
        made = []
        for row in IngestReceipt.objects.within(scope).filter(space_id=space.id).order_by("pk").iterator(1_000):
            try:
                client_ref = before.open(CLIENT_REF, row.pk, bytes(row.client_ref_ct)).reveal()
            except DecryptError:
                continue
            made.append([row.pk, after.identity_mac("client_ref", client_ref)])
        write_columns(self.table, {"id": "bigint", "client_ref_mac": "bytea"}, made, scope)
        return len(made)
