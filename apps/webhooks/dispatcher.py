"""Dispatch of due deliveries: lease, send outside a transaction, settle.

1. ``_lease`` takes due deliveries, counts the attempt and sets ``leased_until``; no other worker takes them before.
   At most ``MOST_OF_ONE`` deliveries per endpoint are in flight, so that a slow endpoint delays only itself.
2. ``_send`` posts each in a thread, within WEBHOOK_SECONDS; threads do not use the database.
3. ``_settle`` writes the result: delivered, to be retried, or given up.

The leases of a killed worker expire: its deliveries are sent again, with the same event id and delivery id.  Delivery
is at least once, never at most once.
"""

import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from apps.adapters.instances import get_sender
from apps.adapters.senders.base import AddressRefused, Answered, Sender, SendFailed
from apps.core.locks import lock
from apps.core.queries import execute, fetch_all
from apps.core.scoping import tenant_transaction
from apps.crypto.encrypted_tables import ciphers_of, report_broken
from apps.crypto.services import DecryptError, SpaceCipher, SpaceShredded, open_tenant
from apps.outbox.leases import turns
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Scope
from apps.projects.system import find_system_scope
from apps.webhooks.fanout import fan_out
from apps.webhooks.models import ENDPOINTS, OPEN, RESPONSE, DeliveryStatus, WebhookDelivery, WebhookEndpoint
from apps.webhooks.payloads import shown_id
from apps.webhooks.redelivery import DELIVER
from apps.webhooks.retry_policy import delay, is_retried
from apps.webhooks.services import PREVIOUS, DeliveryTarget, target_of
from apps.webhooks.signing import sign

logger = logging.getLogger(__name__)

