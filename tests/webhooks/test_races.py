"""Endpoints that are changed, deleted, notified and sent to at the same time: none is given up, none fails."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.erasure.projects import delete_project
from apps.outbox.models import OutboxEvent
from apps.projects import services as projects
from apps.projects.models import Project
from apps.projects.scope import Scope
from apps.webhooks import dispatcher, fanout, services
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint
from apps.webhooks.services import WebhookNotFound
from tests.makers import NOW, make_project, make_scope
from tests.webhooks.conftest import make_endpoint, remember

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select exists (select from pg_locks where not granted)")
        row = cursor.fetchone()
    return bool(row and row[0])


@contextmanager
def beside() -> Iterator[Callable[[Callable[[], Any]], Future[Any]]]:
    """Begins something in another thread, and goes on when it is done or waits for a lock."""

    def run(task: Callable[[], Any]) -> Any:
        try:
            return task()
        finally:
            connections.close_all()

    def begin(task: Callable[[], Any]) -> Future[Any]:
        running = pool.submit(run, task)
        deadline = time.monotonic() + 20
        while not (running.done() or somebody_waits()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return running

    with ThreadPoolExecutor(1) as pool:
        yield begin


def test_deleting_an_endpoint_while_its_deliveries_are_taken_to_be_sent_ends_both(
    admin: Scope, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two deliveries, due in the opposite order of their ids."""
    endpoint = make_endpoint(admin, wanted=["memory.created"])
    remember(scope, "The heron nests by the lock.")
    remember(scope, "The ferry leaves at nine.")
    while fanout.fan_out(now=NOW):
        pass
    ids = list(OutboxEvent.objects.filter(kind=fanout.DELIVER).order_by("subject_id").values_list("pk", flat=True))
    for place, pk in enumerate(reversed(ids)):
        OutboxEvent.objects.filter(pk=pk).update(run_after=NOW + timedelta(seconds=place))
    usual, deleting = dispatcher._take, []

    with beside() as begin:

        def take_slowly(*args: Any, **options: Any) -> Any:
            job = usual(*args, **options)
            if not deleting:
                deleting.append(begin(lambda: services.delete(admin, endpoint.row.pk, now=NOW)))
            return job

        monkeypatch.setattr(dispatcher, "_take", take_slowly)
        jobs, _ = dispatcher._lease(10, is_alone=True, now=NOW + timedelta(minutes=1))
        deleting[0].result(timeout=20)

    assert len(ids) == len(jobs) == 2
    with tenant_transaction(admin):
        assert not WebhookDelivery.objects.within(admin).exists()
        assert not WebhookEndpoint.objects.within(admin).exists()


@pytest.mark.parametrize("change", [services.pause, services.resume])
def test_an_endpoint_that_goes_while_it_is_paused_or_resumed_is_not_found(
    change: Callable[..., Any], admin: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint_id = make_endpoint(admin).row.pk
    usual, deleting = services.find, []

    with beside() as begin:

        def find_and_lose(*args: Any, **options: Any) -> Any:
            row = usual(*args, **options)
            if not deleting:
                deleting.append(None)
                deleting[0] = begin(lambda: services.delete(admin, endpoint_id, now=NOW))
            return row

        monkeypatch.setattr(services, "find", find_and_lose)
        try:
            changed = change(admin, endpoint_id, now=NOW)
        except WebhookNotFound:
            changed = None
        deleting[0].result(timeout=20)

    assert changed is None or changed.row.pk == endpoint_id
    with tenant_transaction(admin):
        assert not WebhookEndpoint.objects.within(admin).exists()


def test_an_endpoint_that_goes_while_it_is_told_of_something_holds_up_no_other_tenant(
    acme: OpenedTenant, globex: OpenedTenant, admin: Scope, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint_id = make_endpoint(admin, wanted=["memory.created"]).row.pk
    make_endpoint(globex.scope, wanted=["memory.created"])
    remember(scope, "The heron nests by the lock.")
    remember(make_scope(globex), "The ferry leaves at nine.")
    usual, deleting = fanout.write, []

    with beside() as begin:

        def write_late(*args: Any, **options: Any) -> Any:
            if not deleting:
                deleting.append(begin(lambda: services.delete(admin, endpoint_id, now=NOW)))
            return usual(*args, **options)

        monkeypatch.setattr(fanout, "write", write_late)
        while fanout.fan_out(now=NOW):
            pass
        deleting[0].result(timeout=20)

    assert not OutboxEvent.objects.filter(kind=fanout.TELL).exists()
    with tenant_transaction(globex.scope):
        assert WebhookDelivery.objects.within(globex.scope).count() == 1


@pytest.mark.parametrize("change", ["rename", "review"])
def test_a_project_that_goes_while_it_is_changed_is_not_found(
    change: str, admin: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same fault elsewhere: looked at without a lock, and then written."""
    public_id = make_project(admin, "Another")
    usual, deleting = Project.save, []

    with beside() as begin:

        def save_late(*args: Any, **options: Any) -> Any:
            if not deleting:
                deleting.append(begin(lambda: delete_project(admin, public_id, now=NOW)))
            return usual(*args, **options)

        monkeypatch.setattr(Project, "save", save_late)
        if change == "rename":
            projects.rename(admin, public_id, "New", now=NOW)
        else:
            projects.set_review(admin, public_id, "all", now=NOW)
        deleting[0].result(timeout=20)

    with tenant_transaction(admin):
        assert not Project.objects.within(admin).filter(public_id=public_id).exists()
