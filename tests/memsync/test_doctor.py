"""`memsync doctor`: what it says where all is well, and each failure it must see."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import override_settings

from apps.adapters.embedders.fake import FailingEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.crypto.models import TenantKey
from apps.outbox import handlers
from apps.outbox.handlers import OF_THE_DOCTOR
from apps.outbox.models import OutboxEvent
from apps.outbox.tasks import answer
from memsync.launcher.embedded import roles
from memsync.ops.doctor import background_work, databases, examination, keys_and_models, machine
from memsync.ops.doctor.findings import DoctorFinding, State, Visit
from memsync.testing.databases import PASSWORD
from tests import workers
from tests.architecture import canaries
from tests.makers import NOW

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


def examine(part: str = "", *, patience: float = 0.2) -> list[DoctorFinding]:
    """What is found, of every part or of one."""
    parts = {name: look for name, look in examination.PARTS.items() if not part or part in name.split(" and ")}
    with patch.object(examination, "PARTS", parts):
        found = list(examination.examine(now=datetime.now(UTC), patience=patience))
    return [finding for finding in found if not part or finding.part == part]


def states(part: str = "", *, patience: float = 0.2) -> dict[str, State]:
    """The worst state of each part, or of one."""
    worst: dict[str, State] = {}
    order = list(State)
    for finding in examine(part, patience=patience):
        assert finding.hint or finding.state is State.OK, finding
        worst[finding.part] = max(finding.state, worst.get(finding.part, State.OK), key=order.index)
    return worst


@contextmanager
def worker() -> Iterator[None]:
    """What beat and a worker do about the outbox, in a thread."""
    stop = threading.Event()

    def work_on() -> None:
        while not stop.wait(0.02):
            handlers.process_due_events(now=datetime.now(UTC))
        connections.close_all()

    thread = threading.Thread(target=work_on)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_healthy_installation_is_told_so(acme: OpenedTenant, pgmq_url: str) -> None:
    with canaries.broker(pgmq_url), workers.worker(pgmq_url), worker():
        found = states(patience=60.0)

    assert {part: state for part, state in found.items() if state is not State.OK} == {
        "walls": State.WARN  # the tests' server does not wait for the disk
    }
    assert list(found) == list(dict.fromkeys(examination.PARTS))
    assert not OutboxEvent.objects.exists()


def test_queue_that_nobody_takes_from_is_named(acme: OpenedTenant, pgmq_url: str) -> None:
    with canaries.broker(pgmq_url), workers.worker(pgmq_url, queues="celery,files"):
        until = time.monotonic() + 60
        while True:
            (found,) = examine("queues", patience=2.0)
            if found.said == "no worker consumes upkeep" or time.monotonic() > until:
                break

    assert (found.state, found.said) == (State.FAIL, "no worker consumes upkeep")
    assert not OutboxEvent.objects.exists()


def test_answering_the_doctor_takes_out_its_own_row_alone(acme: OpenedTenant) -> None:
    def row(tenant_id: int) -> int:
        return OutboxEvent.objects.create(
            tenant_id=tenant_id, kind=OF_THE_DOCTOR, subject_id=7, run_after=NOW, created_at=NOW
        ).pk

    own, foreign = row(0), row(acme.tenant.pk)

    answer(number=7)

    assert list(OutboxEvent.objects.filter(pk__in=[own, foreign]).values_list("pk", flat=True)) == [foreign]


def test_server_that_has_few_connections_left_is_found(acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states("connections") == {"connections": State.OK}

    monkeypatch.setattr(databases, "ROOM", 0.0)
    assert states("connections") == {"connections": State.WARN}


def test_key_file_that_others_can_read_is_found(acme: OpenedTenant) -> None:
    kek = Path(settings.KMS["OPTIONS"]["path"])
    kek.chmod(0o644)
    try:
        found = states()
    finally:
        kek.chmod(0o600)

    assert (found["files"], found["key provider"], found["keys"]) == (State.FAIL, State.FAIL, State.FAIL)


def test_worker_that_does_not_work_is_found(acme: OpenedTenant) -> None:
    assert states("worker")["worker"] is State.FAIL
    assert not OutboxEvent.objects.exists()


def drain_once() -> None:
    handlers.process_due_events(now=datetime.now(UTC))
    connections.close_all()


def test_beat_that_does_not_ring_is_told_from_a_worker_that_is_gone(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_work, "notify", lambda task: drain_once())

    assert states("beat", patience=1.5)["beat"] is State.FAIL


def test_wrong_role_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with as_role(monkeypatch, USER=roles.OWNER, PASSWORD=PASSWORD):
        assert states("walls")["walls"] is State.FAIL


def test_database_that_cannot_be_reached_hides_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with as_role(monkeypatch, HOST="127.0.0.1", PORT="1"):
        found = states()

    assert (found["database"], found["outbox"]) == (State.FAIL, State.FAIL)
    assert (found["keyring"], found["embedder"], found["key provider"]) == (State.OK, State.OK, State.OK)


@contextmanager
def as_role(monkeypatch: pytest.MonkeyPatch, **changed: str) -> Iterator[None]:
    with monkeypatch.context() as patch:
        connections["default"].close()
        for name, value in changed.items():
            patch.setitem(connections["default"].settings_dict, name, value)
        yield
        connections["default"].close()
    connections["default"].close()


def test_key_that_does_not_unwrap_is_found(acme: OpenedTenant, globex: OpenedTenant) -> None:
    TenantKey.objects.filter(tenant_uid=globex.tenant.uid, kind="identity").update(wrapped=b"x" * 60)

    (finding,) = examine("keys")[:1]

    assert (finding.state, "1 of 2 tenants" in finding.said) == (State.FAIL, True)


def test_other_deployment_id_is_found(acme: OpenedTenant) -> None:
    with override_settings(DEPLOYMENT_ID="another"):
        assert states("walls")["walls"] is State.FAIL


def test_embedder_that_is_down_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_and_models, "get_embedder", FailingEmbedder)

    assert states("embedder")["embedder"] is State.FAIL


def test_broker_that_is_away_is_found() -> None:
    with canaries.broker("amqp://nobody:nothing@127.0.0.1:1//"):
        assert states("broker")["broker"] is State.FAIL


@pytest.mark.parametrize(
    ("late", "error", "expected"),
    [
        (timedelta(seconds=5), "", State.OK),
        (timedelta(minutes=10), "", State.WARN),
        (timedelta(seconds=5), "temporary", State.WARN),
        (timedelta(hours=2), "", State.FAIL),
    ],
)
def test_work_that_waits_too_long_is_found(acme: OpenedTenant, late: timedelta, error: str, expected: State) -> None:
    now = datetime.now(UTC)
    OutboxEvent.objects.create(
        tenant_id=acme.tenant.pk, kind="embed", subject_id=1, run_after=now - late, error=error, created_at=now
    )

    assert states("outbox")["outbox"] is expected


@pytest.mark.parametrize(("free", "expected"), [(1 << 20, State.FAIL), (1 << 30, State.WARN), (1 << 40, State.OK)])
def test_full_disk_is_found(monkeypatch: pytest.MonkeyPatch, free: int, expected: State) -> None:
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))

    assert states("disk")["disk"] is expected


@pytest.mark.parametrize(
    ("ahead", "expected"), [(timedelta(seconds=3), State.WARN), (timedelta(minutes=5), State.FAIL)]
)
def test_clocks_that_differ_are_found(monkeypatch: pytest.MonkeyPatch, ahead: timedelta, expected: State) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Ahead":
            moved = datetime.now(tz) + ahead
            return cls.fromtimestamp(moved.timestamp(), tz)

    monkeypatch.setattr(databases, "datetime", Ahead)

    assert states("clock")["clock"] is expected


def test_process_that_died_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    running = {"processes": {"web": {"pid": os.getpid(), "restarts": 0}, "worker": {"pid": 2**30, "restarts": 0}}}
    monkeypatch.setattr(machine.instance, "running", lambda: running)

    assert states("processes")["processes"] is State.FAIL


def test_no_finding_quotes_a_password_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def leak(visit: Visit) -> Iterator[DoctorFinding]:
        raise RuntimeError("DETAIL: Key (text)=(my diary) already exists.")
        yield

    monkeypatch.setitem(examination.PARTS, "embedder", leak)
    with as_role(monkeypatch, HOST="127.0.0.1", PORT="1"):
        shown = " ".join(f"{finding.said} {finding.hint}" for finding in examine())

    assert "my diary" not in shown
    assert "RuntimeError" in shown
    assert str(connections["default"].settings_dict["PASSWORD"]) not in shown.split()


def test_command_ends_with_1_where_something_fails(acme: OpenedTenant) -> None:
    out = StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json", "--patience=0.2", stdout=out)

    answer = json.loads(out.getvalue())
    assert (ended.value.code, answer["healthy"]) == (1, False)
    assert {"part": "files", "state": "ok"}.items() <= {
        key: value for key, value in answer["findings"][1].items() if key in {"part", "state"}
    }.items()


def test_command_tells_a_person_on_one_screen(acme: OpenedTenant) -> None:
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", "--patience=0.2", stdout=out)

    assert "worker" in out.getvalue()
    assert len(out.getvalue().splitlines()) < 50
