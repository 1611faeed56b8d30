"""Import worker: each chunk is imported in one transaction, which stores its records, counts them and deletes the
chunk.

If a worker is killed, its chunk is unchanged for the next one: every record is stored once, with or without a
``client_ref``.  A job is work of the outbox: one worker at a time leases it, and the attempt is counted before it
starts.  A chunk that kills a worker is split into its records; a record that kills two workers alone is left out and
reported, so that the others are imported.  No lock on a chunk is held while its texts are processed: the worker that
deletes the chunk has imported it.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final

from billiard.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError

from apps.adapters.errors import AdapterError
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import DomainError, Unavailable
from apps.core.retries import retried
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError, SpaceCipher, open_tenant
from apps.ingest.candidates import Outcome as Remembered
from apps.ingest.candidates import Proposal
from apps.ingest.review import PERMISSION
from apps.ingest.services import remember_each
from apps.memories import tombstones
from apps.memories.spaces import name_in_namespace
from apps.memories.tenant_types import registry_of
from apps.outbox.leases import OUT_OF_TIME, WORKER_LOST
from apps.outbox.models import OutboxEvent
from apps.outbox.relay import TURN_SECONDS, OutboxKind, Postponed, RoundRobin
from apps.outbox.services import enqueue
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope, open_jobs, system_scopes
from apps.transfers.imports.chunks import open_chunk, write_chunks
from apps.transfers.imports.jobs import open_details, open_errors, seal_job
from apps.transfers.imports.payload import alone
from apps.transfers.imports.records import check_type, read_record
from apps.transfers.jobs import delete_ended, scope_of
from apps.transfers.models.imports import ImportChunk, ImportJob, ImportStatus
from apps.transfers.models.jobs import OPEN

logger = logging.getLogger(__name__)

MOST_ERRORS: Final = 100
MOST_ATTEMPTS: Final = 5
KIND: Final = "import"  # outbox kind; the subject is the job
# Limits of the import task, from its start: SLICE_SECONDS of processing, in which every chunk begins, and the soft and
# hard limit by the clock.  They are short, because a chunk that hangs is tried three times while others wait; a chunk
# that is only slow is split and then imported.
SLICE_SECONDS: Final = 1.0
SOFT_LIMIT: Final = 4
HARD_LIMIT: Final = 12
MOST_LOST: Final = 2  # workers that one record may kill alone
LEFT_OUT: Final = {
    WORKER_LOST: "worker_lost: importing this record ended its worker twice, and it was left out",
    OUT_OF_TIME: "out_of_time: importing this record took longer than a worker may take, twice, and it was left out",
}
UNPINNED: Final = f"stored, and not pinned: only a key with {PERMISSION} or a person pins by an import"

Result = Remembered | DomainError | None  # None: the end user was erased after the import began


class ChunkGone(Exception):
    """Another worker imported the chunk, or the job was cancelled: the transaction rolls back."""


class ImportOutcome(Enum):
    """more: there is work left.  busy: it failed and is retried later.  over: the job has ended, or is deleted."""

    MORE = auto()
    BUSY = auto()
    OVER = auto()


def ask_for_work(*, now: datetime) -> None:
    """Enqueue every open job that the outbox does not list, such as those of an earlier version or a restored
    backup."""
    for tenant_id, job_id in open_jobs(ImportJob.objects, OPEN):
        scope = find_system_scope(tenant_id)
        known = OutboxEvent.objects.filter(tenant_id=tenant_id, kind=KIND, subject_id=job_id)
        if scope is not None and not known.exists():
            with tenant_transaction(scope):
                enqueue(scope, KIND, [job_id], now=now)


def forget_old(*, now: datetime) -> None:
    """Delete the rows of jobs that ended long ago."""
    for scope in system_scopes():
        delete_ended(scope, ImportJob, now=now)


def work(tenant_id: int, job_id: int, *, seconds: float, clock: Callable[[], datetime]) -> ImportOutcome:
    """Import chunks until the time is over.  Raises errors that mean that the database or the keys cannot be
    reached."""
    scope = find_system_scope(tenant_id)
    if scope is None:
        return ImportOutcome.OVER
    deadline = time.monotonic() + seconds
    while True:
        outcome = _noting_failures(import_chunk, scope, job_id, now=clock())
        if outcome != ImportOutcome.MORE or time.monotonic() > deadline:
            return outcome


def import_chunk(scope: Scope, job_id: int, *, now: datetime) -> ImportOutcome:
    """Import the next chunk of the job; complete the job if there is none."""
    try:
        with tenant_transaction(scope):
            cipher = open_tenant(scope.tenant, writing=True)
            job = ImportJob.objects.within(scope).filter(pk=job_id).first()
            if job is None:
                return ImportOutcome.OVER
            if not job.is_open:
                _drop_chunks(scope, job)
                return ImportOutcome.OVER
            chunk = _next_chunk(scope, job_id)
            if chunk is None:
                return _end(scope, _locked(scope, job_id), ImportStatus.COMPLETED, now=now)
            return _import(scope, job, chunk, cipher, now=now)
    except ChunkGone:
        return ImportOutcome.MORE  # the next call sees the current state


def set_apart(scope: Scope, job_id: int, reason: str, *, lost: int, now: datetime) -> bool:
    """Handle a chunk that killed workers: split it into its records, or, if it is a single record that did so twice,
    leave it out and report it.  Returns whether anything changed.

    lost: number of workers killed.  reason: why the last of them ended, as in ``leases``.
    """
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        job = ImportJob.objects.within(scope).select_for_update(no_key=True).filter(pk=job_id, status__in=OPEN).first()
        chunk = _next_chunk(scope, job_id)
        if job is None or chunk is None:
            return False
        if chunk.records > 1:
            _drop(scope, chunk)
            singles = ((chunk.number, alone(line)) for line in open_chunk(scope, chunk, cipher))
            write_chunks(scope, job, singles, cipher, now=now)
            logger.warning("a batch is taken apart", extra={"job_id": job_id, "error": reason})
            return True
        if lost < MOST_LOST:
            return False
        _drop(scope, chunk)
        error = {"line": chunk.first_line, "reason": LEFT_OUT.get(reason, LEFT_OUT[WORKER_LOST])}
        _count(job, ImportTally(Counter(rejected=1), [error]), cipher, now=now)
        logger.error("a record is left out", extra={"job_id": job_id, "error": reason})
        return True


def _part(scope: Scope, job_id: int, position: int, now: datetime) -> int | None:
    """One turn of the job in the outbox; its chunks hold the progress.  position: number of turns so far.

    Raises Postponed.
    """
    outcome = work(scope.tenant_id, job_id, seconds=TURN_SECONDS, clock=lambda: now)
    if outcome == ImportOutcome.BUSY:
        raise Postponed
    return position + 1 if outcome == ImportOutcome.MORE else None


def _mend(scope: Scope, job_id: int, lost: int, reason: str, now: datetime) -> bool:
    return set_apart(scope, job_id, reason, lost=lost, now=now)


def _noting_failures(step: Callable[..., ImportOutcome], scope: Scope, job_id: int, *, now: datetime) -> ImportOutcome:
    """Run a step and count its internal failures.  Infrastructure errors and the time limit are raised: they are
    retried without limit."""
    try:
        return retried(step)(scope, job_id, now=now)
    except (OperationalError, InterfaceError, AdapterError, Unavailable, SoftTimeLimitExceeded):
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is: no job stays open for ever)
        logger.warning("a batch failed", extra={"job_id": job_id, "error": type(error).__name__})
        return _note_failure(scope, job_id, now=now)


turns = RoundRobin({KIND: OutboxKind(job=_part, mend=_mend)})


# --- one chunk ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ImportTally:
    """Counts and errors of a chunk's records."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[dict[str, Any]] = field(default_factory=list)

    def add(self, number: int, result: Result, *, is_unpinned: bool = False) -> None:
        """is_unpinned: the record asked to be pinned, but its caller may not review."""
        if result is None:
            self.counts["skipped"] += 1
        elif isinstance(result, DomainError):
            self.counts["rejected"] += 1
            self.errors.append({"line": number, "reason": result.message})
        elif result.is_stored:
            self.counts["created"] += 1
            if is_unpinned:
                self.errors.append({"line": number, "reason": UNPINNED})
        elif result.reason == "already_ingested":
            self.counts["already_imported"] += 1
        elif result.review_ids:
            self.counts["pending_review"] += 1
        else:
            self.counts["skipped"] += 1


