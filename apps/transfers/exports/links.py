"""Single-use download links: signed, valid for minutes, and only while the caller who requested it may read.

A token consists of the tenant's id, the link's id and its expiry, big-endian, and a MAC::

    0      8           16        24            40
    tenant | link      | expires | HMAC        |      in URL-safe Base64, without padding
    8      | 8         | 8       | 16          |

    HMAC under a key of the tenant's identity, over "export.link", the export's id, the link's id and its expiry

The key belongs to one tenant and is deleted with it, so a link is valid in no other.  The database stores only the
link's id and whether it was used, which is not enough to download a file.
"""

import base64
import binascii
import hmac
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import F

from apps.accounts.models import User
from apps.apikeys.models import ApiKey
from apps.apikeys.selectors import state_of
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict, NotFound, Unavailable
from apps.core.scoping import tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.services import SpaceCipher, open_tenant
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope
from apps.tenants.members import reach_of
from apps.transfers.exports.files import read_pieces
from apps.transfers.exports.jobs import open_result
from apps.transfers.exports.services import get_job
from apps.transfers.models.exports import ExportJob, ExportLink, ExportStatus, Format

TOKEN: Final = struct.Struct(">QQQ16s")
TYPES: Final = {Format.CSV: "text/csv; charset=utf-8", Format.JSONL: "application/jsonl; charset=utf-8"}


class LinkRefused(NotFound):
    """This link was used, has expired or never existed: request another."""

    code = "EXPORT_LINK_REFUSED"


class ExportNotReady(Conflict):
    """This export has no file: it is not completed, or the file was deleted."""

    code = "EXPORT_NOT_READY"


class FileGone(Unavailable):
    """The file was deleted while it was being read."""

    code = "EXPORT_FILE_GONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadLink:
    """A single-use link.  token: a credential; it is returned once and never stored."""

    public_id: str
    token: str
    expires_at: datetime
    size_bytes: int
    filename: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file being downloaded.  pieces: its bytes, read lazily; the iterator raises FileGone if the file ends early.
    privacy_request_id: of the privacy request that it answers, if any."""

    scope: Scope
    filename: str
    content_type: str
    size_bytes: int
    sha256: str
    pieces: Iterator[bytes]
    privacy_request_id: int | None


def issue_link(scope: Scope, public_id: str, *, now: datetime) -> DownloadLink:
    """Create a single-use link to the file of an export.  Raises ExportNotFound, ExportNotReady."""
    with tenant_transaction(scope):
        return _issue(scope, get_job(scope, public_id, locked=True), now=now)


def issue_for_request(scope: Scope, privacy_request_id: int, *, now: datetime) -> DownloadLink:
    """Create a single-use link to the newest file of a privacy request.  Raises ExportNotReady."""
    with tenant_transaction(scope):
        jobs = ExportJob.objects.within(scope).filter(privacy_request_id=privacy_request_id)
        job = jobs.order_by("-pk").select_for_update(no_key=True).first()
        if job is None:
            raise ExportNotReady
        return _issue(scope, job, now=now)


def use_link(public_id: str, token: str, *, now: datetime) -> Download:
    """The file behind a link, which becomes invalid.  Raises LinkRefused for every kind of invalid link."""
    tenant_id, link_id, until, mac = _parts(token)
    scope = find_system_scope(tenant_id)
    if scope is None or "\x00" in public_id:
        raise LinkRefused
    if not hmac.compare_digest(_mac(open_tenant(scope.tenant), public_id, link_id, until), mac):
        raise LinkRefused
    if datetime.fromtimestamp(until, UTC) <= now:
        raise LinkRefused
    with tenant_transaction(scope):
        links = ExportLink.objects.within(scope).filter(pk=link_id, used_at=None, expires_at__gt=now)
        issued_to = links.values_list("issued_to", flat=True).first()
        # Of two concurrent requests, the second updates no row.
        if issued_to is None or not _may_still_read(scope, issued_to, now=now) or not links.update(used_at=now):
            raise LinkRefused
        jobs = ExportJob.objects.within(scope).filter(
            public_id=public_id, status=ExportStatus.COMPLETED, expires_at__gt=now
        )
        if not jobs.filter(pk__in=ExportLink.objects.within(scope).filter(pk=link_id).values("job_id")).update(
            downloads=F("downloads") + 1
        ):
            raise LinkRefused
        job = jobs.get()
        _record(scope, issued_to, AuditAction.EXPORT_DOWNLOAD, job, now=now)
    return download_of(scope, job)


def download_of(scope: Scope, job: ExportJob) -> Download:
    """The file of a job.  The caller has checked the access.  Raises ExportNotReady."""
    with tenant_transaction(scope):
        result = open_result(open_tenant(scope.tenant), job)
    if result is None:
        raise ExportNotReady
    return Download(
        scope=scope,
        filename=f"{job.public_id}.{job.format}",
        content_type=TYPES[Format(job.format)],
        size_bytes=result.size_bytes,
        sha256=result.sha256,
        pieces=_whole(scope, job, result.size_bytes),
        privacy_request_id=job.privacy_request_id,
    )


def _issue(scope: Scope, job: ExportJob, *, now: datetime) -> DownloadLink:
    """The job is locked; inside the tenant's transaction.  Raises ExportNotReady."""
    cipher = open_tenant(scope.tenant)
    result = open_result(cipher, job)
    if result is None or job.status != ExportStatus.COMPLETED or job.expires_at is None or job.expires_at <= now:
        raise ExportNotReady
    (link_id,) = reserve_ids(1, sequence="transfers_exportlink_id_seq")
    # Whole seconds, as the token stores them.
    until = min(now + timedelta(minutes=settings.EXPORT_LINK_MINUTES), job.expires_at).replace(microsecond=0)
    ExportLink.objects.bulk_create(
        scope,
        [
            ExportLink(
                id=link_id,
                job_id=job.pk,
                issued_to=scope.principal.label,
                expires_at=until,
                created_at=now,
            )
        ],
    )
    _record(scope, scope.principal.label, AuditAction.EXPORT_LINK, job, now=now)
    return DownloadLink(
        public_id=job.public_id,
        token=_token(scope, cipher, job.public_id, link_id, int(until.timestamp())),
        expires_at=until,
        size_bytes=result.size_bytes,
        filename=f"{job.public_id}.{job.format}",
    )


