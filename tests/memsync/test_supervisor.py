"""What ``memsync up`` reckons for its children."""

import json
from typing import Any

import pytest

from memsync import gunicorn_conf, settings
from memsync.celery import QUEUES
from memsync.launcher import commands
from memsync.launcher.embedded_databases import CONNECTIONS, connections_needed
from memsync.launcher.supervisor import Supervisor


def test_every_process_finds_a_connection_for_each_of_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    to_the_broker = settings.PGMQ_OPTIONS["pool_size"]

    assert CONNECTIONS["web"] >= gunicorn_conf.threads * len(settings.DATABASES) + to_the_broker
    assert CONNECTIONS["worker"] >= len(settings.DATABASES) + to_the_broker
    # One process of each other queue, beat, and commands.
    assert CONNECTIONS["others"] >= len(QUEUES) * CONNECTIONS["worker"] + 20

    monkeypatch.setenv("WORKER_PROCESSES", "3")
    assert connections_needed(4) == 4 * CONNECTIONS["web"] + 3 * CONNECTIONS["worker"] + CONNECTIONS["others"]


ANSWER: dict[str, Any] = dict.fromkeys(("tenant", "project", "keys", "operator", "owner", "retention"))
EVERYWHERE = "0.0.0.0"  # noqa: S104


def supervisor(host: str) -> Supervisor:
    return Supervisor(commands.parser().parse_args(["up", "--json", "--host", host]))


@pytest.mark.parametrize(("host", "url"), [(EVERYWHERE, "http://127.0.0.1:8000"), ("::", "http://[::1]:8000")])
def test_who_listens_everywhere_is_told_to_name_the_hosts_that_others_ask_for(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ALLOWED_HOSTS", raising=False)
    supervisor(host)._say_ready(ANSWER)
    said = capsys.readouterr()
    assert json.loads(said.out)["url"] == url
    assert "set ALLOWED_HOSTS to" in said.err

    monkeypatch.setenv("ALLOWED_HOSTS", "memory.example.com")
    supervisor(host)._say_ready(ANSWER)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("given", ["", "memory.example.com"])
def test_the_server_answers_this_machine_whatever_hosts_are_named(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", given)

    allowed = supervisor("192.0.2.7")._serving_environment()["ALLOWED_HOSTS"].split(",")

    assert allowed == ["127.0.0.1", "localhost", "[::1]", "192.0.2.7", given]
