"""A sealed space: nothing searchable of it at rest, and the same answers as of a searchable one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import services
from apps.ingest.candidates import Outcome, Proposal
from apps.memories import indexing_mode
from apps.memories.indexing_mode import SpaceFull, set_profile
from apps.memories.models import Memory, MemoryVector
from apps.memories.services import request_refresh
from apps.memories.spaces import reread_space
from apps.outbox import handlers
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import SpaceNotFound
from apps.recall.results import Filters
from apps.recall.services import recall
from apps.tenants.models import Profile
from apps.tenants.services import set_policy
from tests.makers import NOW, make_scope, make_tenant

pytestmark = pytest.mark.django_db(databases="__all__")

SAID = (
    ("Ann", "My dog Biscuit sleeps on the blue sofa.", "monday", ("pets",)),
    ("Ann", "I am allergic to penicillin, and carry a card that says so.", "monday", ("health",)),
    ("Ben", "The insulin is kept in the fridge door.", "tuesday", ("health", "home")),
    ("Ben", "My sister repairs old violins in Lisbon.", "tuesday", ()),
    ("Ann", "On 12 May 2025 the garden fence was painted green.", "tuesday", ("home",)),
)
QUESTIONS = (
    "where does the dog sleep?", "what is Ann allergic to?", "where is the insulin?", "who repairs violins?",
    "what did Ben say about his sister?", "what happened on 12 May 2025?", "nothing like it was ever said",
)  # fmt: skip
FILTERS = (
    Filters(), Filters(tags=("health",)), Filters(tags=("home", "pets")), Filters(session_id="tuesday"),
    Filters(metadata={"place": 3}), Filters(types=("fact", "reference", "event", "preference", "relation")),
)  # fmt: skip


def remember(scope: Scope, *, said: Sequence[tuple[str, str, str, tuple[str, ...]]] = SAID) -> list[Outcome]:
    return services.remember(
        scope,
        [
            Proposal(text=Plaintext(text), speaker=who, session_id=session, tags=tags, importance=0.7,
                     metadata={"place": place})
            for place, (who, text, session, tags) in enumerate(said)
        ],
        now=NOW,
    )  # fmt: skip


def answers(scope: Scope, **options: Any) -> list[list[tuple[str, float]]]:
    return [
        [
            (hit.memory.text.reveal(), round(hit.score, 3))
            for hit in recall(scope, Plaintext(question), filters=filters, now=NOW, **options).hits
        ]
        for question in QUESTIONS
        for filters in FILTERS
    ]


def at_rest(scope: Scope) -> dict[str, int]:
    """What the database could search of the scope's space."""
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(
            "select (select count(*) from memories_posting where space_id = %s), "
            "(select count(*) from memories_memoryvector where space_id = %s and signs is not null), "
            "(select count(*) from memories_memory where space_id = %s and (tag_tokens <> '{}' or "
            "session_token is not null or actor_token is not null))",
            [scope.space.id] * 3,
        )
        return dict(zip(("words", "signs", "tokens"), cursor.fetchone() or (), strict=True))


NOTHING = {"words": 0, "signs": 0, "tokens": 0}


def seal(scope: Scope) -> Scope:
    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
    return reread_space(scope)


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def test_sealing_takes_all_that_could_be_searched_and_changes_no_answer(scope: Scope) -> None:
    remember(scope)
    before = answers(scope)
    assert all(at_rest(scope).values())

    sealed = seal(scope)

    assert at_rest(scope) == NOTHING
    assert answers(sealed) == before
    assert answers(scope) == before, "also for who looked up the space before it was sealed"


def test_what_is_added_to_a_sealed_space_is_never_searchable(scope: Scope) -> None:
    sealed = seal(scope)

    assert all(outcome.is_stored for outcome in remember(sealed))

    assert at_rest(scope) == NOTHING
    assert "Biscuit" in recall(sealed, Plaintext("where does the dog sleep?"), now=NOW).hits[0].memory.text.reveal()


def test_who_looked_up_the_space_before_it_was_sealed_writes_nothing_searchable(scope: Scope) -> None:
    seal(scope)

    remember(scope)

    assert at_rest(scope) == NOTHING


