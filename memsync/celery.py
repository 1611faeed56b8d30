"""The Celery application and the beat schedule.  Messages are doorbells: the work itself is rows in the outbox."""

import logging.config
import os
from collections.abc import Iterator
from typing import Any, Final

from celery import Celery
from celery.signals import setup_logging, task_failure, worker_ready
from django.conf import settings

from memsync.process import serve_quietly

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsync.settings")

LONGEST_ARGUMENT: Final = 64  # characters: ids are shorter, and what people say is not


class ArgumentRefused(TypeError):
    """A task was to be given more than ids.  Names the task, not the argument."""


class Doorbells(Celery):  # type: ignore[misc]  # Celery ships no types
    """Sends tasks whose arguments are ids: messages lie readable in the broker, arguments twice over."""

    def send_task(self, name: str, args: Any = None, kwargs: Any = None, *rest: Any, **options: Any) -> Any:
        for value in _leaves([args or (), kwargs or {}]):
            is_short = isinstance(value, bool | int | float | str) and len(str(value)) <= LONGEST_ARGUMENT
            if value is not None and not is_short:
                raise ArgumentRefused(f"{name}: an argument is an id, or another value of at most 64 characters")
        shown = {"argsrepr": "-", "kwargsrepr": "-"}  # Celery would repeat the arguments in the message's headers
        return super().send_task(name, args, kwargs, *rest, **(options | shown))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


app = Doorbells("memsync")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    "drain the outbox": {"task": "ingest.drain", "schedule": 2.0, "options": {"expires": 2.0}},
    "expire what is past its time": {"task": "memories.expire", "schedule": 60.0},
    "look after summaries": {"task": "summaries.tend", "schedule": 60.0},
    # Oftener than a checkpoint falls due, since a thousand rows make one fall due early.
    "go on with imports": {"task": "imports.tend", "schedule": 15.0},
    "go on with exports": {"task": "exports.tend", "schedule": 15.0},
    "sign the audit trail": {"task": "audit.checkpoint", "schedule": 10.0},
    "close what nobody reviewed": {"task": "ingest.expire_candidates", "schedule": 300.0},
    "close requests to forget": {"task": "retention.expire_requests", "schedule": 3600.0},
    "let go of old counts of requests": {"task": "apikeys.sweep_windows", "schedule": 3600.0},
    "let go of old traces": {"task": "recall.sweep_traces", "schedule": 3600.0},
    "let go of what was kept long enough": {
        "task": "retention.sweep",
        "schedule": 900.0,
        "options": {"expires": 900.0},
    },
    "carry erasures through": {"task": "retention.carry_through", "schedule": 300.0, "options": {"expires": 300.0}},
    "purge what was erased": {"task": "retention.purge", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "say what was not recalled for long": {
        "task": "retention.tier",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "go on with changes of types": {"task": "types.tend", "schedule": 15.0},
    "tell others": {"task": "webhooks.work", "schedule": 2.0, "options": {"expires": 2.0}},
    "let go of old deliveries": {"task": "webhooks.sweep", "schedule": 3600.0},
    "tend the keys": {"task": "keys.tend", "schedule": 60.0},
}


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery ships no types
def use_our_logging(**_: Any) -> None:
    """Celery would otherwise bring its own handlers, and print messages of exceptions."""
    serve_quietly()
    logging.config.dictConfig(settings.LOGGING)


@worker_ready.connect  # type: ignore[untyped-decorator]
def look_for_work(**_: Any) -> None:
    """Go on at once with what a worker left when it was killed, and not when its time comes round: rotations, imports,
    exports, changes of types."""
    app.send_task("keys.tend")
    app.send_task("imports.tend")
    app.send_task("exports.tend")
    app.send_task("types.tend")


@task_failure.connect  # type: ignore[untyped-decorator]
def log_failure(sender: Any = None, exception: Any = None, **_: Any) -> None:
    """Celery's own line quotes the exception, which may quote content; this names its class."""
    logging.getLogger(__name__).error(
        "task failed", extra={"kind": getattr(sender, "name", ""), "error": type(exception).__name__}
    )
