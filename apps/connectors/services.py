"""Create, read, change and delete connectors of an end user, and request their runs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.connectors.buckets import BucketSettings, check_bucket
from apps.connectors.feeds import check_url
from apps.connectors.folders import check_folder
from apps.connectors.models import SECRET, SETTINGS, TABLE, Connector, ConnectorKind, RunStatus
from apps.core.errors import Invalid, NotFound
from apps.core.plaintext import Plaintext
from apps.core.queries import execute
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.core.sequences import reserve_ids
from apps.crypto.encrypted_tables import report_broken
from apps.crypto.services import DecryptError, SpaceCipher, open_space
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Scope


class ConnectorNotFound(NotFound):
    """Connector not found."""

    code = "CONNECTOR_NOT_FOUND"


class BucketMisplaced(Invalid):
    """bucket: required for the kind s3, and only there"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSettings:
    """place: the path of a folder, or the URL of a feed, a page or a bucket's server.  every: from one run to the next.

    most_objects, most_bytes: limits of one run.  bucket, secret: of the kind s3 alone; the secret is that of the access
    key.
    """

    name: str
    place: str
    every: timedelta
    most_objects: int
    most_bytes: int
    bucket: BucketSettings | None = None
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedConnector:
    """A connector decrypted for its owner, without its secret.

    error: code of what ended the last run.  The rest is as in the model.
    """

    id: int
    kind: str
    name: Plaintext
    place: Plaintext
    bucket: BucketSettings | None
    every: timedelta
    most_objects: int
    most_bytes: int
    is_paused: bool
    status: str
    error: str
    counts: Mapping[str, int]
    next_run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    created_at: datetime


def create_connector(
    scope: Scope, end_user: str, kind: str, chosen: ConnectorSettings, *, now: datetime
) -> OpenedConnector:
    """Create a connector of this end user, who is created if unknown; it is due at once.  Raises SourceRefused."""
    check_place(scope, kind, chosen.place, chosen.bucket)
    mine = scope.in_spaces(get_or_create_end_user(scope, end_user, now=now))
    with tenant_transaction(mine):
        cipher = open_space(mine.tenant, mine.space, writing=True)
        (connector_id,) = reserve_ids(1, sequence="connectors_connector_id_seq")
        row = Connector(
            id=connector_id,
            tenant_id=mine.tenant_id,
            space_id=mine.space.id,
            project_id=mine.project_id,
            actor=mine.principal.label,
            kind=kind,
            next_run_at=now,
            created_at=now,
        )
        _seal(row, chosen, cipher)
        row.save(force_insert=True)
        _record(mine, AuditAction.CONNECTOR_CREATE, row.pk, now=now)
        return open_connector(row, cipher)


def list_connectors(scope: Scope, *, now: datetime) -> Sequence[OpenedConnector]:
    """The end user's connectors, newest first, without those that do not decrypt."""
    if not scope.spaces:
        return ()
    cipher = open_space(scope.tenant, scope.space)
    with tenant_transaction(scope):
        rows = list(_mine(scope).order_by("-pk"))
    opened = []
    for row in rows:
        try:
            opened.append(open_connector(row, cipher))
        except DecryptError as error:
            report_broken(scope, error, row.pk, space_id=row.space_id, table=TABLE, now=now)
    return opened


def get_connector(scope: Scope, connector_id: int) -> OpenedConnector:
    """Raises ConnectorNotFound, DecryptError."""
    return open_connector(find_row(scope, connector_id), open_space(scope.tenant, scope.space))


def update_connector(
    scope: Scope, connector_id: int, changed: Mapping[str, Any], *, is_paused: bool | None, now: datetime
) -> OpenedConnector:
    """Change some settings, by the names of ``ConnectorSettings``, and pause or resume.

    ``bucket`` is a mapping by the names of ``BucketSettings``; what it omits stays.

    Raises ConnectorNotFound, SourceRefused, BucketMisplaced.
    """
    there = find_row(scope, connector_id)
    chosen = _changed(_settings_of(there, open_space(scope.tenant, scope.space)), changed)
    # Not under the lock, because it resolves a name.  Every run checks again.
    check_place(scope, there.kind, chosen.place, chosen.bucket)
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space, writing=True)
        row = _mine(scope).select_for_update(no_key=True).filter(pk=connector_id).first()
        if row is None:
            raise ConnectorNotFound
        chosen = _changed(_settings_of(row, cipher), changed)  # another request may have changed others meanwhile
        row.revision += 1
        _seal(row, chosen, cipher)
        row.validators_ct = None  # it may be another place
        row.is_paused = row.is_paused if is_paused is None else is_paused
        row.next_run_at = min(row.next_run_at, now + chosen.every)
        row.save()
        _record(scope, AuditAction.CONNECTOR_UPDATE, row.pk, now=now)
        return open_connector(row, cipher)