def _whole(scope: Scope, job: ExportJob, whole: int) -> Iterator[bytes]:
    size = 0
    for piece in read_pieces(scope, job.pk):
        size += len(piece)
        yield piece
    if size != whole:
        raise FileGone


def _may_still_read(scope: Scope, issued_to: str, *, now: datetime) -> bool:
    """Whether the API key is still active, or the user may still read in the tenant."""
    kind, _, number = issued_to.partition(":")
    if kind == "api_key":
        key = ApiKey.objects.within(scope).select_related("tenant").filter(pk=int(number)).first()
        if key is None or not key.is_bound():
            return False
        return key.tenant.suspended_at is None and state_of(key, now=now) == "active"
    if kind == "account":
        reaches = reach_of(int(number)) if User.objects.filter(pk=int(number), is_active=True).exists() else []
        return any(reach.may_read for reach in reaches if reach.tenant.pk == scope.tenant_id)
    return True


def _token(scope: Scope, cipher: SpaceCipher, public_id: str, link_id: int, until: int) -> str:
    return _spelled(TOKEN.pack(scope.tenant_id, link_id, until, _mac(cipher, public_id, link_id, until)))


def _spelled(raw: bytes) -> str:
    """The canonical encoding of a token."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _parts(token: str) -> tuple[int, int, int, bytes]:
    """Decode a token.  Raises LinkRefused for anything but a canonically encoded token."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        tenant_id, link_id, until, mac = TOKEN.unpack(raw)
    except (ValueError, binascii.Error, struct.error):
        raise LinkRefused from None
    # Base64 decodes several spellings to the same bytes (padding, alphabet, unused bits); only one spelling is
    # accepted, so that logs show one link under one name.
    if _spelled(raw) != token or max(tenant_id, link_id) >= 2**63 or until >= 2**40:
        raise LinkRefused
    return tenant_id, link_id, until, mac


def _mac(cipher: SpaceCipher, public_id: str, link_id: int, until: int) -> bytes:
    return cipher.identity_mac("export.link", public_id, str(link_id), str(until))


def _record(scope: Scope, actor: str, action: AuditAction, job: ExportJob, *, now: datetime) -> None:
    record(scope, actor=actor, action=action, target=f"export:{job.pk}", count=job.rows, now=now)
