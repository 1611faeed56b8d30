"""Checks of background work: the broker, the outbox, beat, the workers and their queues."""

import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final

from django.db.models import Min

from apps.core.broker import notify
from apps.outbox.handlers import OF_THE_DOCTOR
from apps.outbox.models import OutboxEvent
from apps.outbox.tasks import answer, drain
from memsync.ops.doctor.findings import HINTS, DoctorFinding, Visit, fail, ok, warn

LATE_WARN, LATE_FAIL = timedelta(minutes=5), timedelta(hours=1)
QUEUE_WARN: Final = 10_000


def check_broker(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the broker answers, and how many messages are queued."""
    with ThreadPoolExecutor(1) as pool:  # in another thread than Django's setup, as in a request
        scheme, waiting = pool.submit(_look_into_the_queue).result()
    said = f"{scheme}, {waiting} message{' waits' if waiting == 1 else 's wait'}"
    if waiting > QUEUE_WARN:
        yield warn("broker", said, "Start more workers.")
    else:
        yield ok("broker", said)


def _look_into_the_queue() -> tuple[str, int]:
    """The broker's transport and its number of queued messages, through the application that sends tasks."""
    app = drain.app
    with app.connection_for_write(connect_timeout=3) as connection:
        connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=3)
        queue = connection.default_channel.queue_declare(queue=app.conf.task_default_queue, passive=True)
        return str(connection.transport_cls), int(queue.message_count)


def check_outbox(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether outbox events are late or fail."""
    rows = OutboxEvent.objects.exclude(kind=OF_THE_DOCTOR)
    count, failing = rows.count(), rows.exclude(error="").count()
    oldest = rows.filter(run_after__lte=visit.now).aggregate(at=Min("run_after"))["at"]
    late = visit.now - oldest if oldest else timedelta(0)
    said = f"{count} pieces of work wait, {failing} failed before"
    if late > timedelta(seconds=30):
        said += f", the oldest due for {int(late.total_seconds() // 60)} min"
    if late > LATE_FAIL:
        yield fail("outbox", said, HINTS["worker"])
    elif late > LATE_WARN or failing:
        yield warn("outbox", said, "The log of the worker says why: `work put back`.")
    else:
        yield ok("outbox", said)


def check_worker_and_beat(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether beat triggers the outbox and a worker drains it, using a test event of no tenant.

    No message announces the event, so beat must send one.  If it does not, send it here, to tell which part is missing.
    """
    row = OutboxEvent.objects.create(
        tenant_id=0, kind=OF_THE_DOCTOR, subject_id=secrets.randbits(62), run_after=visit.now - timedelta(days=365),
        created_at=visit.now,
    )  # fmt: skip
    try:
        began = time.monotonic()
        if _gone(row, visit.patience):
            yield ok("worker and beat", f"work without a message was done after {time.monotonic() - began:.1f} s")
            return
        threading.Thread(target=notify, args=[drain], daemon=True).start()  # an unreachable broker blocks
        if _gone(row, visit.patience):
            yield fail("beat", "a worker processes messages, but beat sends none", HINTS["beat"])
        else:
            yield fail("worker", "work was not processed, with or without a message", HINTS["worker"])
    finally:
        OutboxEvent.objects.filter(pk=row.pk).delete()


def check_queues(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether a worker consumes each queue, using one test event and one message per queue.

    The events are not due, so that only the worker that takes the message removes them.
    """
    queues = [queue.name for queue in drain.app.conf.task_queues]
    rows = [
        OutboxEvent.objects.create(
            tenant_id=0, kind=OF_THE_DOCTOR, subject_id=secrets.randbits(62), run_after=visit.now + timedelta(days=1),
            created_at=visit.now,
        )
        for queue in queues
    ]  # fmt: skip
    try:
        with ThreadPoolExecutor(1) as pool:
            for queue, row in zip(queues, rows, strict=True):
                options = {"kwargs": {"number": row.subject_id}, "queue": queue, "expires": 60}
                pool.submit(answer.apply_async, **options).result()
        until = time.monotonic() + visit.patience
        silent = [
            queue for queue, row in zip(queues, rows, strict=True) if not _gone(row, max(0.0, until - time.monotonic()))
        ]
    finally:
        OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).delete()
    if silent:
        yield fail("queues", f"no worker consumes {', '.join(silent)}", HINTS["queues"])
    else:
        yield ok("queues", f"a worker consumes each: {', '.join(queues)}")


def _gone(row: OutboxEvent, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while OutboxEvent.objects.filter(pk=row.pk).exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
