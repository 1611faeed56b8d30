"""Answers made of memories, by the published client."""

import pytest
from django.utils import timezone
from memorysync import NotFoundError, ValidationError

from tests import once
from tests.sdk.conftest import Make, refused

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

KEY = "The spare key lies under the blue flower pot."
BUS = "The bus to the airport leaves at ten past six."


def test_compose(make: Make) -> None:
    client = make()
    client.add(KEY, importance=0.7)
    client.add(BUS, importance=0.7)

    whole = client.compose("Where is the spare key?\n{{memories}}", recall_k=1)
    tight = client.compose("Where is the spare key?\n{{memories}}", recall_k=2, max_tokens=32)

    assert whole.composed_prompt == f"Where is the spare key?\n- [said {timezone.now():%Y-%m-%d}] {KEY}"
    assert (whole.memories_used, whole.truncated) == (1, False)
    assert (tight.memories_used, tight.truncated) == (1, True)
    assert tight.token_count <= 32
    assert make(end_user_id="stranger").compose("Where is the spare key?").memories_used == 0


def test_search_routed(make: Make) -> None:
    client = make()
    client.add("I live in Lisbon.", importance=0.7)
    client.add("I moved to Porto.", importance=0.7)

    answer = client.search_routed("Where do I live?", k=3, include_reasoning=True)
    forced = client.search_routed("Where do I live?", route="hybrid")
    refusal = client.search_routed("What is my password?")

    assert (answer["route"], answer["answer"]) == ("canonical", "I moved to Porto.")
    assert answer["reasoning"]
    assert (forced["route"], "reasoning" in forced) == ("hybrid", False)
    assert (refusal["refused"], refusal["memories"]) == (True, [])


def test_synthesize(make: Make) -> None:
    client = make()
    memory = client.add(KEY, importance=0.7)
    other = client.add(BUS, importance=0.7)

    by_query = client.synthesize(query="Where is the spare key?", max_memories=1)
    by_ids = client.synthesize(memory_ids=[other.id])

    assert by_query["citations"] == [{"memory_id": memory.id, "quote": KEY}]
    assert (by_query["answer"], by_query["memories_used"]) == (KEY, 1)
    assert by_ids["citations"] == [{"memory_id": other.id, "quote": BUS}]
    assert refused(ValidationError, lambda: client.synthesize()).status_code == 422
    assert refused(NotFoundError, lambda: make(end_user_id="bob").synthesize(memory_ids=[memory.id])).status_code == 404
