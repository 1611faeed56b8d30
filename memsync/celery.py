"""The Celery application and the beat schedule.  Messages are doorbells: the work itself is rows in the outbox."""

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, task_failure
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsync.settings")

app = Celery("memsync")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    "drain the outbox": {"task": "ingest.drain", "schedule": 2.0},
    "expire what is past its time": {"task": "memories.expire", "schedule": 60.0},
}


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery ships no types
def use_our_logging(**_: Any) -> None:
    """Celery would otherwise bring its own handlers, and print messages of exceptions."""
    logging.config.dictConfig(settings.LOGGING)


@task_failure.connect  # type: ignore[untyped-decorator]
def log_failure(sender: Any = None, exception: Any = None, **_: Any) -> None:
    """Celery's own line quotes the exception, which may quote content; this names its class."""
    logging.getLogger(__name__).error(
        "task failed", extra={"kind": getattr(sender, "name", ""), "error": type(exception).__name__}
    )
