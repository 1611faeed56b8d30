"""Webhooks while keys turn, when rows are moved or changed, and when a person or a tenant is shredded."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.adapters.senders.base import Answered
from apps.adapters.senders.fake import FakeSender
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.crypto.services import key_version_of
from apps.key_management import rotation
from apps.memories import integrity
from apps.memories.models import QuarantinedRow
from apps.memories.spaces import reread_space
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Scope
from apps.webhooks import deliveries, dispatcher, services
from apps.webhooks.models import WebhookDelivery, WebhookEndpoint
from apps.webhooks.redelivery import DELIVER
from tests.makers import NOW, make_scope
from tests.shredding import shred_space
from tests.webhooks.conftest import ADDRESS, Clock, make_endpoint, remember

pytestmark = pytest.mark.django_db(databases="__all__")
Work = Callable[[], int]


@pytest.fixture
def sender() -> FakeSender:
    return FakeSender(answer=lambda _: Answered(status=200, body=b"thanks"))


def turn_keys(scope: Scope, **how: Any) -> None:
    asked = rotation.rotate(scope, reason="test", now=NOW, **how)
    assert rotation.work(asked.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.OVER


def versions(scope: Scope) -> set[int]:
    with tenant_transaction(scope):
        rows: list[Any] = [*WebhookEndpoint.objects.within(scope), *WebhookDelivery.objects.within(scope)]
    blobs = [
        getattr(row, name, None) for row in rows for name in ("url_ct", "secret_ct", "description_ct", "response_ct")
    ]
    return {row.key_version for row in rows} | {key_version_of(bytes(blob)) for blob in blobs if blob}


@pytest.mark.parametrize("how", [{}, {"is_compromise": True}], ids=["by schedule", "after a compromise"])
def test_what_is_sealed_is_sealed_anew_and_says_what_it_said(
    how: dict[str, Any], admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    endpoint = make_endpoint(admin, description="for the dashboard")
    renewed = services.rotate_secret(admin, endpoint.row.pk, now=NOW)
    remember(scope, "The heron nests by the lock.")
    work()

    turn_keys(admin, **how)
    remember(reread_space(scope), "Bees fly to the orchard.")
    work()

    assert versions(admin) == {2}
    got = services.get(admin, endpoint.row.pk)
    assert (got.url, got.description, got.row.secret_prefix) == (
        ADDRESS, "for the dashboard", renewed.row.secret_prefix,
    )  # fmt: skip
    shown = deliveries.page(admin, number=1, size=5, now=clock.now).deliveries
    assert [one.response for one in shown] == ["thanks", "thanks"]
    assert len(sender.sent) == 2


def test_a_secret_that_was_moved_to_another_endpoint_opens_nowhere(
    admin: Scope, scope: Scope, sender: FakeSender, work: Work, clock: Clock
) -> None:
    mine, other = make_endpoint(admin, wanted=["memory.created"]), make_endpoint(admin, wanted=["memory.deleted"])
    with tenant_transaction(admin):
        rows = WebhookEndpoint.objects.within(admin)
        rows.filter(pk=mine.row.pk).update(secret_ct=other.row.secret_ct)

    remember(scope, "The heron nests by the lock.")
    work()
    integrity.flush()

    (row,) = deliveries.page(admin, number=1, size=5, now=clock.now).deliveries
    assert (sender.sent, row.row.status, row.row.error) == ([], "dead_letter", "unreadable")
    with tenant_transaction(admin):
        assert QuarantinedRow.objects.within(admin).filter(table="webhook", record_id=mine.row.pk).exists()


def test_of_a_person_who_is_shredded_no_delivery_stays(
    admin: Scope, scope: Scope, acme: OpenedTenant, sender: FakeSender, work: Work, clock: Clock
) -> None:
    make_endpoint(admin, wanted=["memory.created"])
    bob = make_scope(acme, "bob")
    remember(scope, "The heron nests by the lock.")
    (stays,) = remember(bob, "Bees fly to the orchard.")
    work()
    remember(scope, "Otters sleep at noon.")

    shred_space(acme.scope, scope.space.uid, now=NOW)
    work()

    shown = deliveries.page(admin, number=1, size=5, now=clock.now).deliveries
    assert [list(one.row.memory_ids) for one in shown] == [[stays]]
    assert len(sender.sent) == 2


def test_one_tenants_lost_keys_hold_up_nobody_else(
    admin: Scope, scope: Scope, globex: OpenedTenant, sender: FakeSender, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = make_scope(globex)
    for one, there in ((admin, scope), (globex.scope, theirs)):
        make_endpoint(one, wanted=["memory.created"])
        remember(there, "The heron nests by the lock.")
    dispatcher.fan_out(now=NOW)
    whole = dispatcher.open_tenant

    def lost(tenant: Any, **options: Any) -> Any:
        if tenant.uid == admin.tenant.uid:
            raise RuntimeError
        return whole(tenant, **options)

    monkeypatch.setattr(dispatcher, "open_tenant", lost)
    work()

    assert len(sender.sent) == 1
    monkeypatch.undo()
    assert OutboxEvent.objects.filter(kind=DELIVER, tenant_id=admin.tenant_id).count() == 1
