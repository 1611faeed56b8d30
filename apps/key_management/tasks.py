"""Celery tasks for key rotations and rewraps.  A task carries at most a rotation's id; the rows describe the work."""

import time

from celery import shared_task
from django.db import OperationalError, close_old_connections
from django.utils import timezone

from apps.core.slices import SLICE_SECONDS, SliceOutcome
from apps.key_management import keys, rotation, scheduler
from apps.key_management.models import KeyRewrap, KeyRotation
from apps.projects.scope import SYSTEM

PATIENCE_SECONDS = 30.0  # for a database that restarts
LONGEST_WAIT = 2.0


@shared_task(name="keys.tend", ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def tend(**_: object) -> None:
    """Scheduled key maintenance; queue tasks for rotations that need work."""
    for due in scheduler.run_due_key_work(now=timezone.now()):
        for _worker in range(due.workers):
            turn.apply_async(kwargs={"rotation_id": due.rotation_id})
    if KeyRewrap.objects.filter(finished_at=None).exists():
        rewrap.apply_async()


@shared_task(name="keys.rewrap", ignore_result=True)  # type: ignore[untyped-decorator]
def rewrap(**_: object) -> None:
    """Rewrap every key, if requested."""
    if KeyRewrap.objects.filter(finished_at=None).exists():
        keys.rewrap(SYSTEM, now=timezone.now())


@shared_task(name="keys.turn", ignore_result=True)  # type: ignore[untyped-decorator]
def turn(rotation_id: int, **_: object) -> None:
    """Work on a rotation for a while, and queue the task again if it is not finished."""
    if _work(rotation_id) == SliceOutcome.MORE:
        turn.apply_async(kwargs={"rotation_id": rotation_id})


def _work(rotation_id: int) -> SliceOutcome:
    """Work on the rotation, and retry while the database restarts: the next task may only be queued in a minute."""
    deadline, wait = time.monotonic() + PATIENCE_SECONDS, 0.1
    while True:
        try:
            one = KeyRotation.objects.filter(pk=rotation_id).first()
            if one is None:
                return SliceOutcome.OVER
            workers = scheduler.workers_for(one, now=timezone.now())
            return rotation.work(rotation_id, seconds=SLICE_SECONDS, workers=workers, clock=timezone.now)
        except OperationalError:
            if time.monotonic() > deadline:
                raise
            close_old_connections()
            time.sleep(wait)
            wait = min(LONGEST_WAIT, 2 * wait)