def _import(scope: Scope, job: ImportJob, chunk: ImportChunk, cipher: SpaceCipher, *, now: datetime) -> ImportOutcome:
    own = scope_of(scope, job)
    details = open_details(cipher, job)
    lines, types = open_chunk(scope, chunk, cipher), registry_of(scope)
    results: dict[int, Result] = {}
    by_person: dict[str, dict[int, Proposal]] = {}
    unpinned: set[int] = set()
    is_stopped = False
    for line in lines:
        try:
            found = read_record(line.raw, end_user=details.end_user, since=job.created_at)
            check_type(found.proposal, types)
        except DomainError as refusal:
            results[line.number] = refusal
            if not job.continue_on_error:
                is_stopped = True
                break
        else:
            asked = replace(found.proposal, asked_at=job.created_at, is_imported=True, is_vouched=details.is_vouched)
            whose = found.end_user
            if found.namespace is not None:
                whose = name_in_namespace(own, found.namespace, whose)
            by_person.setdefault(whose, {})[line.number] = asked
            if asked.kept is not None and asked.kept.pinned and not asked.is_vouched:
                unpinned.add(line.number)
    for person in sorted(by_person):  # in a fixed order, so that two imports cannot deadlock
        erased_at = tombstones.block_person(own, person)
        if erased_at is not None and job.created_at <= erased_at:
            results |= dict.fromkeys(by_person[person])
            continue
        # The outbox computes the embeddings, so that the import is not as slow as the embedder.
        results |= remember_each(own, person, by_person[person], embeds_later=True, now=now)
    tally = ImportTally()
    for number in sorted(results):
        tally.add(number, results[number], is_unpinned=number in unpinned)
    job = _locked(scope, job.pk)
    _drop(scope, chunk)
    _count(job, tally, cipher, now=now)
    is_refused = tally.counts["rejected"] > 0 and not job.continue_on_error
    if (is_stopped or is_refused) and job.is_open:
        return _end(scope, job, ImportStatus.FAILED, now=now)
    return ImportOutcome.MORE


