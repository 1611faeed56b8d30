"""What ``memsync up`` reckons for its children."""

import pytest

from memsync import gunicorn_conf, settings
from memsync.celery import QUEUES
from memsync.launcher.embedded_databases import CONNECTIONS, connections_needed


def test_every_process_finds_a_connection_for_each_of_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    to_the_broker = settings.PGMQ_OPTIONS["pool_size"]

    assert CONNECTIONS["web"] >= gunicorn_conf.threads * len(settings.DATABASES) + to_the_broker
    assert CONNECTIONS["worker"] >= len(settings.DATABASES) + to_the_broker
    # One process of each other queue, beat, and commands.
    assert CONNECTIONS["others"] >= len(QUEUES) * CONNECTIONS["worker"] + 20

    monkeypatch.setenv("WORKER_PROCESSES", "3")
    assert connections_needed(4) == 4 * CONNECTIONS["web"] + 3 * CONNECTIONS["worker"] + CONNECTIONS["others"]
