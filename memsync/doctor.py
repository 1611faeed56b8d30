"""Is everything well?  Each part is looked at by itself, so that one that is broken does not hide the next.

A finding says what is, and if it is not well, what to do.  No finding holds content, a key or an address's password.
"""

import platform
import secrets
import shutil
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.checks import ERROR, Tags, run_checks
from django.db import connections
from django.db.models import Min

from apps.adapters.errors import AdapterError
from apps.adapters.registry import get_classifier, get_embedder, get_kms
from apps.audit.models import OutboxEvent
from apps.audit.tasks import OF_THE_DOCTOR, answer
from apps.core.admin import OPERATOR
from apps.core.broker import notify
from apps.crypto import inspection
from apps.ingest.tasks import drain
from apps.memories.models import QuarantinedRow
from apps.upkeep.binding import list_unbound
from memsync import checks, instance

GIB: Final = 1 << 30
FREE_WARN, FREE_FAIL = 2 * GIB, GIB // 4
SKEW_WARN, SKEW_FAIL = timedelta(seconds=1), timedelta(seconds=30)
LATE_WARN, LATE_FAIL = timedelta(minutes=5), timedelta(hours=1)
ROOM: Final = 0.8  # of the connections that a server takes
QUEUE_WARN: Final = 10_000
PATIENCE: Final = 8.0  # seconds; beat rings every two


class State(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    state: State
    said: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """patience: seconds to wait for beat to ring, and again for a worker to work."""

    now: datetime
    patience: float


def ok(part: str, said: str) -> Finding:
    return Finding(part, State.OK, said)


def warn(part: str, said: str, hint: str) -> Finding:
    return Finding(part, State.WARN, said, hint)


def fail(part: str, said: str, hint: str) -> Finding:
    return Finding(part, State.FAIL, said, hint)


def examine(*, now: datetime, patience: float = PATIENCE) -> Iterator[Finding]:
    """Every finding, in the order in which one would mend them: files, settings, databases, keys, work."""
    for part, look in PARTS.items():
        try:
            yield from look(Visit(now, patience))
        except Exception as error:  # noqa: BLE001  (whatever is wrong with one part, the others are looked at)
            # Its class only: the message of a database's error may quote a row, that of a driver an address.
            yield fail(part, f"could not be looked at: {type(error).__name__}", HINTS.get(part, "See the logs."))


# -- this machine ------------------------------------------------------------------------------------------------------


def _versions(visit: Visit) -> Iterator[Finding]:
    names = ("django", "celery", "cryptography", "psycopg")
    of_libraries = ", ".join(f"{name} {version(name)}" for name in names)
    yield ok("versions", f"memsync {version('memsync')}, Python {platform.python_version()}, {of_libraries}")


def _files(visit: Visit) -> Iterator[Finding]:
    home = Path(settings.MEMSYNC_HOME)
    private = [home, home / instance.SECRETS_FILE, home / instance.INSTANCE_FILE, home / "logs", home / "postgres"]
    private += [home / "postgres" / "superuser", Path(settings.KMS["OPTIONS"].get("path") or home / instance.KEK_FILE)]
    there = [path for path in private if path.exists()]
    open_to_others = [path for path in there if stat.S_IMODE(path.stat().st_mode) & 0o077]
    for path in open_to_others:
        mode = "700" if path.is_dir() else "600"
        yield fail(
            "files", f"{path} is open to others than its owner", f"chmod {mode} {path}, and renew what it holds."
        )
    if not open_to_others:
        yield ok("files", f"{len(there)} files and directories of {home} are their owner's alone")


def _disk(visit: Visit) -> Iterator[Finding]:
    home = Path(settings.MEMSYNC_HOME)
    free = shutil.disk_usage(home if home.exists() else home.anchor).free
    said = f"{free / GIB:.1f} GiB free for {home}"
    if free < FREE_FAIL:
        yield fail("disk", said, "Free some space now: a full disk stops the database.")
    elif free < FREE_WARN:
        yield warn("disk", said, "Free some space.")
    else:
        yield ok("disk", said)


def _processes(visit: Visit) -> Iterator[Finding]:
    """Those of `memsync up`, where it runs here; elsewhere only their starter knows them."""
    running = instance.running().get("processes", {})
    for name, process in running.items():
        if not Path(f"/proc/{process['pid']}").exists():
            yield fail("processes", f"{name} does not run", "`memsync up` starts it again; see its log in the home.")
        elif process["restarts"]:
            yield warn("processes", f"{name} was started again {process['restarts']} times", "See its log in the home.")
    if not running:
        yield ok("processes", "started elsewhere than by `memsync up`")
    elif all(Path(f"/proc/{process['pid']}").exists() for process in running.values()):
        yield ok("processes", f"{', '.join(running)} run")


# -- settings and databases --------------------------------------------------------------------------------------------


def _settings(visit: Visit) -> Iterator[Finding]:
    yield from _checked("settings", run_checks(), "as they should be")


def _checked(part: str, messages: list[Any], well: str) -> Iterator[Finding]:
    loud = [message for message in messages if not message.is_silenced()]
    for message in loud:
        make = fail if message.level >= ERROR else warn
        yield make(part, f"{message.msg} ({message.id})", message.hint or "")
    if not loud:
        yield ok(part, well)


def _database(visit: Visit) -> Iterator[Finding]:
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "select current_setting('server_version'), current_user::text, pg_database_size(current_database()),"
            " (select extversion from pg_extension where extname = 'vector')"
        )
        server, role, size, pgvector = cursor.fetchone()
    yield ok("database", f"PostgreSQL {server}, pgvector {pgvector}, as {role}, {size / GIB:.2f} GiB")


