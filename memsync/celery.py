"""The Celery application and the beat schedule.  Messages only wake workers: the work itself is in outbox rows."""

import logging.config
import os
import warnings
from collections.abc import Iterator
from typing import Any, Final

from celery import Celery, Task
from celery.platforms import SecurityWarning
from celery.schedules import crontab
from celery.signals import (
    celeryd_init,
    setup_logging,
    task_failure,
    worker_init,
    worker_ready,
)
from django.conf import settings
from kombu.entity import Queue

from apps.core.retries import retried
from memsync.hardening import serve_quietly
from memsync.time_limits import limited

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsync.settings")

# The default queue takes what adds enqueue and everything unrouted; the others take files, and erasure, audit and keys.
QUEUES: Final = ("celery", "files", "upkeep")
ROUTES: Final = {
    "imports.*": {"queue": "files"},
    "exports.*": {"queue": "files"},
    "connectors.*": {"queue": "files"},
    "retention.*": {"queue": "upkeep"},
    "erasure.*": {"queue": "upkeep"},
    "audit.*": {"queue": "upkeep"},
    "keys.*": {"queue": "upkeep"},
}
LONGEST_ARGUMENT: Final = 64  # characters: ids are shorter, user text usually is not


class ArgumentRefused(TypeError):
    """A task was called with an argument that is not an id.  The message names the task, not the argument."""


class Retried(Task):  # type: ignore[misc]  # Celery ships no types
    """A task that runs again after its transaction was aborted, within its time limits.

    A task with several transactions retries each of them itself.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with limited(self.soft_time_limit, self.time_limit or settings.CELERY_TASK_TIME_LIMIT):
            return retried(super().__call__)(*args, **kwargs)


class IdOnlyCelery(Celery):  # type: ignore[misc]
    """Sends only tasks whose arguments are ids: messages are stored in plain text in the broker."""

    def send_task(self, name: str, args: Any = None, kwargs: Any = None, *rest: Any, **options: Any) -> Any:
        for value in _leaves([args or (), kwargs or {}]):
            is_short = isinstance(value, bool | int | float | str) and len(str(value)) <= LONGEST_ARGUMENT
            if value is not None and not is_short:
                raise ArgumentRefused(f"{name}: an argument is an id, or another value of at most 64 characters")
        shown = {"argsrepr": "-", "kwargsrepr": "-"}  # Celery would repeat the arguments in the message headers
        return super().send_task(name, args, kwargs, *rest, **(options | shown))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


app = IdOnlyCelery("memsync", task_cls=Retried)
app.set_default()  # Celery itself would set it only for the importing thread
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# Separate queues, so that one kind of task does not delay another.  Without --queues a worker consumes all of them.
app.conf.task_queues = [Queue(name, routing_key=name) for name in QUEUES]  # type: ignore[no-untyped-call]  # nor kombu
app.conf.task_routes = ROUTES
app.conf.beat_schedule = {
    "drain the outbox": {"task": "outbox.drain", "schedule": 2.0, "options": {"expires": 2.0}},
    "expire what is past its time": {"task": "memories.expire", "schedule": 60.0},
    "look after summaries": {"task": "summaries.tend", "schedule": 60.0},
    "reflect on sessions": {"task": "summaries.reflect", "schedule": crontab(hour="3", minute="0")},
    "go on with imports": {"task": "imports.work", "schedule": 2.0, "options": {"expires": 2.0}},
    "look after imports": {"task": "imports.tend", "schedule": 60.0, "options": {"expires": 60.0}},
    "go on with exports": {"task": "exports.tend", "schedule": 15.0},
    # More frequent than the checkpoint interval, since a thousand rows make a checkpoint due early.
    "sign the audit trail": {"task": "audit.checkpoint", "schedule": 10.0},
    "close what nobody reviewed": {"task": "ingest.expire_candidates", "schedule": 300.0},
    "delete expired state items": {"task": "ingest.purge_expired_state", "schedule": 300.0},
    "close requests to forget": {"task": "retention.expire_requests", "schedule": 3600.0},
    "erase what was confirmed": {
        "task": "retention.carry_out_erasures",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
    "shred branches that have ended": {
        "task": "retention.end_branches",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
    "delete old request counts": {"task": "apikeys.sweep_windows", "schedule": 3600.0},
    "delete sessions that have expired": {"task": "accounts.sweep_sessions", "schedule": 3600.0},
    "delete old recall traces": {"task": "recall.sweep_traces", "schedule": 3600.0},
    "apply retention rules": {
        "task": "retention.sweep",
        "schedule": 900.0,
        "options": {"expires": 900.0},
    },
    "carry erasures through": {"task": "erasure.carry_through", "schedule": 300.0, "options": {"expires": 300.0}},
    "purge what was erased": {"task": "erasure.purge", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "say what was not recalled for long": {
        "task": "retention.tier",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "go on with changes of types": {"task": "types.tend", "schedule": 15.0},
    "run connectors that are due": {"task": "connectors.tend", "schedule": 30.0, "options": {"expires": 30.0}},
    "tell others": {"task": "webhooks.work", "schedule": 2.0, "options": {"expires": 2.0}},
    "delete old webhook deliveries": {"task": "webhooks.sweep", "schedule": 3600.0},
    "tend the keys": {"task": "keys.tend", "schedule": 60.0},
}


@celeryd_init.connect  # type: ignore[untyped-decorator]
def keep_the_log_clean(**_: Any) -> None:
    """Suppress Celery's five-line warning about running as root: it concerns pickled messages, and ours are JSON."""
    warnings.filterwarnings("ignore", category=SecurityWarning)


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery ships no types
def use_our_logging(**_: Any) -> None:
    """Install our logging in place of Celery's handlers, which print exception messages."""
    serve_quietly()
    logging.config.dictConfig(settings.LOGGING)


@worker_init.connect  # type: ignore[untyped-decorator]
def listen(**_: Any) -> None:
    """Enable database notifications in workers only: other processes send messages and never read notifications."""
    _set_notify(True)


def _set_notify(is_on: bool) -> None:
    options = app.conf.broker_transport_options
    if "use_notify" in options:  # only the PostgreSQL queue has this option
        app.conf.broker_transport_options = {**options, "use_notify": is_on}


@worker_ready.connect  # type: ignore[untyped-decorator]
def look_for_work(**_: Any) -> None:
    """Resume at once what a killed worker left unfinished: rotations, imports, exports and changes of types."""
    app.send_task("keys.tend")
    app.send_task("imports.tend")
    app.send_task("imports.work")
    app.send_task("exports.tend")
    app.send_task("types.tend")


@task_failure.connect  # type: ignore[untyped-decorator]
def log_failure(sender: Any = None, exception: Any = None, **_: Any) -> None:
    """Log the exception's class only: Celery's own line quotes the exception, which may contain user content."""
    logging.getLogger(__name__).error(
        "task failed", extra={"kind": getattr(sender, "name", ""), "error": type(exception).__name__}
    )
