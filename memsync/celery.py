"""The Celery application and the beat schedule.  Messages are doorbells: the work itself is rows in the outbox."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsync.settings")

app = Celery("memsync")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    "drain the outbox": {"task": "ingest.drain", "schedule": 2.0},
    "expire what is past its time": {"task": "memories.expire", "schedule": 60.0},
}