def _room(visit: Visit) -> Iterator[Finding]:
    """Whether the data's server has connections left for who comes next."""
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "select count(*), current_setting('max_connections')::int"
            " - current_setting('superuser_reserved_connections')::int - current_setting('reserved_connections')::int"
            " from pg_stat_activity where backend_type = 'client backend'"
        )
        used, most = cursor.fetchone()
    said = f"{used} of {most} are open"
    if used > ROOM * most:
        yield warn("connections", said, HINTS["connections"])
    else:
        yield ok("connections", said)


def _keyring_database(visit: Visit) -> Iterator[Finding]:
    with connections["keyring"].cursor() as cursor:
        cursor.execute("select current_setting('server_version'), current_user::text")
        server, role = cursor.fetchone()
    yield ok("keyring", f"PostgreSQL {server}, as {role}")


def _walls(visit: Visit) -> Iterator[Finding]:
    messages = run_checks(tags=[Tags.database], databases=list(checks.DATABASES))
    tables = len(checks.tenant_tables())
    yield from _checked("walls", messages, f"row-level security is forced on {tables} tables; roles and logs are right")


def _clock(visit: Visit) -> Iterator[Finding]:
    before = datetime.now(UTC)
    with connections["default"].cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        (there,) = cursor.fetchone()
    skew = abs(there - (before + (datetime.now(UTC) - before) / 2))
    said = f"{skew.total_seconds():.3f} s between this machine and the database"
    hint = "Keep both by NTP: keys, sessions and expiry go by the clock."
    if skew > SKEW_FAIL:
        yield fail("clock", said, hint)
    elif skew > SKEW_WARN:
        yield warn("clock", said, hint)
    else:
        yield ok("clock", said)


# -- keys and meaning --------------------------------------------------------------------------------------------------


def _key_provider(visit: Visit) -> Iterator[Finding]:
    began = time.perf_counter()
    try:
        get_kms().health()
    except AdapterError as error:
        yield fail("key provider", f"a key cannot be wrapped and unwrapped: {error}", HINTS["key provider"])
        return
    milliseconds = (time.perf_counter() - began) * 1000
    yield ok("key provider", f"{get_kms().name} wraps and unwraps ({milliseconds:.0f} ms)")


def _keys(visit: Visit) -> Iterator[Finding]:
    found = inspection.unwrap_active_keys()
    if found.opened < found.all:
        lost = found.all - found.opened
        yield fail("keys", f"the active keys of {lost} of {found.all} tenants do not unwrap", HINTS["keys"])
    else:
        yield ok("keys", f"the active keys unwrap, of {found.all} tenant{'' if found.all == 1 else 's'}")
    oldest = inspection.oldest_root_key()
    if oldest is None:
        return
    days = (visit.now - oldest).days
    said = f"the oldest that writes use is {days} days old"
    if days > settings.KEY_MAX_AGE_DAYS:
        yield warn("keys", said, "Beat rotates it by schedule; if it does not, run `memsync keys rotate`.")
    else:
        yield ok("keys", said)


def _rows_that_grant(visit: Visit) -> Iterator[Finding]:
    found = Counter(one.kind for one in list_unbound())
    if found:
        said = "not what the service wrote, and good for nothing: "
        said += ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
        yield fail("rows that grant", said, HINTS["rows that grant"])
    else:
        yield ok("rows that grant", "keys, roles, tenants and people are as the service wrote them")


def _embedder(visit: Visit) -> Iterator[Finding]:
    embedder = get_embedder()
    began = time.perf_counter()
    vectors = embedder.embed(["Is everything well?"])
    milliseconds = (time.perf_counter() - began) * 1000
    yield ok("embedder", f"{embedder.id}: {vectors.shape[1]} dimensions, {milliseconds:.0f} ms with loading")


def _classifier(visit: Visit) -> Iterator[Finding]:
    classifier = get_classifier()
    if classifier is None:
        yield ok("classifier", "none: all is kept but what a guard or the filler refuses")
        return
    began = time.perf_counter()
    classifier.read("Is everything well?", [(0, 19)])
    classifier.compare("Is everything well?", ["All is well."])
    yield ok("classifier", f"{classifier.id}: {(time.perf_counter() - began) * 1000:.0f} ms with loading")


