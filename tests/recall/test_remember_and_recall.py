"""A memory goes in sealed and comes back by meaning and by its words."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.adapters.embedders.fake import FailingEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import pipeline_context, services
from apps.ingest.candidates import Outcome, Proposal
from apps.memories import outbox_handlers
from apps.memories.models import Memory, MemoryPosting, MemoryVector
from apps.memories.selectors import MemoryNotFound, get_memory
from apps.memories.services import expire, request_refresh
from apps.outbox import handlers
from apps.projects.scope import Environment, Scope
from apps.recall import read_log
from apps.recall.results import Filters, Recall
from apps.recall.services import UnknownProfile, recall
from tests.makers import NOW, make_scope, make_tenant

pytestmark = pytest.mark.django_db(databases="__all__")

DIET = "I have been vegetarian since 2024."
DOG = "My dog Biscuit sleeps on the blue sofa."


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def remember(scope: Scope, *texts: str, now: datetime = NOW, **fields: object) -> list[Outcome]:
    proposals = [Proposal(text=Plaintext(text), **fields) for text in texts]  # type: ignore[arg-type]
    return services.remember(scope, proposals, now=now)


def texts(answer: Recall) -> list[str]:
    return [hit.memory.text.reveal() for hit in answer.hits]


def ask(scope: Scope, query: str, now: datetime = NOW, **options: object) -> Recall:
    return recall(scope, Plaintext(query), now=now, **options)  # type: ignore[arg-type]


def test_what_goes_in_comes_back_as_it_was_said(scope: Scope) -> None:
    (outcome,) = remember(scope, DOG, tags=("pets",), metadata={"channel": "chat", "nested": [1, {"a": None}]})

    memory = get_memory(scope, outcome.memory_ids[0], now=NOW)

    assert memory.text.reveal() == DOG
    assert memory.tags == ["pets"]
    assert memory.metadata == {"channel": "chat", "nested": [1, {"a": None}]}
    assert memory.is_embedded


def test_the_row_holds_no_readable_part(scope: Scope) -> None:
    (outcome,) = remember(scope, DOG, tags=("household",), metadata={"place": "livingroom"}, session_id="evening talk")

    with tenant_transaction(scope):
        (row,) = Memory.objects.within(scope).filter(pk__in=outcome.memory_ids).values()

    stored = b"".join(bytes(value) if isinstance(value, memoryview) else str(value).encode() for value in row.values())
    for word in ("Biscuit", "sofa", "household", "livingroom", "evening"):
        assert word.encode() not in stored


def test_it_is_found_by_its_words_and_by_nearness(scope: Scope) -> None:
    remember(scope, DIET, DOG, "The quarterly report is due on Friday.")

    answer = ask(scope, "where does the dog sleep?")

    assert texts(answer)[0] == DOG
    assert answer.hits[0].explanation.matched_by == "both"
    assert set(answer.hits[0].explanation.legs) == {"dense", "lexical"}


def test_the_factors_of_every_hit_sum_to_its_score(scope: Scope) -> None:
    remember(scope, DIET, DOG, session_id="s1")

    for profile in ("default", "memorysync", "rrf"):
        for hit in ask(scope, "dog sofa 2024", profile=profile, session_id="s1").hits:
            assert sum(hit.explanation.factors.values()) == pytest.approx(hit.score)
            assert hit.score <= 1


def test_an_unknown_profile_is_refused(scope: Scope) -> None:
    with pytest.raises(UnknownProfile):
        ask(scope, "anything at all", profile="magic")


def test_a_superseded_value_leaves_recall_and_stays_in_history(scope: Scope) -> None:
    (first,) = remember(scope, "I live in Lisbon.")
    (second,) = remember(scope, "I live in Porto.")

    assert second.counts == {"superseding": 1}
    assert texts(ask(scope, "where do I live?")) == ["I live in Porto."]
    old = get_memory(scope, first.memory_ids[0], now=NOW)
    assert (old.validity, old.superseded_by) == ("superseded", second.memory_ids[0])


def test_a_value_said_again_after_another_is_revived(scope: Scope) -> None:
    (first,) = remember(scope, "I live in Lisbon.")
    remember(scope, "I live in Porto.")
    (third,) = remember(scope, "I live in Lisbon.")

    assert third.counts == {"revived": 1}
    assert third.memory_ids == first.memory_ids
    assert texts(ask(scope, "where do I live?")) == ["I live in Lisbon."]


def test_the_same_words_again_are_a_duplicate_that_names_the_first(scope: Scope) -> None:
    (first,) = remember(scope, DIET)
    (again,) = remember(scope, f"  {DIET.upper()} ")

    assert not again.is_stored
    assert again.reason == "discarded_redundant"
    assert again.memory_ids == first.memory_ids


def test_without_deduplication_the_same_words_are_kept_twice(scope: Scope) -> None:
    first, second = remember(scope, DOG, DOG, deduplicate=False)

    assert first.is_stored
    assert second.is_stored
    assert first.memory_ids != second.memory_ids


def test_a_client_reference_gives_the_same_answer_whatever_the_text(scope: Scope) -> None:
    (first,) = remember(scope, DIET, client_ref="import-1")
    (again,) = remember(scope, DOG, client_ref="import-1", deduplicate=False)

    assert again.reason == "already_ingested"
    assert again.memory_ids == first.memory_ids


def test_a_client_reference_names_every_memory_that_the_first_add_stored(scope: Scope) -> None:
    said = "I live in Lisbon near the old harbour. My sister is allergic to peanuts."
    (first,) = remember(scope, said, client_ref="two")
    (again,) = remember(scope, "ok thanks!", client_ref="two")

    assert len(first.memory_ids) == 2
    assert again.reason == "already_ingested"
    assert again.memory_ids == first.memory_ids


def test_one_client_reference_twice_in_a_batch_is_stored_once(scope: Scope) -> None:
    first, again = remember(scope, DIET, DOG, client_ref="once", importance=0.6)

    assert first.is_stored
    assert again.reason == "already_ingested"
    assert again.memory_ids == first.memory_ids


def test_two_of_one_batch_meet_each_other(scope: Scope) -> None:
    first, second, third = remember(scope, "I live in Lisbon.", "I live in Porto.", "I live in Porto.")

    assert [outcome.counts for outcome in (first, second, third)] == [
        {"created": 1},
        {"superseding": 1},
        {"duplicate": 1},
    ]
    assert texts(ask(scope, "where do I live?")) == ["I live in Porto."]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ok thanks!", "no_high_value_content"),
        ("My password is hunter2-Trumpet-91", "discarded_policy"),
        ("I'm on the bus right now, brb in a minute", "discarded_transient"),
    ],
)
def test_what_is_refused_is_not_stored_and_says_why(scope: Scope, text: str, reason: str) -> None:
    (outcome,) = remember(scope, text)

    assert not outcome.is_stored
    assert outcome.reason == reason
    with tenant_transaction(scope):
        assert not Memory.objects.within(scope).exists()


def test_what_the_assistant_says_never_becomes_a_fact_about_the_user(scope: Scope) -> None:
    (outcome,) = remember(scope, "You live in Lisbon and you like tea.", role="assistant")

    assert not outcome.is_stored


def test_outcomes_add_up_to_the_inputs(scope: Scope) -> None:
    inputs = [DIET, DIET, "hello there", "I live in Lisbon.", "My password is hunter2-Trumpet-91"]

    outcomes = remember(scope, *inputs)

    assert len(outcomes) == len(inputs)
    assert all(len(outcome.decisions) >= 1 for outcome in outcomes)


def test_with_the_embedder_down_an_add_is_stored_and_found_by_its_words(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_context, "get_embedder", FailingEmbedder)
    monkeypatch.setattr(services, "notify", lambda task: None)
    (outcome,) = remember(scope, DOG)
    monkeypatch.undo()

    assert not get_memory(scope, outcome.memory_ids[0], now=NOW).is_embedded
    assert texts(ask(scope, "Biscuit sofa")) == [DOG]

    assert handlers.process_due_events(now=NOW) == 1
    assert get_memory(scope, outcome.memory_ids[0], now=NOW).is_embedded


def test_refresh_gives_every_memory_a_fresh_vector(scope: Scope) -> None:
    remember(scope, DIET, DOG)
    with tenant_transaction(scope):
        before = set(MemoryVector.objects.within(scope).values_list("vector_id", flat=True))

    request = request_refresh(scope, now=NOW)
    while handlers.process_due_events(now=NOW):
        pass

    with tenant_transaction(scope):
        after = set(MemoryVector.objects.within(scope).values_list("vector_id", flat=True))
    assert request.memories == len(after) == 2
    assert not before & after


def test_refresh_goes_on_a_part_at_a_time_and_leaves_other_spaces_alone(
    acme: OpenedTenant, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_handlers, "REFRESHED", 1)
    mine = {outcome.memory_ids[0] for outcome in remember(scope, DIET, DOG)}
    remember(make_scope(acme, "bob"), "A ferry leaves at nine.")

    def vectors() -> dict[int, Any]:
        with tenant_transaction(scope):
            return dict(MemoryVector.objects.within(scope).values_list("memory_id", "vector_id"))

    before = vectors()
    request_refresh(scope, now=NOW)
    while handlers.process_due_events(now=NOW):
        pass

    assert {memory_id for memory_id, vector_id in vectors().items() if vector_id != before[memory_id]} == mine


def test_past_its_time_a_memory_is_gone_before_any_job_runs(scope: Scope) -> None:
    (outcome,) = remember(scope, DOG, ttl_minutes=5)
    later = NOW + timedelta(minutes=6)

    assert texts(ask(scope, "dog sofa", now=later)) == []
    with pytest.raises(MemoryNotFound):
        get_memory(scope, outcome.memory_ids[0], now=later)
    assert expire(scope, now=later) == 1
    with tenant_transaction(scope):
        assert Memory.objects.within(scope).get().retention_status == "soft_deleted"


def test_filters_hold_inside_every_leg(scope: Scope) -> None:
    remember(
        scope,
        *(f"The red bicycle number {number} stands in the yard." for number in range(150)),
        source="noise",
        importance=0.6,
    )
    remember(scope, "The red bicycle of Marta stands in the hall.", source="diary", tags=("transport",), importance=0.6)

    by_source = ask(scope, "red bicycle stands", filters=Filters(sources=("diary",)))
    by_tag = ask(scope, "red bicycle stands", filters=Filters(tags=("transport", "other")))

    assert texts(by_source) == texts(by_tag) == ["The red bicycle of Marta stands in the hall."]


def test_another_end_user_environment_or_tenant_finds_nothing(scope: Scope, acme: OpenedTenant) -> None:
    remember(scope, DOG)
    globex = make_tenant("globex")
    others: Sequence[Scope] = (
        make_scope(acme, "bob"),
        make_scope(acme, environment=Environment.STAGING),
        make_scope(globex),
    )

    for other in others:
        assert texts(ask(other, "dog sofa")) == []


def test_accesses_are_counted_for_what_was_returned(scope: Scope) -> None:
    (first,), (second,) = remember(scope, DOG), remember(scope, DIET)

    ask(scope, "dog sofa", limit=1)
    read_log.flush()

    with tenant_transaction(scope):
        counts = dict(Memory.objects.within(scope).values_list("pk", "access_count"))
    assert counts == {first.memory_ids[0]: 1, second.memory_ids[0]: 0}


def test_deleting_a_memory_takes_its_tokens_and_vector_along(scope: Scope) -> None:
    (outcome,) = remember(scope, DOG)

    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk__in=outcome.memory_ids).delete()
        assert not MemoryPosting.objects.filter(memory_id__in=outcome.memory_ids).exists()
        assert not MemoryVector.objects.within(scope).exists()


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("I take 20 mg of lisinopril.", "I take 20 mg of lisinopril every morning with breakfast."),
        ("I live in Lisbon.", "I live in Lisbon, on the third floor of a tower."),
    ],
)
def test_a_value_said_again_in_more_words_is_another_memory_in_its_place(scope: Scope, short: str, long: str) -> None:
    (first,) = remember(scope, short)
    (second,) = remember(scope, long)

    assert second.counts == {"superseding": 1}
    assert texts(ask(scope, short)) == [long]
    one, other = (get_memory(scope, outcome.memory_ids[0], now=NOW) for outcome in (first, second))
    assert one.public_id != other.public_id


@pytest.mark.parametrize("again", ["I live in Porto.", "I live in Lisbon."])
def test_what_is_past_its_time_does_not_hold_its_slot(scope: Scope, again: str) -> None:
    (first,) = remember(scope, "I live in Lisbon.", ttl_minutes=5)
    later = NOW + timedelta(minutes=6)

    (second,) = remember(scope, again, now=later)

    assert second.counts == {"created": 1}
    assert second.memory_ids != first.memory_ids
    assert texts(ask(scope, "where do I live?", now=later)) == [again]
    assert expire(scope, now=later) == 0
