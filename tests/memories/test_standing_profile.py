"""The standing profile: what it holds, in which order, and whose it is."""

from datetime import timedelta

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.spaces import reread_space
from apps.memories.standing_profile import standing_profile
from apps.projects.scope import Scope
from apps.tenants.models import Profile
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

NAME, DIET, ALLERGY = "My name is Ana.", "I am vegetarian.", "I'm allergic to peanuts."


def keep(scope: Scope, *texts: str) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6) for text in texts]
    return [outcome.memory_ids[0] for outcome in remember(scope, proposals, now=NOW)]


def wish(scope: Scope, text: str, *, days_ago: int) -> int:
    (memory_id,) = keep(scope, text)
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=memory_id).update(
            type="instruction", created_at=NOW - timedelta(days=days_ago)
        )
    return memory_id


def texts(scope: Scope, *, limit: int = 12) -> list[str]:
    return [memory.text.reveal() for memory in standing_profile(scope, limit=limit, now=NOW)]


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    scope = make_scope(acme)
    keep(scope, "I live in Lisbon.", NAME, DIET, "My sister is allergic to cats.", ALLERGY)
    return scope


def test_health_comes_first_and_then_the_name(scope: Scope) -> None:
    assert texts(scope) == [ALLERGY, DIET, NAME]
    assert texts(scope, limit=2) == [ALLERGY, DIET]


def test_many_new_facts_hide_no_older_allergy(scope: Scope) -> None:
    keep(scope, "I speak Portuguese.", "I speak Spanish.", "I speak Dutch.", "I take metformin every morning.")

    assert texts(scope, limit=1) == [ALLERGY]


def test_instructions_follow_the_newest_first(scope: Scope) -> None:
    wish(scope, "The tram to the museum stops at the bridge.", days_ago=2)
    wish(scope, "The oven needs ten minutes to warm up.", days_ago=1)

    assert texts(scope)[3:] == [
        "The oven needs ten minutes to warm up.",
        "The tram to the museum stops at the bridge.",
    ]


def test_what_is_replaced_or_may_be_outdated_is_left_out(scope: Scope) -> None:
    (name,) = keep(scope, "My name is Eva.")
    assert texts(scope) == [ALLERGY, DIET, "My name is Eva."]

    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=name).update(outdated_by_id=name)
    assert texts(scope) == [ALLERGY, DIET]


def test_sealed_space_has_the_same_profile(scope: Scope) -> None:
    before = texts(scope)
    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)

    assert texts(reread_space(scope)) == before


def test_profile_is_of_one_person(scope: Scope, acme: OpenedTenant, globex: OpenedTenant) -> None:
    wish(scope, "The tram to the museum stops at the bridge.", days_ago=1)

    for other in (make_scope(acme, "bob"), make_scope(globex)):
        assert texts(other) == []
