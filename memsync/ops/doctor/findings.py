"""What is found of a part: whether it is well, what is said of it, and what to do if it is not.

No finding holds content, a key or an address's password.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

GIB: Final = 1 << 30  # sizes are said in these

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


class State(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    part: str
    state: State
    said: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """patience: seconds to wait for beat to ring, and again for a worker to work."""

    now: datetime
    patience: float


def ok(part: str, said: str) -> DoctorFinding:
    return DoctorFinding(part, State.OK, said)


def warn(part: str, said: str, hint: str) -> DoctorFinding:
    return DoctorFinding(part, State.WARN, said, hint)


def fail(part: str, said: str, hint: str) -> DoctorFinding:
    return DoctorFinding(part, State.FAIL, said, hint)
