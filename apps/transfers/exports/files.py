"""The file of an export: read piece by piece, deleted as a whole."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import fetch_column
from apps.core.scoping import tenant_transaction
from apps.crypto.services import open_space, open_tenant
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.transfers.models.exports import PAYLOAD, ExportChunk, ExportJob, ExportLink, ExportReach, ExportStatus
from apps.transfers.models.jobs import OPEN

# Column values of a job without a file.
NOTHING: Final[dict[str, Any]] = {
    "section": 0, "after_id": 0, "scanned": 0, "rows": 0, "unreadable": 0, "chunks": 0, "result_ct": None,
    "attempts": 0, "error": "", "completed_at": None, "expires_at": None,
}  # fmt: skip


def read_pieces(scope: Scope, job_id: int) -> Iterator[bytes]:
    """The pieces of a file, in order.  Each is read in a transaction of its own, so that a slow reader blocks nothing.

    Ends early if the file is deleted meanwhile.  Raises DecryptError, SpaceShredded.
    """
    after = -1
    while True:
        with tenant_transaction(scope):
            pieces = ExportChunk.objects.within(scope).filter(job_id=job_id, number__gt=after)
            chunk = pieces.order_by("number").first()
            if chunk is None:
                return
            cipher = (
                open_tenant(scope.tenant)
                if chunk.space_id is None
                else open_space(scope.tenant, Space.objects.within(scope).get(pk=chunk.space_id).ref)
            )
        yield cipher.open_bytes(PAYLOAD, chunk.pk, bytes(chunk.payload_ct))
        after = chunk.number


def has_file(scope: Scope, end_user_id: int, *, now: datetime) -> bool:
    """Whether there is, or soon will be, a file of everything about this end user.  Inside the tenant's transaction."""
    jobs = ExportJob.objects.within(scope).filter(end_user_id=end_user_id, reach=ExportReach.PERSON)
    return jobs.filter(status__in=(*OPEN, ExportStatus.COMPLETED)).exclude(expires_at__lte=now).exists()


def drop_file(scope: Scope, job_ids: Sequence[int]) -> None:
    """Delete the files of these jobs and their links.  Inside the tenant's transaction, with the jobs locked."""
    ExportLink.objects.within(scope).filter(job_id__in=job_ids).delete()
    ExportChunk.objects.within(scope).filter(job_id__in=job_ids).delete()


def discard(scope: Scope, *, memory_ids: Sequence[int] = (), space_ids: Sequence[int] = (), now: datetime) -> int:
    """Delete every file that contains one of these memories or spaces; returns the number of files.

    Called by code that erases them, in the transaction that deletes them or in a later one.  It waits for running
    exports, so that none writes what it read before.  A running export whose file is affected starts over; if it
    exports a person of whom a space is erased, it is cancelled.
    """
    jobs = ExportJob.objects.within(scope)
    # Select, not count: a count would lock nothing.
    list(jobs.filter(status__in=OPEN).order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    found = fetch_column(
        "select distinct job_id from transfers_exportchunk where tenant_id = %(tenant)s and ("
        "space_id = any(%(spaces)s) or space_ids && %(spaces)s::bigint[] "
        "or first_id <= %(last)s and last_id >= %(first)s and memory_ids && %(memories)s::bigint[]) "
        "order by job_id",
        {
            "tenant": scope.tenant_id,
            "spaces": list(space_ids),
            "memories": list(memory_ids),
            "first": min(memory_ids, default=0),
            "last": max(memory_ids, default=0),
        },
    )
    if not found:
        return 0
    mine = jobs.filter(pk__in=found)
    if space_ids:
        people = mine.filter(status__in=OPEN, reach=ExportReach.PERSON)
        people.update(**NOTHING | {"status": ExportStatus.CANCELLED, "error": "erased", "completed_at": now})
    mine.filter(status__in=OPEN).update(**NOTHING | {"status": ExportStatus.PENDING, "started_at": None})
    mine.filter(status=ExportStatus.COMPLETED).update(
        status=ExportStatus.EXPIRED, error="erased", result_ct=None, expires_at=now
    )
    drop_file(scope, found)
    record(scope, actor=scope.principal.label, action=AuditAction.EXPORT_ERASE, count=len(found), now=now)
    return len(found)