def request_run(scope: Scope, connector_id: int, *, now: datetime) -> OpenedConnector:
    """Let it run as soon as a worker is free, also while it is paused.  Raises ConnectorNotFound."""
    with tenant_transaction(scope):
        row = _mine(scope).select_for_update(no_key=True).filter(pk=connector_id).first() if scope.spaces else None
        if row is None:
            raise ConnectorNotFound
        row.next_run_at = now
        if row.status != RunStatus.RUNNING:
            row.status = RunStatus.WAITING
        row.save(update_fields=["next_run_at", "status"])
        _record(scope, AuditAction.CONNECTOR_RUN, row.pk, now=now)
    return open_connector(row, open_space(scope.tenant, scope.space))


def delete_connector(scope: Scope, connector_id: int, *, now: datetime) -> None:
    """Delete a connector; its objects stay.  Raises ConnectorNotFound."""
    row = find_row(scope, connector_id)
    with tenant_transaction(scope):
        execute("delete from connectors_connector where tenant_id = %s and id = %s", [scope.tenant_id, row.pk])
        _record(scope, AuditAction.CONNECTOR_DELETE, row.pk, now=now)


def check_place(scope: Scope, kind: str, place: str, bucket: BucketSettings | None) -> None:
    """Raises SourceRefused, BucketMisplaced."""
    if (kind == ConnectorKind.S3) != (bucket is not None):
        raise BucketMisplaced
    if bucket is not None:
        check_bucket(place, bucket)
    elif kind == ConnectorKind.FOLDER:
        check_folder(scope, place)
    else:
        check_url(place)


def find_row(scope: Scope, connector_id: int) -> Connector:
    """Raises ConnectorNotFound."""
    if scope.spaces and 0 < connector_id < 2**63:
        with tenant_transaction(scope):
            row = _mine(scope).filter(pk=connector_id).first()
        if row is not None:
            return row
    raise ConnectorNotFound


def open_connector(row: Connector, cipher: SpaceCipher) -> OpenedConnector:
    """Raises DecryptError."""
    told = _told(row, cipher)
    return OpenedConnector(
        id=row.pk,
        kind=row.kind,
        name=Plaintext(told["name"]),
        place=Plaintext(told["place"]),
        bucket=_bucket_of(told),
        every=timedelta(seconds=row.every_seconds),
        most_objects=row.most_objects,
        most_bytes=row.most_bytes,
        is_paused=row.is_paused,
        status=row.status,
        error=row.error,
        counts=row.counts,
        next_run_at=row.next_run_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        created_at=row.created_at,
    )


def open_secret(row: Connector, cipher: SpaceCipher) -> str | None:
    """Raises DecryptError."""
    if row.secret_ct is None:
        return None
    return cipher.open(SECRET, row.pk, bytes(row.secret_ct), revision=row.revision).reveal()


def _mine(scope: Scope) -> ScopedQuerySet[Connector]:
    return Connector.objects.within(scope).in_project(scope).filter(space_id=scope.space.id)


def _told(row: Connector, cipher: SpaceCipher) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(
        cipher.open_bytes(SETTINGS, row.pk, bytes(row.settings_ct), revision=row.revision)
    )
    return told


def _bucket_of(told: Mapping[str, Any]) -> BucketSettings | None:
    return BucketSettings(**told["bucket"]) if told["bucket"] else None


def _settings_of(row: Connector, cipher: SpaceCipher) -> ConnectorSettings:
    told = _told(row, cipher)
    return ConnectorSettings(
        name=told["name"],
        place=told["place"],
        every=timedelta(seconds=row.every_seconds),
        most_objects=row.most_objects,
        most_bytes=row.most_bytes,
        bucket=_bucket_of(told),
        secret=open_secret(row, cipher),
    )


def _changed(before: ConnectorSettings, changed: Mapping[str, Any]) -> ConnectorSettings:
    """Raises BucketMisplaced."""
    if "bucket" not in changed:
        return replace(before, **changed)
    if before.bucket is None:
        raise BucketMisplaced
    return replace(before, **{**changed, "bucket": replace(before.bucket, **changed["bucket"])})


def _seal(row: Connector, chosen: ConnectorSettings, cipher: SpaceCipher) -> None:
    """Set the row's settings, encrypted under its current revision."""
    bucket = asdict(chosen.bucket) if chosen.bucket else None
    told = orjson.dumps({"name": chosen.name, "place": chosen.place, "bucket": bucket})
    row.settings_ct = cipher.seal(SETTINGS, row.pk, told, revision=row.revision)
    secret = chosen.secret
    row.secret_ct = None if secret is None else cipher.seal(SECRET, row.pk, secret.encode(), revision=row.revision)
    row.key_version = cipher.key_version
    row.every_seconds = round(chosen.every.total_seconds())
    row.most_objects, row.most_bytes = chosen.most_objects, chosen.most_bytes


def _record(scope: Scope, action: AuditAction, connector_id: int, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"connector:{connector_id}", now=now)
