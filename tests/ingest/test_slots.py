"""Which memory stands for what is said: closed, revived, said again, said by another speaker, said for longer."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.adapters.embedders.fake import FakeEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import pipeline_context, services
from apps.ingest.candidates import Outcome, Proposal
from apps.memories.models import Memory, MemoryClaim, MemoryTransition, MemoryVector
from apps.memories.selectors import get_memory
from apps.outbox import handlers
from apps.outbox.models import OutboxEvent
from apps.projects.models import Project, Space
from apps.projects.scope import Scope
from apps.recall.services import recall
from tests import once
from tests.makers import NOW, make_project, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def remember(scope: Scope, *texts: str, now: Any = NOW, **fields: Any) -> list[Outcome]:
    return services.remember(scope, [Proposal(text=Plaintext(text), **fields) for text in texts], now=now)


def texts(scope: Scope, query: str = "coffee", now: Any = NOW) -> set[str]:
    return {hit.memory.text.reveal() for hit in recall(scope, Plaintext(query), limit=50, now=now).hits}


def row(scope: Scope, memory_id: int) -> Memory:
    with tenant_transaction(scope):
        return Memory.objects.within(scope).get(pk=memory_id)


# -- one of many -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I am learning Spanish.", "I speak Spanish."),
        ("I am allergic to nuts.", "I am no longer allergic to nuts."),
        ("I take ibuprofen every morning.", "I no longer take ibuprofen."),
    ],
)
def test_a_change_of_mind_about_one_of_many_replaces_what_was_said_of_that_one(
    scope: Scope, old: str, new: str
) -> None:
    (first,) = remember(scope, old)
    (second,) = remember(scope, new)

    assert second.counts == {"superseding": 1}
    assert texts(scope) == {new}

    (again,) = remember(scope, old)

    assert again.counts == {"revived": 1}
    assert again.memory_ids == first.memory_ids
    assert texts(scope) == {old}


def test_of_many_the_others_stay(scope: Scope) -> None:
    remember(scope, "I am allergic to nuts.", "I am allergic to eggs.", "I am no longer allergic to nuts.")

    assert texts(scope) == {"I am allergic to eggs.", "I am no longer allergic to nuts."}


# -- what is over ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [True, False])
def test_what_is_said_to_be_over_again_is_over_again(scope: Scope, together: bool) -> None:
    said = ["I work at Google.", "I left Google.", "I work at Google.", "I left Google."]

    outcomes = remember(scope, *said) if together else [remember(scope, one)[0] for one in said]

    assert outcomes[-1].counts == {"duplicate": 1}
    assert texts(scope, "google") == {"I left Google."}
    assert row(scope, outcomes[0].memory_ids[0]).superseded_by_id == outcomes[1].memory_ids[0]


@pytest.mark.parametrize("parted", ["Inez and I got divorced.", "Inez and me have split up."])
def test_who_parted_is_no_spouse_any_more(scope: Scope, parted: str) -> None:
    remember(scope, "I'm married to Inez.", "Rosa is my sister.")

    remember(scope, parted, now=NOW + timedelta(days=1))

    assert texts(scope, "family", now=NOW + timedelta(days=1)) == {parted, "Rosa is my sister."}


# -- in more words -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    "said",
    [
        ("I take 20 mg of lisinopril.", "I take 20 mg of lisinopril every morning with breakfast."),
        ("I live in Lisbon.", "I live in Lisbon with my dog Rex near the harbour."),
    ],
)
def test_a_value_said_again_in_more_words_loses_none_of_them(scope: Scope, said: Sequence[str], together: bool) -> None:
    outcomes = remember(scope, *said) if together else [remember(scope, one)[0] for one in said]

    assert outcomes[1].counts == {"superseding": 1}
    assert texts(scope, said[0]) == {said[1]}


# -- by whom -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["I love hiking in the mountains.", "The red kite nests above the old quarry."])
@pytest.mark.parametrize("again", ["{}", "Well, {}"])
def test_the_same_words_of_another_speaker_are_another_memory(scope: Scope, text: str, again: str) -> None:
    (alice,) = remember(scope, text, speaker="Alice", importance=0.6)
    (bob,) = remember(scope, again.format(text), speaker="Bob", importance=0.6)

    assert alice.is_stored
    assert bob.is_stored
    assert bob.memory_ids != alice.memory_ids


def test_what_the_assistant_said_does_not_stand_for_what_the_user_says(scope: Scope) -> None:
    remember(scope, "I live in Lisbon.", role="assistant", importance=0.6)
    (said,) = remember(scope, "I live in Lisbon.")

    assert said.counts == {"created": 1}
    assert get_memory(scope, said.memory_ids[0], now=NOW).type == "fact"


# -- when --------------------------------------------------------------------------------------------------------------

RUN = "Today I went for a run by the river."


def test_what_happened_again_days_later_is_another_event(scope: Scope) -> None:
    (first,) = remember(scope, RUN)
    (soon,) = remember(scope, RUN, now=NOW + timedelta(hours=2))
    (later,) = remember(scope, RUN, now=NOW + timedelta(days=3))

    assert first.counts == later.counts == {"created": 1}
    assert soon.counts == {"duplicate": 1}


def test_of_an_import_the_days_count_on_which_it_was_said(scope: Scope) -> None:
    days = [NOW - timedelta(days=days) for days in (10, 7, 7)]

    outcomes = services.remember(scope, [Proposal(text=Plaintext(RUN), occurred_at=day) for day in days], now=NOW)

    assert [outcome.counts for outcome in outcomes] == [{"created": 1}, {"created": 1}, {"duplicate": 1}]


def test_a_claim_ends_when_the_next_one_was_said(scope: Scope) -> None:
    moved = NOW - timedelta(days=100)
    (old,) = remember(scope, "I live in Lisbon.", occurred_at=NOW - timedelta(days=200))
    remember(scope, "I live in Porto.", occurred_at=moved)

    assert row(scope, old.memory_ids[0]).valid_to == moved


# -- for how long ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["I live in Lisbon.", "My dog Biscuit sleeps on the blue sofa."])
@pytest.mark.parametrize("again", ["{}", "{} Yes."])
def test_what_is_said_for_an_hour_and_then_for_good_stays_for_good(scope: Scope, text: str, again: str) -> None:
    remember(scope, text, ttl_minutes=60, importance=0.6)
    remember(scope, again.format(text), importance=0.6)

    assert any(text in one for one in texts(scope, text, now=NOW + timedelta(hours=2)))


def test_what_is_revived_for_good_stays_for_good(scope: Scope) -> None:
    remember(scope, "I live in Lisbon.", ttl_minutes=60)
    remember(scope, "I live in Porto.")
    (revived,) = remember(scope, "I live in Lisbon.")

    assert revived.counts == {"revived": 1}
    assert texts(scope, "where do I live?", now=NOW + timedelta(hours=2)) == {"I live in Lisbon."}


def test_what_is_said_for_good_and_then_for_an_hour_stays_for_good(scope: Scope) -> None:
    (first,) = remember(scope, "I live in Lisbon.")
    remember(scope, "I live in Lisbon.", ttl_minutes=60)

    assert row(scope, first.memory_ids[0]).expires_at is None


# -- evidence ----------------------------------------------------------------------------------------------------------


def test_each_time_it_is_said_again_makes_it_surer(scope: Scope) -> None:
    (first,) = remember(scope, "I live in Lisbon.")
    seen = [row(scope, first.memory_ids[0])]
    for _again in range(5):
        remember(scope, "I live in Lisbon.")
        seen.append(row(scope, first.memory_ids[0]))

    assert [one.repetition_count for one in seen] == [1, 2, 3, 4, 5, 6]
    assert [round(after.confidence - before.confidence, 6) for before, after in pairwise(seen)] == [
        0.05, 0.05, 0.05, 0.05, 0.0
    ]  # fmt: skip


def test_said_twice_in_one_breath_is_said_once(scope: Scope) -> None:
    (outcome,) = remember(scope, "I live in Lisbon. I live in Lisbon. I live in Lisbon.")

    assert row(scope, outcome.memory_ids[0]).repetition_count == 1


# -- another model -----------------------------------------------------------------------------------------------------


class NextEmbedder(FakeEmbedder):
    id = "fake/2"


def test_nearly_the_same_words_are_a_near_duplicate(scope: Scope) -> None:
    (first,) = remember(scope, "The dog sleeps on the sofa.", importance=0.6)

    (again,) = remember(scope, "The dog sleeps on the sofa!?", importance=0.6)

    assert again.memory_ids == first.memory_ids
    assert again.decisions[0].reason == "near_duplicate"


def test_a_vector_of_another_model_makes_nothing_a_near_duplicate(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(scope, "The dog sleeps on the sofa.", importance=0.6)
    monkeypatch.setattr(pipeline_context, "get_embedder", NextEmbedder)

    (again,) = remember(scope, "The dog sleeps on the sofa!?", importance=0.6)

    assert again.is_stored


def test_what_is_revived_under_another_model_is_embedded_again(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = remember(scope, "I live in Lisbon.")
    remember(scope, "I live in Porto.")
    monkeypatch.setattr(pipeline_context, "get_embedder", NextEmbedder)

    remember(scope, "I live in Lisbon.")

    assert list(OutboxEvent.objects.values_list("kind", "subject_id")) == [("embed", first.memory_ids[0])]


# -- anything at all ---------------------------------------------------------------------------------------------------

SAID = (
    "I live in Lisbon.", "I live in Lisbon, near the river.", "I live in Porto.", "I no longer live in Porto.",
    "I work at Google.", "I left Google.", "I left Google and now work at Acme.", "I am allergic to nuts.",
    "I am no longer allergic to nuts.", "I live in Porto and I work at Google.", RUN,
    "My dog Biscuit sleeps on the sofa.", "My sister is Ana. I live in Lisbon.", "ok thanks!",
)  # fmt: skip
PROPOSAL = st.builds(
    dict,
    text=st.sampled_from(SAID),
    deduplicate=st.booleans(),
    ttl_minutes=st.sampled_from([None, None, 1, 90]),
    importance=st.sampled_from([None, 0.6]),
    speaker=st.sampled_from([None, "Bob"]),
    client_ref=st.sampled_from([None, None, "one", "two"]),
    occurred_at=st.sampled_from([None, NOW - timedelta(days=9)]),
)
_PEOPLE = count()
BATCHES = st.lists(
    st.tuples(st.lists(PROPOSAL, min_size=1, max_size=6), st.integers(0, 120), st.integers(0, 2)),
    min_size=1, max_size=6,
)  # fmt: skip


def test_a_memory_with_the_value_of_the_current_one_ends_where_an_earlier_one_is_inserted(acme: OpenedTenant) -> None:
    """Found by the test below."""
    scope, old = make_scope(acme, "ana"), NOW - timedelta(days=9)
    said = [("I live in Lisbon.", old), ("I live in Lisbon, near the river.", None), ("I live in Lisbon.", old)]

    services.remember(
        scope,
        [Proposal(text=Plaintext(text), deduplicate=False, occurred_at=at) for text, at in said],
        now=NOW,
    )

    _check_space(scope, NOW)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
def test_whatever_is_said_the_space_is_whole(acme: OpenedTenant, batches: Sequence[Any]) -> None:
    """One current row a slot, chains that end, vectors and statistics that agree with their rows, nothing lost."""
    person = f"user {next(_PEOPLE)}"
    scopes = [make_scope(acme, person, project_id=project_id) for project_id in _projects(acme)]
    now = NOW
    for proposals, minutes, where in batches:
        now += timedelta(minutes=minutes)
        scope = scopes[where]

        outcomes = services.remember(
            scope, [Proposal(text=Plaintext(one["text"]), **{k: v for k, v in one.items() if k != "text"})
                    for one in proposals], now=now
        )  # fmt: skip

        _check_space(scopes[0], now)
        for outcome in outcomes:
            for memory_id in outcome.memory_ids:
                if outcome.reason != "already_ingested":
                    get_memory(scope, memory_id, now=now)
    while handlers.process_due_events(now=now):
        pass
    assert not _check_space(scopes[0], now)


def _projects(tenant: OpenedTenant) -> list[int | None]:
    """None, and two projects, made once."""
    with tenant_transaction(tenant.scope):
        names = set(Project.objects.within(tenant.scope).values_list("name", flat=True))
    for name in {"red", "blue"} - names:
        make_project(tenant.scope, name)
    with tenant_transaction(tenant.scope):
        made = Project.objects.within(tenant.scope).filter(name__in=("red", "blue")).order_by("name")
        return [None, *made.values_list("pk", flat=True)]


def _check_space(scope: Scope, now: Any) -> set[int]:
    """Ids of those that wait for their vector, which is computed again where a part of a memory has ended."""
    with tenant_transaction(scope):
        rows = {one.pk: one for one in Memory.objects.within(scope)}
        vectors = {one.memory_id: one for one in MemoryVector.objects.within(scope).filter(space_id=scope.space.id)}
        space = Space.objects.within(scope).get(pk=scope.space.id)
        waiting = set(OutboxEvent.objects.filter(kind="embed").values_list("subject_id", flat=True))
        parts = list(MemoryClaim.objects.within(scope).filter(space_id=space.pk, slot__isnull=False))
        events = list(
            MemoryTransition.objects.within(scope).filter(space_id=space.pk).values_list("memory_id", "event")
        )
    active = [one for one in rows.values() if one.retention_status == "active"]
    slots = [bytes(one.slot) for one in active if one.slot and one.validity == "current"]
    assert len(slots) == len(set(slots))
    current = {one.pk for one in active if one.validity == "current"}
    holders: list[Memory | MemoryClaim] = [rows[pk] for pk in current]
    holders += [one for one in parts if one.memory_id in current and one.validity == "current"]
    values = {(bytes(one.slot), bytes(one.value_mac or b"")) for one in holders if one.slot}
    assert len(values) == len({slot for slot, _ in values}), "a slot has one value at a time"
    assert vectors.keys() <= rows.keys()
    assert all(one.said_ct is not None for one in rows.values() if one.pk not in vectors)
    without = {one.pk for one in active if one.pk not in vectors}
    assert without <= waiting
    for one in rows.values():
        if one.pk in vectors:
            assert vectors[one.pk].live == one.is_live()
            assert vectors[one.pk].project_id == one.project_id
            if one.retention_status == "active":
                assert vectors[one.pk].expires_at == one.expires_at
        assert (one.validity == "superseded") == (one.superseded_by_id is not None) == (one.superseded_at is not None)
        assert (one.validity == "superseded") == (one.valid_to is not None)
        seen = set()
        end = one
        while end.superseded_by_id is not None and end.superseded_by_id in rows:
            assert end.pk not in seen, "the chain runs in a circle"
            seen.add(end.pk)
            end = rows[end.superseded_by_id]
        assert events.count((one.pk, "created")) == 1
    assert space.doc_count == len(rows)
    return without