# -- work --------------------------------------------------------------------------------------------------------------


def _broker(visit: Visit) -> Iterator[Finding]:
    with ThreadPoolExecutor(1) as pool:  # as a request does it: in another thread than the one that set Django up
        scheme, waiting = pool.submit(_look_into_the_queue).result()
    said = f"{scheme}, {waiting} message{' waits' if waiting == 1 else 's wait'}"
    if waiting > QUEUE_WARN:
        yield warn("broker", said, "Start more workers.")
    else:
        yield ok("broker", said)


def _look_into_the_queue() -> tuple[str, int]:
    """What kind of broker there is, and how many messages wait.  By the application that tasks are sent by."""
    app = drain.app
    with app.connection_for_write(connect_timeout=3) as connection:
        connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=3)
        queue = connection.default_channel.queue_declare(queue=app.conf.task_default_queue, passive=True)
        return str(connection.transport_cls), int(queue.message_count)


def _outbox(visit: Visit) -> Iterator[Finding]:
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


def _worker_and_beat(visit: Visit) -> Iterator[Finding]:
    """A row of no tenant in the outbox, which no message announces: beat must, and a worker must take it out.

    When beat does not, we send the message ourselves, to know which of the two is missing.
    """
    row = OutboxEvent.objects.create(
        tenant_id=0, kind=OF_THE_DOCTOR, subject_id=secrets.randbits(62), run_after=visit.now - timedelta(days=365),
        created_at=visit.now,
    )  # fmt: skip
    try:
        began = time.monotonic()
        if _gone(row, visit.patience):
            yield ok(
                "worker and beat", f"work that no message announced was done after {time.monotonic() - began:.1f} s"
            )
            return
        threading.Thread(target=notify, args=[drain], daemon=True).start()  # a broker that is away would hold us up
        if _gone(row, visit.patience):
            yield fail("beat", "a worker works when a message tells it to, and beat sends none", HINTS["beat"])
        else:
            yield fail("worker", "work was not taken up, with a message and without", HINTS["worker"])
    finally:
        OutboxEvent.objects.filter(pk=row.pk).delete()


def _queues(visit: Visit) -> Iterator[Finding]:
    """A row of no tenant for each queue, and a message there to take it out; the rows are not due, so that only who
    takes the message does."""
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
        yield fail("queues", f"nobody takes from {', '.join(silent)}", HINTS["queues"])
    else:
        yield ok("queues", f"somebody takes from each: {', '.join(queues)}")


def _gone(row: OutboxEvent, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while OutboxEvent.objects.filter(pk=row.pk).exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _quarantine(visit: Visit) -> Iterator[Finding]:
    count = QuarantinedRow._default_manager.using(OPERATOR).count()
    if count:
        yield warn(
            "quarantine",
            f"{count} rows failed their seal and are left out of every answer",
            "The admin lists them: somebody changed or swapped them, or a disk did. Restore them from a backup.",
        )
    else:
        yield ok("quarantine", "no row failed its seal")


HINTS: Final = {
    "database": "Is `memsync up` running, and DATABASE_URL right?",
    "keyring": "Is KEYRING_URL right?",
    "walls": "Is the database there?",
    "connections": "Raise max_connections of PostgreSQL: whoever comes next waits, and workers stand still.",
    "key provider": "See KMS_BACKEND and KMS_OPTIONS. While it is away, keys are held for five minutes and no longer.",
    "keys": "Restore the key provider's key, or DEPLOYMENT_ID, as it was when they were made.",
    "rows that grant": "`memsync keys bind --dry-run` lists them. After a restore or an upgrade `memsync keys bind` "
    "makes them good again; otherwise somebody writes to the database.",
    "embedder": "See EMBEDDER_BACKEND. Until it works, what is added is found by its words only.",
    "classifier": "See CLASSIFIER_BACKEND. Until it works, all is kept but what a guard or the filler refuses.",
    "broker": "See CELERY_BROKER_URL. Adds go on; what waits in the outbox is done when it is back.",
    "worker": "Start a worker: `memsync up`, or `celery --app memsync.celery worker`.",
    "beat": "Start beat: `memsync up`, or `celery --app memsync.celery beat`.",
    "worker and beat": "Is the database there?",
    "queues": "Start a worker for each, or one without --queues (docs/guides/deploying.md).",
}

PARTS: Final[dict[str, Callable[[Visit], Iterator[Finding]]]] = {
    "versions": _versions,
    "files": _files,
    "disk": _disk,
    "processes": _processes,
    "settings": _settings,
    "database": _database,
    "connections": _room,
    "keyring": _keyring_database,
    "walls": _walls,
    "clock": _clock,
    "key provider": _key_provider,
    "keys": _keys,
    "rows that grant": _rows_that_grant,
    "embedder": _embedder,
    "classifier": _classifier,
    "broker": _broker,
    "outbox": _outbox,
    "worker and beat": _worker_and_beat,
    "queues": _queues,
    "quarantine": _quarantine,
}
