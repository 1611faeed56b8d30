"""Clusters and summaries while keys turn: read under either key, known again after a compromise."""

from datetime import timedelta

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.core.slices import SliceOutcome
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.key_management import rotation
from apps.memories.selectors import get_memory
from apps.memories.spaces import reread_space
from apps.outbox import handlers
from apps.projects.scope import Scope
from apps.summaries.clusters import list_clusters
from apps.summaries.models import Cluster
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

FOODS = ("nuts", "shellfish", "sesame", "celery")


def allergic(scope: Scope, food: str) -> None:
    remember(scope, [Proposal(text=Plaintext(f"I am allergic to {food}."), importance=0.7)], now=NOW)


def work_off() -> None:
    while handlers.process_due_events(now=NOW + timedelta(seconds=1)):
        pass


@pytest.mark.parametrize("is_compromise", [False, True], ids=["by schedule", "after a compromise"])
def test_cluster_and_its_summary_go_on_when_the_keys_turn(is_compromise: bool, acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    for food in FOODS[:3]:
        allergic(scope, food)
    work_off()
    (before,), _ = list_clusters(scope, limit=5, now=NOW)

    asked = rotation.rotate(scope, reason="test", is_compromise=is_compromise, now=NOW)
    assert rotation.work(asked.pk, seconds=60, workers=1, clock=lambda: NOW) == SliceOutcome.OVER
    scope = reread_space(scope)
    allergic(scope, FOODS[3])
    work_off()

    (after,), _ = list_clusters(scope, limit=5, now=NOW)
    assert (after.id, after.topic, after.size, after.summary_id) == (before.id, "user.allergy", 4, before.summary_id)
    assert after.summary_id is not None
    assert get_memory(scope, after.summary_id, now=NOW).text.reveal().count("\n") == 3
    with tenant_transaction(scope):
        assert Cluster.objects.within(scope).get(pk=after.id).key_version == 2
