"""What a recall may look at: not another project's turns, not who spoke there, not what is gone."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.memories.models import Memory
from apps.memories.services import expire
from apps.projects.scope import Scope
from apps.projects.selectors import get_project
from apps.recall.options import FEWEST
from apps.recall.results import Filters, Recall
from apps.recall.services import recall
from tests.makers import NOW, make_project, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")


def projects(tenant: OpenedTenant) -> tuple[Scope, Scope, Scope]:
    """One end user in two projects, and across them."""
    ids = [get_project(tenant.scope, make_project(tenant.scope, name)).pk for name in ("red", "blue")]
    red, blue, all_ = (make_scope(tenant, project_id=project_id) for project_id in (*ids, None))
    return red, blue, all_


def remember(scope: Scope, text: str, now: datetime = NOW, **fields: Any) -> int:
    (outcome,) = services.remember(scope, [Proposal(text=Plaintext(text), importance=0.6, **fields)], now=now)
    return outcome.memory_ids[0]


def ask(scope: Scope, query: str, now: datetime = NOW) -> Recall:
    return recall(scope, Plaintext(query), limit=50, now=now)


def alike(one: Recall, other: Recall) -> bool:
    """Whether two answers are the same but for the ids; another space's rotation rounds a vector otherwise."""
    return [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-4)


def test_the_turn_before_in_another_project_does_not_weigh_in(acme: OpenedTenant) -> None:
    red, blue, everywhere = projects(acme)
    bob = make_scope(acme, "bob", project_id=blue.project_id)
    remember(red, "The heron nests beside the northern lock.", session_id="talk")
    for scope in (blue, bob):
        remember(scope, "It came back on Sunday morning.", session_id="talk")

    mine, alone = ask(blue, "where does the heron nest?"), ask(bob, "where does the heron nest?")

    assert alike(mine, alone)
    assert len(ask(everywhere, "where does the heron nest?").hits) == 2


def test_who_speaks_in_another_project_is_nobody_here(acme: OpenedTenant) -> None:
    red, blue, _ = projects(acme)
    bob = make_scope(acme, "bob", project_id=blue.project_id)
    remember(red, "The heron nests beside the northern lock.", speaker="Caroline")
    for scope in (blue, bob):
        remember(scope, "Caroline keeps bees behind the mill.")

    mine, alone = ask(blue, "what does Caroline keep?"), ask(bob, "what does Caroline keep?")

    assert alike(mine, alone)


@pytest.mark.parametrize("swept", [True, False])
def test_who_spoke_only_in_what_is_gone_is_nobody(acme: OpenedTenant, swept: bool) -> None:
    alice, bob = make_scope(acme), make_scope(acme, "bob")
    later = NOW + timedelta(hours=1)
    remember(alice, "The heron nests beside the northern lock.", speaker="Caroline", ttl_minutes=1)
    for scope in (alice, bob):
        remember(scope, "Caroline keeps bees behind the mill.")
    if swept:
        expire(alice, now=later)

    mine, alone = ask(alice, "what does Caroline keep?", later), ask(bob, "what does Caroline keep?", later)

    assert alike(mine, alone)


@pytest.mark.parametrize("profile", ["default", "memorysync", "rrf"])
def test_one_project_sees_its_rows_and_those_of_none_in_every_profile(acme: OpenedTenant, profile: str) -> None:
    red, blue, everywhere = projects(acme)
    of_red, of_blue, of_none = (
        remember(scope, f"The heron nests beside the {place} lock.")
        for scope, place in ((red, "northern"), (blue, "southern"), (everywhere, "western"))
    )

    def seen(scope: Scope) -> set[int]:
        found = recall(scope, Plaintext("heron lock"), limit=50, profile=profile, now=NOW)
        return {hit.memory.id for hit in found.hits}

    assert seen(red) == {of_red, of_none}
    assert seen(blue) == {of_blue, of_none}
    assert seen(everywhere) == {of_red, of_blue, of_none}
    with tenant_transaction(red):
        assert set(Memory.objects.within(red).values_list("pk", flat=True)) == {of_red, of_none}


def test_an_answer_is_as_long_as_was_asked_for(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    remember_all(scope, [f"Heron {number} nests at the northern lock." for number in range(110)])

    found = recall(scope, Plaintext("where do herons nest?"), limit=100, now=NOW)

    assert len(found.hits) == 100


def test_what_only_metadata_tell_is_looked_for_further_down(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    remember_all(scope, [f"Heron {number} nests at the northern lock." for number in range(FEWEST + 8)])
    marked = remember(scope, "A heron needs fish.", metadata={"ring": 7})

    found = recall(
        scope, Plaintext("which heron nests at the lock?"), filters=Filters(metadata={"ring": 7}), limit=1, now=NOW
    )

    assert [hit.memory.id for hit in found.hits] == [marked]


def remember_all(scope: Scope, texts: Sequence[str]) -> None:
    services.remember(scope, [Proposal(text=Plaintext(text), importance=0.6) for text in texts], now=NOW)