SENDING: Final = "sending"  # value of the outbox row's ``error`` while a worker sends its delivery
IN_FLIGHT: Final = 10
MOST_OF_ONE: Final = 4  # concurrent deliveries per endpoint
LOOK: Final = 20  # due rows read per tenant and round
GRACE_SECONDS: Final = 20.0  # added to the longest duration of an attempt
AGAIN: Final = timedelta(seconds=30)
TELL_SECONDS: Final = 0.5  # for expanding events, between two rounds of sending
BUSY_SECONDS: Final = 0.2  # until deliveries of a busy endpoint are tried again
NEVER_AGAIN: Final = (403, 410)
AGENT: Final = f"memsync-webhooks/{version('memsync')}"

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One leased delivery with everything needed to send it."""

    scope: Scope
    delivery_id: int
    target: DeliveryTarget = field(repr=False)
    body: bytes = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOutcome:
    """Result of an attempt.  status: None if there was no response; error then holds the reason."""

    status: int | None
    error: str
    body: bytes = field(repr=False)
    latency_ms: int

    @property
    def is_delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def work(*, seconds: float, clock: Clock, sender: Sender | None = None) -> int:
    """Expand events and send until nothing is due or the time is over; returns the number of attempts.

    One worker sends at a time: if another one is sending, this one takes nothing.
    """
    deadline = time.monotonic() + seconds
    sender = sender or get_sender()
    running: dict[Future[DeliveryOutcome], Job] = {}
    attempts = 0
    with ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="webhook") as pool:
        while True:
            is_crowded, is_over, told = False, time.monotonic() >= deadline, 0
            if not is_over:
                told = fan_out(now=clock(), seconds=TELL_SECONDS)
                jobs, is_crowded = _lease(IN_FLIGHT - len(running), is_alone=not running, now=clock())
                running |= {pool.submit(_send, sender, job): job for job in jobs}
                attempts += len(jobs)
            if running:
                done, _ = wait(running, timeout=BUSY_SECONDS, return_when=FIRST_COMPLETED)
                for one in done:
                    _settle_or_leave(running.pop(one), one.result(), now=clock())
            elif is_crowded:
                time.sleep(BUSY_SECONDS)
            elif not told:
                return attempts


def sweep(scope: Scope, *, now: datetime) -> None:
    """Delete deliveries that ended long ago."""
    with tenant_transaction(scope):
        execute(
            "delete from webhooks_webhookdelivery where tenant_id = %s and completed_at < %s",
            [scope.tenant_id, now - timedelta(days=settings.WEBHOOK_DAYS)],
        )


def _sending() -> QuerySet[OutboxEvent]:
    return OutboxEvent.objects.filter(kind=DELIVER, error=SENDING)


# --- leasing ----------------------------------------------------------------------------------------------------------


def _lease(free: int, *, is_alone: bool, now: datetime) -> tuple[list[Job], bool]:
    """The deliveries to send, and whether others were due whose endpoint is at its limit.

    is_alone: this worker sends nothing yet, so it takes nothing if another worker is sending.
    """
    if not free:
        return [], False
    with transaction.atomic():
        lock("webhooks", "lease")  # else two workers could both take the endpoint's last free slot
        if is_alone and _sending().filter(run_after__gt=now).exists():
            return [], False
        waiting = turns([DELIVER], now=now)
        jobs: list[Job] = []
        crowded: list[int] = []
        for tenant_id, _ in random.sample(waiting, len(waiting)):  # random order: no tenant is always first
            if len(jobs) >= free:
                break
            due = OutboxEvent.objects.select_for_update(skip_locked=True).filter(kind=DELIVER, run_after__lte=now)
            rows = list(due.filter(tenant_id=tenant_id).order_by("run_after", "pk")[:LOOK])
            scope = find_system_scope(tenant_id)
            if scope is None:  # the tenant is closed: nothing is sent
                OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).delete()
                continue
            try:
                with tenant_transaction(scope):
                    jobs += _lease_in(scope, rows, free - len(jobs), crowded, now=now)
            except Exception as error:  # noqa: BLE001  (its keys, say: other tenants do not wait for that)
                logger.warning("webhooks put back", extra={"tenant": tenant_id, "error": type(error).__name__})
                OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).update(run_after=now + AGAIN)
        # Postpone them, so that they do not block the rows behind them.
        later = now + timedelta(seconds=BUSY_SECONDS)
        OutboxEvent.objects.filter(pk__in=crowded).update(run_after=later)
        return jobs, bool(crowded)


def _lease_in(scope: Scope, rows: list[OutboxEvent], free: int, crowded: list[int], *, now: datetime) -> list[Job]:
    cipher = open_tenant(scope.tenant)
    mine = WebhookDelivery.objects.within(scope).filter(pk__in=[row.subject_id for row in rows], status__in=OPEN)
    waiting = list(mine.order_by("pk").select_for_update())  # same lock order as every code that locks several
    deliveries = {one.pk: one for one in waiting}
    endpoints = {
        one.pk: one for one in WebhookEndpoint.objects.within(scope).filter(pk__in={one.endpoint_id for one in waiting})
    }
    busy = _busy(scope, now=now)
    jobs: list[Job] = []
    for row in rows:
        delivery = deliveries.get(row.subject_id)
        endpoint = endpoints.get(delivery.endpoint_id) if delivery else None
        if delivery is None or endpoint is None or not endpoint.is_enabled:
            row.delete()  # deleted or done; or paused, then requested again by resume
        elif delivery.leased_until is not None and delivery.leased_until > now:
            row.run_after = delivery.leased_until  # requested again while it was being sent
            row.save(update_fields=["run_after"])
        elif busy.get(endpoint.pk, 0) >= MOST_OF_ONE:
            crowded.append(row.pk)
        elif len(jobs) < free:
            job = _take(scope, row, delivery, endpoint, cipher, now=now)
            if job is not None:
                jobs.append(job)
                busy[endpoint.pk] = busy.get(endpoint.pk, 0) + 1
    return jobs


def _busy(scope: Scope, *, now: datetime) -> dict[int, int]:
    """Number of deliveries in flight per endpoint."""
    rows = fetch_all(
        "select endpoint_id, count(*) from webhooks_webhookdelivery "
        "where tenant_id = %s and leased_until > %s group by endpoint_id",
        [scope.tenant_id, now],
    )
    return dict(rows)


def _take(
    scope: Scope, row: OutboxEvent, delivery: WebhookDelivery, endpoint: WebhookEndpoint, cipher: SpaceCipher, *,
    now: datetime,
) -> Job | None:  # fmt: skip
    """Count the attempt before it is made, so that a delivery that kills its worker is not retried for ever."""
    if delivery.attempt_number >= delivery.max_attempts:
        _end(row, delivery, endpoint, DeliveryStatus.DEAD_LETTER, "interrupted", now=now)
        return None
    try:
        target = target_of(endpoint, cipher, now=now)
    except DecryptError as error:
        report_broken(scope, error, endpoint.pk, space_id=None, table=ENDPOINTS, now=now)
        _end(row, delivery, endpoint, DeliveryStatus.DEAD_LETTER, "unreadable", now=now)
        return None
    until = now + timedelta(seconds=settings.WEBHOOK_SECONDS + GRACE_SECONDS)
    row.run_after, row.error = until, SENDING
    row.attempts += 1
    row.save(update_fields=["run_after", "error", "attempts"])
    delivery.attempt_number += 1
    delivery.leased_until, delivery.next_retry_at = until, None
    delivery.save(update_fields=["attempt_number", "leased_until", "next_retry_at"])
    return _job(scope, delivery, endpoint, target, now=now)


def _job(
    scope: Scope, delivery: WebhookDelivery, endpoint: WebhookEndpoint, target: DeliveryTarget, *, now: datetime
) -> Job:
    body, timestamp = delivery.payload.encode(), int(now.timestamp())
    signature = sign(target.secret, endpoint.signature_algorithm, timestamp, body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "X-MemorySync-Event": delivery.event_type,
        "X-MemorySync-Event-ID": shown_id(delivery.event_id),
        "X-MemorySync-Delivery-ID": str(delivery.pk),
        endpoint.timestamp_header: str(timestamp),
        endpoint.signature_header: signature,
    }
    if target.former is not None:
        former = sign(target.former, endpoint.signature_algorithm, timestamp, body)
        headers[endpoint.signature_header + PREVIOUS] = former
    return Job(scope=scope, delivery_id=delivery.pk, target=target, body=body, headers=headers, signature=signature)


# --- sending ----------------------------------------------------------------------------------------------------------


def _send(sender: Sender, job: Job) -> DeliveryOutcome:
    began = time.monotonic()
    answered: Answered | None = None
    try:
        answered = sender.post(job.target.url, job.body, job.headers, seconds=settings.WEBHOOK_SECONDS)
        error = ""
    except AddressRefused as refused:
        error = f"refused_{refused.cause}"
    except SendFailed as failed:
        error = failed.cause
    except Exception as unexpected:  # noqa: BLE001  (whatever it is: it is settled like any other failure)
        logger.warning("webhook not sent", extra={"error": type(unexpected).__name__})
        error = "internal"
    return DeliveryOutcome(
        status=answered.status if answered else None,
        error=error,
        body=answered.body if answered else b"",
        latency_ms=round((time.monotonic() - began) * 1000),
    )


# --- settling ---------------------------------------------------------------------------------------------------------


def _settle_or_leave(job: Job, outcome: DeliveryOutcome, *, now: datetime) -> None:
    """If settling fails, the delivery is sent again after its lease expires."""
    try:
        _settle(job, outcome, now=now)
    except Exception as error:  # noqa: BLE001  (whatever it is: the others are settled all the same)
        logger.warning("webhook not settled", extra={"tenant": job.scope.tenant_id, "error": type(error).__name__})


def _settle(job: Job, outcome: DeliveryOutcome, *, now: datetime) -> None:
    scope = job.scope
    with tenant_transaction(scope):
        row = _sending().filter(tenant_id=scope.tenant_id, subject_id=job.delivery_id).select_for_update().first()
        delivery = WebhookDelivery.objects.within(scope).filter(pk=job.delivery_id).select_for_update().first()
        if row is None or delivery is None:  # another worker settled it after the lease expired, or it was erased
            return
        endpoint = WebhookEndpoint.objects.within(scope).get(pk=delivery.endpoint_id)
        delivery.status_code, delivery.latency_ms = outcome.status, outcome.latency_ms
        delivery.error, delivery.signature = _error(outcome), job.signature
        delivery.attempts = [*delivery.attempts, _attempt(outcome, now=now)]
        _keep_response(scope, delivery, outcome.body)
        _log(job, delivery, outcome)
        if outcome.is_delivered:
            _end(row, delivery, endpoint, DeliveryStatus.DELIVERED, "", now=now)
        elif outcome.status in NEVER_AGAIN:
            _end(row, delivery, endpoint, DeliveryStatus.DEAD_LETTER, delivery.error, now=now)
        elif not endpoint.retry_enabled or not is_retried(endpoint, outcome.status):
            _end(row, delivery, endpoint, DeliveryStatus.FAILED, delivery.error, now=now)
        elif delivery.attempt_number >= delivery.max_attempts:
            _end(row, delivery, endpoint, DeliveryStatus.DEAD_LETTER, delivery.error, now=now)
        else:
            _put_back(row, delivery, endpoint, now=now)


def _put_back(row: OutboxEvent, delivery: WebhookDelivery, endpoint: WebhookEndpoint, *, now: datetime) -> None:
    delivery.status, delivery.leased_until = DeliveryStatus.RETRYING, None
    delivery.next_retry_at = now + delay(endpoint, delivery.attempt_number)
    delivery.save()
    row.run_after, row.error = delivery.next_retry_at, ""
    row.save(update_fields=["run_after", "error"])
    _count(endpoint, delivery, now=now)


def _end(
    row: OutboxEvent, delivery: WebhookDelivery, endpoint: WebhookEndpoint, status: DeliveryStatus, error: str, *,
    now: datetime,
) -> None:  # fmt: skip
    delivery.status, delivery.error = status, error
    delivery.leased_until, delivery.next_retry_at, delivery.completed_at = None, None, now
    delivery.save()
    row.delete()
    _count(endpoint, delivery, now=now)


def _count(endpoint: WebhookEndpoint, delivery: WebhookDelivery, *, now: datetime) -> None:
    """Update the endpoint's statistics."""
    is_delivered, is_over = delivery.status == DeliveryStatus.DELIVERED, delivery.status not in OPEN
    changes: dict[str, Any] = {"last_triggered_at": now, "last_status_code": delivery.status_code}
    if is_delivered:
        changes |= {"last_success_at": now, "consecutive_failures": 0}
    else:
        changes |= {"last_failure_at": now, "last_error": delivery.error}
        changes["consecutive_failures"] = F("consecutive_failures") + 1
    if is_over:
        changes["total_deliveries"] = F("total_deliveries") + 1
        changes["successful_deliveries"] = F("successful_deliveries") + int(is_delivered)
    WebhookEndpoint.objects.within(endpoint).filter(pk=endpoint.pk).update(**changes)


