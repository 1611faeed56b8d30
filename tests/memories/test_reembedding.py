"""After the embedder changed, every vector is made again by the new one, and recall works all the while."""

import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from apps.adapters.embedders.fake import FakeEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories import reembedding
from apps.memories.models import MemoryVector
from apps.memories.reembedding import count_vectors, request_reembedding
from apps.outbox.models import OutboxEvent
from apps.outbox.tasks import drain
from apps.projects.scope import Scope
from apps.recall.services import recall
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

TEXTS = ("I live in Lisbon.", "My sister Nora plays the cello.", "The invoice is due on the 4th of May.")


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    scope = make_scope(acme)
    remember(scope, [Proposal(text=Plaintext(text), importance=0.6) for text in TEXTS], now=NOW)
    return scope


@pytest.fixture
def changed(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> Scope:
    """The embedder has another id from now on."""
    monkeypatch.setattr(FakeEmbedder, "id", "fake/2")
    return scope


def embedders(scope: Scope) -> set[str]:
    with tenant_transaction(scope):
        return set(MemoryVector.objects.within(scope).values_list("embedder", flat=True))


def first(scope: Scope, query: str) -> Any:
    return recall(scope, Plaintext(query), now=NOW).hits[0].memory.text.reveal()


def test_workers_embed_every_memory_of_the_other_embedder_again(changed: Scope) -> None:
    assert count_vectors(changed, embedder="fake/2").outdated == 3

    assert request_reembedding(changed, embedder="fake/2", now=NOW) == 3
    drain()

    assert embedders(changed) == {"fake/2"}
    assert count_vectors(changed, embedder="fake/2").outdated == 0


def test_recall_answers_before_between_and_after(changed: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    before = first(changed, "Where is Nora's cello?")
    with tenant_transaction(changed):
        one = MemoryVector.objects.within(changed).order_by("memory_id")[0]
        MemoryVector.objects.within(changed).filter(pk=one.pk).update(embedder="fake/2")
    between = first(changed, "Where is Nora's cello?")
    request_reembedding(changed, embedder="fake/2", now=NOW)
    drain()

    assert {before, between, first(changed, "Where is Nora's cello?")} == {TEXTS[1]}


def test_vectors_of_another_tenant_are_neither_counted_nor_requested(changed: Scope, globex: OpenedTenant) -> None:
    other = make_scope(globex)

    assert count_vectors(other, embedder="fake/2").total == 0
    assert request_reembedding(other, embedder="fake/2", now=NOW) == 0
    assert not OutboxEvent.objects.filter(kind="embed").exists()


def test_a_second_request_duplicates_nothing(changed: Scope) -> None:
    request_reembedding(changed, embedder="fake/2", now=NOW)
    request_reembedding(changed, embedder="fake/2", now=NOW)

    assert OutboxEvent.objects.filter(kind="embed").count() == 3


def test_more_than_one_batch_is_requested(changed: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembedding, "BATCH", 1)

    assert request_reembedding(changed, embedder="fake/2", now=NOW) == 3
    assert OutboxEvent.objects.filter(kind="embed").count() == 3


def test_nothing_is_requested_while_the_embedder_is_the_same(scope: Scope) -> None:
    assert request_reembedding(scope, embedder="fake/1", now=NOW) == 0
    assert not OutboxEvent.objects.filter(kind="embed").exists()


def test_the_command_counts_and_requests(changed: Scope) -> None:
    counted, requested = io.StringIO(), io.StringIO()

    call_command("reembed", "--dry-run", "--json", stdout=counted)
    assert not OutboxEvent.objects.filter(kind="embed").exists()
    call_command("reembed", "--json", stdout=requested)

    (line,) = json.loads(counted.getvalue())
    assert (line["vectors"], line["outdated"], line["requested"]) == (3, 3, 0)
    assert json.loads(requested.getvalue())[0]["requested"] == 3
    assert OutboxEvent.objects.filter(kind="embed").count() == 3