def test_space_made_searchable_again_answers_as_one_that_always_was(scope: Scope, acme: OpenedTenant) -> None:
    always, sealed = make_scope(acme, "bob"), seal(scope)
    remember(always)
    remember(sealed)

    set_profile(sealed, sealed.space.id, Profile.SEARCHABLE, now=NOW)

    assert at_rest(scope) == at_rest(always)
    assert answers(reread_space(scope)) == answers(always)


@pytest.mark.parametrize("profile", ["memorysync", "rrf", "typed", "salience"])
def test_other_rankings_agree_too(scope: Scope, profile: str) -> None:
    remember(scope)
    before = answers(scope, profile=profile, session_id="monday")

    assert answers(seal(scope), profile=profile, session_id="monday") == before


def test_replacing_and_repeating_work_as_anywhere(scope: Scope) -> None:
    sealed = seal(scope)
    say = ("Ann", "I live in Porto.", "monday", ())
    remember(sealed, said=[say])

    (again,) = remember(sealed, said=[say])
    (moved,) = remember(sealed, said=[("Ann", "I live in Lisbon.", "monday", ())])

    assert not again.is_stored
    assert moved.decisions[0].decision == "superseding"


def test_embedding_again_leaves_nothing_searchable(scope: Scope) -> None:
    sealed = seal(scope)
    remember(sealed)

    request_refresh(sealed, now=NOW)
    while handlers.process_due_events(now=NOW):
        pass

    assert at_rest(scope) == NOTHING
    with tenant_transaction(scope):
        assert MemoryVector.objects.within(scope).count() == len(SAID)


def test_full_space_refuses_more_and_stores_nothing(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing_mode, "CAPACITY", len(SAID))
    sealed = seal(scope)
    remember(sealed)

    with pytest.raises(SpaceFull):
        remember(sealed, said=[("Ann", "My bicycle is red and has three gears.", "friday", ())])

    with tenant_transaction(scope):
        assert Memory.objects.within(scope).count() == len(SAID)


def test_space_that_is_too_large_is_not_sealed(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing_mode, "CAPACITY", len(SAID) - 1)
    remember(scope)

    with pytest.raises(SpaceFull):
        seal(scope)

    assert all(at_rest(scope).values())


def test_foreign_space_is_no_space(scope: Scope) -> None:
    other = make_scope(make_tenant("globex"))

    for space_id in (other.space.id, 10**9):
        with pytest.raises(SpaceNotFound):
            set_profile(scope, space_id, Profile.SEALED, now=NOW)

    with tenant_transaction(other):
        assert Space.objects.within(other).get().profile == Profile.SEARCHABLE


def test_tenant_may_say_that_all_new_spaces_are_sealed(acme: OpenedTenant) -> None:
    before = make_scope(acme, "before")
    set_policy(acme.tenant, new_spaces="sealed", actor="test", now=NOW)

    scope = make_scope(acme, "after")
    remember(scope)

    assert (before.space.is_sealed, scope.space.is_sealed) == (False, True)
    assert at_rest(scope) == NOTHING


def test_row_that_fails_its_seal_is_left_out_and_the_rest_answers(scope: Scope) -> None:
    sealed = seal(scope)
    first, *_ = remember(sealed)
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(
            "update memories_memory set text_ct = set_byte(text_ct, 70, get_byte(text_ct, 70) # 1) where id = %s",
            first.memory_ids,
        )

    hits = recall(sealed, Plaintext("where does the dog sleep?"), limit=10, now=NOW).hits

    assert {hit.memory.id for hit in hits}.isdisjoint(first.memory_ids)
    assert len(hits) == len(SAID) - 1


def test_project_of_the_scope_is_a_wall_here_too(acme: OpenedTenant, scope: Scope) -> None:
    sealed = seal(scope)
    remember(replace(sealed, project_id=acme.project.pk))

    other = replace(sealed, project_id=acme.project.pk + 1_000_000)

    assert recall(other, Plaintext("where does the dog sleep?"), now=NOW).hits == []
