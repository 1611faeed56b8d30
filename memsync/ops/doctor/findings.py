"""A finding of the doctor: the part, its status, a message, and how to fix a problem.

No finding holds content, a key, or the password of a URL.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

GIB: Final = 1 << 30  # unit of sizes in messages

HINTS: Final = {
    "database": "Is `memsync up` running, and DATABASE_URL right?",
    "keyring": "Is KEYRING_URL right?",
    "walls": "Is the database there?",
    "connections": "Raise max_connections of PostgreSQL: new connections wait, and workers are blocked.",
    "key provider": "See KMS_BACKEND and KMS_OPTIONS. While it is unavailable, keys are cached for five minutes only.",
    "keys": "Restore the key provider's key, or the original DEPLOYMENT_ID.",
    "rows that grant": "`memsync keys bind --dry-run` lists them. After a restore or an upgrade `memsync keys bind` "
    "accepts them; otherwise someone else writes to the database.",
    "embedder": "See EMBEDDER_BACKEND. Until it works, new memories are found by keywords only.",
    "classifier": "See CLASSIFIER_BACKEND. Until it works, only guards and the filler reject input.",
    "broker": "See CELERY_BROKER_URL. Adds continue; the outbox is processed when it is back.",
    "worker": "Start a worker: `memsync up`, or `python -m memsync.launcher.workers`.",
    "beat": "Start beat: `memsync up`, or `celery --app memsync.celery beat`.",
    "worker and beat": "Is the database there?",
    "queues": "Start a worker for each, or one without WORKER_QUEUES (docs/guides/deploying.md).",
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
    """Parameters of an examination. patience: seconds to wait for beat, and again for a worker."""

    now: datetime
    patience: float


def ok(part: str, said: str) -> DoctorFinding:
    return DoctorFinding(part, State.OK, said)


def warn(part: str, said: str, hint: str) -> DoctorFinding:
    return DoctorFinding(part, State.WARN, said, hint)


def fail(part: str, said: str, hint: str) -> DoctorFinding:
    return DoctorFinding(part, State.FAIL, said, hint)
