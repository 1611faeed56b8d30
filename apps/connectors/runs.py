"""Run connectors: read what their place has, and take each object in a transaction of its own.

One worker at a time has the lease of a connector.  A run that is killed, or that runs out of time, is continued by the
next one: what was taken is then unchanged, which is seen without reading it.  Only a run that saw everything ends the
objects that are missing.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import orjson
from django.conf import settings
from django.db.models import Q

from apps.connectors.buckets import read_bucket
from apps.connectors.feeds import read_feed
from apps.connectors.folders import read_folder
from apps.connectors.found import FoundObject, FoundObjects, ObjectUnreadable, SourceFailed, SourceRefused
from apps.connectors.models import VALIDATORS, Connector, ConnectorKind, RunStatus
from apps.connectors.services import find_row, open_connector, open_secret
from apps.core.errors import DomainError, Unavailable
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, open_space
from apps.ingest.objects import TakenObject, end_object, has_version, see_object, status_of, take_in_space
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.projects.system import find_system_scope, system_scopes
from apps.sources.selectors import unseen_objects

logger = logging.getLogger(__name__)

RUN_SECONDS: Final = 20.0
PREVIEW_SECONDS: Final = 5.0
LEASE: Final = timedelta(minutes=3)  # longer than the hard time limit of the task
SOFT_LIMIT: Final = 60
HARD_LIMIT: Final = 90

Clock = Callable[[], datetime]


def due_connectors(*, now: datetime) -> Iterator[tuple[int, int]]:
    """Tenant id and id of each connector that is due and has no lease."""
    for scope in system_scopes():
        with tenant_transaction(scope):
            rows = Connector.objects.within(scope).filter(_due(now)).order_by("next_run_at", "pk")
            ids = list(rows.values_list("pk", flat=True))
        yield from ((scope.tenant_id, connector_id) for connector_id in ids)


def _due(now: datetime) -> Q:
    is_free = Q(leased_until=None) | Q(leased_until__lte=now)
    return is_free & Q(next_run_at__lte=now) & (Q(is_paused=False) | Q(status=RunStatus.WAITING))


def preview(scope: Scope, connector_id: int) -> Counter[str]:
    """Count what a run would create, refresh and leave, for a few seconds.  Writes nothing.

    Raises ConnectorNotFound, SourceRefused; ``failed`` and the cause if the place cannot be read.
    """
    row = find_row(scope, connector_id)
    cipher = open_space(scope.tenant, scope.space)
    deadline, counts = time.monotonic() + PREVIEW_SECONDS, Counter[str]()
    try:
        for found in _read(scope, row, cipher, {}).objects:
            if counts.total() >= row.most_objects or time.monotonic() > deadline:
                counts["not_looked_at"] = 1
                break
            counts[_preview_of(scope, found)] += 1
    except SourceFailed as failed:
        counts[failed.cause] += 1
    return counts


def _preview_of(scope: Scope, found: FoundObject) -> str:
    if has_version(scope, found.name, found.version):
        return "unchanged"
    try:
        return status_of(scope, found.read())
    except ObjectUnreadable:
        return "refused"


def run(tenant_id: int, connector_id: int, *, clock: Clock) -> None:
    """Run a connector that is due, unless another worker does."""
    system = find_system_scope(tenant_id)
    row = _claim(system, connector_id, now=clock()) if system else None
    if system is None or row is None:
        return
    counts: Counter[str] = Counter()
    started = row.started_at or clock()
    try:
        scope = _scope_of(system, row)
        cipher = open_space(scope.tenant, scope.space)
        found = _read(scope, row, cipher, _validators(row, cipher))
        stopped = _take_all(scope, row, found, counts, clock=clock)
        if found.is_complete and not stopped:
            for object_id in unseen_objects(scope, row.pk, since=started):
                counts["memories_ended"] += len(end_object(scope, object_id, now=clock()).ended)
                counts["gone"] += 1
        _finish(scope, row, counts, stopped, found=None if stopped else found, now=clock())
    except (SourceFailed, SourceRefused) as failed:
        cause = failed.cause if isinstance(failed, SourceFailed) else "refused"
        _finish(system, row, counts, cause, is_failed=True, now=clock())
    except Exception as error:  # noqa: BLE001  (whatever it is: the next run tries again)
        logger.warning("a connector failed", extra={"kind": row.kind, "error": type(error).__name__})
        _finish(system, row, counts, "internal", is_failed=True, now=clock())


def _read(scope: Scope, row: Connector, cipher: SpaceCipher, validators: dict[str, str]) -> FoundObjects:
    opened = open_connector(row, cipher)
    place = opened.place.reveal()
    if row.kind == ConnectorKind.FOLDER:
        return read_folder(scope, place, connector_id=row.pk)
    if opened.bucket:
        return read_bucket(place, opened.bucket, open_secret(row, cipher) or "", connector_id=row.pk)
    return read_feed(place, validators, connector_id=row.pk, most_bytes=row.most_bytes)


def _take_all(scope: Scope, row: Connector, found: FoundObjects, counts: Counter[str], *, clock: Clock) -> str:
    """Take the objects; returns the limit that ended it, or an empty string."""
    deadline, size, seen = time.monotonic() + RUN_SECONDS, 0, 0
    for one in found.objects:
        seen += 1
        if seen > row.most_objects:
            return "too_many_objects"
        if time.monotonic() > deadline:
            return "out_of_time"
        if has_version(scope, one.name, one.version, seen_at=clock()):
            counts["unchanged"] += 1
            continue
        size += one.size
        if size > row.most_bytes:
            return "too_many_bytes"
        try:
            taken = _take(scope, one, now=clock())
        except Unavailable:
            return "busy"
        if taken is None:
            counts["refused"] += 1
        else:
            counts[taken.status] += 1
            counts["memories_added"] += taken.added
            counts["memories_ended"] += len(taken.ended)
        _note_progress(scope, row, counts)
    return ""


def _take(scope: Scope, found: FoundObject, *, now: datetime) -> TakenObject | None:
    """None if its content cannot be read or is refused: then the object stays as it was."""
    try:
        given = found.read()
        if len(given.content) <= settings.MAX_UPLOAD_BYTES:
            return take_in_space(scope, given, embeds_later=True, now=now)
    except (Unavailable, SourceRefused):
        raise
    except (DomainError, ObjectUnreadable):
        pass
    see_object(scope, found.name, now=now)
    return None


def _claim(scope: Scope, connector_id: int, *, now: datetime) -> Connector | None:
    with tenant_transaction(scope):
        rows = Connector.objects.within(scope).filter(_due(now), pk=connector_id)
        row = rows.select_for_update(no_key=True, skip_locked=True).first()
        if row is not None:
            row.status, row.error, row.counts = RunStatus.RUNNING, "", {}
            row.leased_until, row.started_at, row.finished_at = now + LEASE, now, None
            row.save(update_fields=["status", "error", "counts", "leased_until", "started_at", "finished_at"])
        return row


def _scope_of(system: Scope, row: Connector) -> Scope:
    """The scope of the caller who created the connector, in its space."""
    with tenant_transaction(system):
        space = Space.objects.within(system).get(pk=row.space_id)
    kind, _, number = row.actor.partition(":")
    principal = replace(system.principal, kind=kind, id=int(number))
    own = replace(system, environment=Environment(space.environment), principal=principal, project_id=row.project_id)
    return own.in_spaces(space.ref)


def _validators(row: Connector, cipher: SpaceCipher) -> dict[str, str]:
    if row.validators_ct is None:
        return {}
    raw = cipher.open_bytes(VALIDATORS, row.pk, bytes(row.validators_ct), revision=row.revision)
    told: dict[str, str] = orjson.loads(raw)
    return told


def _note_progress(scope: Scope, row: Connector, counts: Counter[str]) -> None:
    with tenant_transaction(scope):
        Connector.objects.within(scope).filter(pk=row.pk).update(counts=dict(counts))


def _finish(
    scope: Scope,
    row: Connector,
    counts: Counter[str],
    error: str,
    *,
    found: FoundObjects | None = None,
    is_failed: bool = False,
    now: datetime,
) -> None:
    """Note the result and release the lease.  found: of a run that saw everything, to keep its validators."""
    with tenant_transaction(scope):
        cipher = open_space(scope.tenant, scope.space, writing=True) if found and scope.spaces else None
        fresh = Connector.objects.within(scope).select_for_update(no_key=True).filter(pk=row.pk).first()
        if fresh is None:  # deleted meanwhile
            return
        fresh.status = RunStatus.FAILED if is_failed else RunStatus.PARTIAL if error else RunStatus.DONE
        fresh.error, fresh.counts, fresh.finished_at, fresh.leased_until = error, dict(counts), now, None
        again = timedelta(0) if error in ("out_of_time", "busy") else timedelta(seconds=fresh.every_seconds)
        fresh.next_run_at = now + again
        changed = ["status", "error", "counts", "finished_at", "leased_until", "next_run_at"]
        if found and cipher and fresh.revision == row.revision and fresh.key_version == cipher.key_version:
            raw = orjson.dumps(dict(found.validators))
            fresh.validators_ct = cipher.seal(VALIDATORS, fresh.pk, raw, revision=fresh.revision)
            changed.append("validators_ct")
        fresh.save(update_fields=changed)