def _keep_response(scope: Scope, delivery: WebhookDelivery, body: bytes) -> None:
    """Encrypted, because a response may contain anything."""
    try:
        cipher = (
            open_tenant(scope.tenant, writing=True)
            if delivery.space_id is None
            else _locked_cipher(scope, delivery.space_id)
        )
    except SpaceShredded:
        delivery.response_ct, delivery.key_version = None, None
        return
    delivery.response_ct = cipher.seal(RESPONSE, delivery.pk, body) if body else None
    delivery.key_version = cipher.key_version if body else None


def _locked_cipher(scope: Scope, space_id: int) -> SpaceCipher:
    open_tenant(scope.tenant, writing=True)  # blocks a key rotation
    return ciphers_of(scope, {space_id})[space_id]


def _error(outcome: DeliveryOutcome) -> str:
    return outcome.error or ("" if outcome.is_delivered else f"status_{outcome.status}")


def _attempt(outcome: DeliveryOutcome, *, now: datetime) -> dict[str, Any]:
    return {
        "at": now.isoformat(),
        "status_code": outcome.status,
        "latency_ms": outcome.latency_ms,
        "error": _error(outcome),
    }


def _log(job: Job, delivery: WebhookDelivery, outcome: DeliveryOutcome) -> None:
    logger.info(
        "webhook attempt",
        extra={
            "tenant": job.scope.tenant_id,
            "kind": delivery.event_type,
            "attempt": delivery.attempt_number,
            "status": outcome.status,
            "ms": outcome.latency_ms,
            "error": _error(outcome),
        },
    )
