"""What ``memsync up`` reckons for its children."""

import pytest

from memsync import gunicorn_conf, settings
from memsync.celery import QUEUES
from memsync.supervisor import CONNECTIONS, connections_needed


def test_every_process_finds_a_connection_for_each_of_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    to_the_broker = settings.PGMQ_OPTIONS["pool_size"]

    assert CONNECTIONS["web"] >= gunicorn_conf.threads * len(settings.DATABASES) + to_the_broker
    assert CONNECTIONS["worker"] >= len(settings.DATABASES) + to_the_broker
    # One piece of work of each other queue at a time; each queue's worker and beat have a process beside it.
    assert CONNECTIONS["others"] >= (len(QUEUES) - 1) * CONNECTIONS["worker"] + (len(QUEUES) + 1) * (to_the_broker + 1)

    monkeypatch.setenv("WORKER_PROCESSES", "3")
    assert connections_needed(4) == 4 * CONNECTIONS["web"] + 3 * CONNECTIONS["worker"] + CONNECTIONS["others"]