def _next_chunk(scope: Scope, job_id: int) -> ImportChunk | None:
    return ImportChunk.objects.within(scope).filter(job_id=job_id).order_by("first_line").first()


def _drop(scope: Scope, chunk: ImportChunk) -> None:
    """Delete the chunk.  The job's row is locked first, as by a cancellation.  Raises ChunkGone."""
    gone, _ = ImportChunk.objects.within(scope).filter(pk=chunk.pk).delete()
    if not gone:
        raise ChunkGone


# --- the job --------------------------------------------------------------------------------------------------------


def _locked(scope: Scope, job_id: int) -> ImportJob:
    """The job, locked until the end of the transaction, which is near: a cancellation does not wait for a whole batch.

    Raises ChunkGone if the job is deleted.
    """
    job = ImportJob.objects.within(scope).select_for_update(no_key=True).filter(pk=job_id).first()
    if job is None:
        raise ChunkGone
    return job


def _count(job: ImportJob, tally: ImportTally, cipher: SpaceCipher, *, now: datetime) -> None:
    for name, count in tally.counts.items():
        setattr(job, name, getattr(job, name) + count)
    job.processed_records += tally.counts.total()
    job.attempts = 0
    job.started_at = job.started_at or now
    if job.status == ImportStatus.PENDING:
        job.status = ImportStatus.RUNNING
    changed = ["processed_records", "attempts", "started_at", "status", *tally.counts]
    if tally.errors:
        _add_errors(job, tally.errors, cipher)
        changed += ["errors_ct", "details_ct", "revision", "key_version"]
    job.save(update_fields=changed)


def _add_errors(job: ImportJob, errors: Sequence[dict[str, Any]], cipher: SpaceCipher) -> None:
    """Append to the job's errors.  A row has one key version, so the other encrypted column is rewritten too."""
    kept = (open_errors(cipher, job) + list(errors))[:MOST_ERRORS]
    seal_job(job, open_details(cipher, job), kept, cipher)


def _end(scope: Scope, job: ImportJob, status: ImportStatus, *, now: datetime) -> ImportOutcome:
    if job.is_open:
        job.status, job.completed_at = status, now
        job.started_at = job.started_at or now
        job.save(update_fields=["status", "completed_at", "started_at"])
        record(
            scope,
            actor=job.actor,
            action=AuditAction.IMPORT_END,
            target=f"import:{job.pk}",
            reason=status.value,
            count=job.created,
            now=now,
        )
    _drop_chunks(scope, job)
    return ImportOutcome.OVER


def _drop_chunks(scope: Scope, job: ImportJob) -> None:
    ImportChunk.objects.within(scope).filter(job_id=job.pk).delete()


def _note_failure(scope: Scope, job_id: int, *, now: datetime) -> ImportOutcome:
    """A batch failed for an internal reason.  It is retried a few times; then the job fails and reports the line."""
    with tenant_transaction(scope):
        cipher = open_tenant(scope.tenant, writing=True)
        jobs = ImportJob.objects.within(scope).select_for_update(no_key=True)
        job = jobs.filter(pk=job_id, status__in=OPEN).first()
        if job is None:
            return ImportOutcome.OVER
        job.attempts += 1
        job.save(update_fields=["attempts"])
        if job.attempts < MOST_ATTEMPTS:
            return ImportOutcome.BUSY
        chunk = _next_chunk(scope, job_id)
        try:
            line = chunk.first_line if chunk else 0
            _add_errors(job, [{"line": line, "reason": "the batch that begins here could not be imported"}], cipher)
            job.save(update_fields=["errors_ct", "details_ct", "revision", "key_version"])
        except DecryptError:
            pass  # the job's own row cannot be decrypted
        return _end(scope, job, ImportStatus.FAILED, now=now)
