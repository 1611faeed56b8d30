"""Recall along relations: what it finds that vectors and words miss, by which path, and what stops it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.edges.opened import NewEdge
from apps.edges.services import connect
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.spaces import reread_space
from apps.projects.scope import Scope
from apps.projects.selectors import get_project
from apps.recall.results import Filters, Hit
from apps.recall.services import recall
from apps.tenants.models import Profile
from tests.makers import NOW, make_project, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

QUESTION = "What causes the rash on Ana's arm?"
# Each shares words with the question or is about something else; the last one shares none, and answers it.
RASH = "Ana has a rash on her arm since Monday."
SOAP = "On Sunday the laundry was washed with another detergent."
ENZYME = "Subtilisin in Brillox irritates skin."
# Of the same thing, the second fits the question less.
ITCH = "The rash on Ana's arm itches."
HEALED = "The rash on Ana's left arm is healed now."
OTHERS = tuple(f"Ana wrote chapter {n} on her arm rest during the train ride." for n in range(12))


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def keep(scope: Scope, *texts: str, **fields: Any) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.6, deduplicate=False, **fields) for text in texts]
    return [outcome.memory_ids[0] for outcome in remember(scope, proposals, now=NOW)]


def relate(scope: Scope, *links: tuple[int, int, str]) -> None:
    connect(scope, [NewEdge(from_id=one, to_id=other, type=type_) for one, other, type_ in links], now=NOW)


def ask(scope: Scope, **options: Any) -> Sequence[Hit]:
    options = {"limit": 5, **options}
    return recall(scope, Plaintext(QUESTION), now=NOW, **options).hits


def ids(hits: Sequence[Hit]) -> list[int]:
    return [hit.memory.id for hit in hits]


@pytest.fixture
def chain(scope: Scope) -> tuple[int, int, int]:
    """The rash, caused by the detergent, whose enzyme irritates: the last is two relations from what is asked."""
    rash, soap, enzyme, *_ = keep(scope, RASH, SOAP, ENZYME, *OTHERS)
    relate(scope, (rash, soap, "caused_by"), (enzyme, soap, "supports"))
    return rash, soap, enzyme


def test_two_hops_find_what_vectors_alone_miss_with_the_path_and_depth_one_does_not(
    scope: Scope, chain: tuple[int, int, int]
) -> None:
    rash, soap, enzyme = chain

    shallow, deep = ask(scope, depth=1), ask(scope, depth=2)

    assert enzyme not in ids(shallow)
    assert soap not in ids(shallow)
    assert ids(deep)[0] == rash
    hit = next(hit for hit in deep if hit.memory.id == enzyme)
    assert hit.explanation.matched_by == "graph"
    assert hit.explanation.hop == 2
    assert hit.explanation.path == [
        {"from": rash, "to": soap, "type": "caused_by", "confidence": 1.0},
        {"from": enzyme, "to": soap, "type": "supports", "confidence": 1.0},
    ]
    assert sum(hit.explanation.factors.values()) == pytest.approx(hit.score)
    assert hit.score == pytest.approx(deep[0].score * 0.9 * 0.6 * 1.0 * 0.6)


def test_two_is_the_depth_where_none_is_given(scope: Scope, chain: tuple[int, int, int]) -> None:
    assert ids(ask(scope)) == ids(ask(scope, depth=2))


def test_graph_may_be_weighed_and_left_out(scope: Scope, chain: tuple[int, int, int]) -> None:
    assert ids(ask(scope, weights={"graph": 0.0})) == ids(ask(scope, depth=1))


def test_third_hop_is_reached_at_depth_three_only(scope: Scope, chain: tuple[int, int, int]) -> None:
    (last,) = keep(scope, "Brillox comes from Utrecht.")
    relate(scope, (chain[2], last, "supports"))

    found = {depth: {hit.memory.id: hit.explanation.hop for hit in ask(scope, depth=depth, limit=50)}
             for depth in (2, 3)}  # fmt: skip

    assert found[2].get(last, 0) == 0
    assert found[3][last] == 3


@pytest.mark.parametrize("profile", ["default", "memorysync", "rrf"])
def test_without_relations_no_depth_changes_anything(scope: Scope, profile: str) -> None:
    keep(scope, RASH, SOAP, ENZYME, *OTHERS)

    answers = [
        [(hit.memory.id, hit.score, dict(hit.explanation.factors)) for hit in ask(scope, depth=depth, profile=profile)]
        for depth in (1, 2, 3)
    ]

    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("profile", ["default", "memorysync", "rrf"])
def test_every_profile_follows_relations_and_its_factors_sum(
    scope: Scope, chain: tuple[int, int, int], profile: str
) -> None:
    hits = ask(scope, profile=profile, limit=50)

    assert chain[1] in ids(hits)
    for hit in hits:
        assert sum(hit.explanation.factors.values()) == pytest.approx(hit.score)
        assert hit.score <= 1


# -- the whole filter, at every hop ------------------------------------------------------------------------------------

HIDDEN: dict[str, dict[str, Any]] = {
    "soft-deleted": {"retention_status": "soft_deleted"},
    "archived": {"retention_status": "archived"},
    "superseded": {"validity": "superseded"},
    "past its time": {"expires_at": NOW - timedelta(seconds=1)},
    "of another project": {"project_id": None},
}


@pytest.mark.parametrize("fields", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_may_not_be_seen_is_no_step_on_the_way(
    acme: OpenedTenant, scope: Scope, chain: tuple[int, int, int], fields: dict[str, Any]
) -> None:
    _, soap, enzyme = chain
    assert enzyme in ids(ask(scope))
    asking = scope
    if "project_id" in fields:
        fields = {"project_id": get_project(scope, make_project(scope, "other")).pk}
        asking = replace(scope, project_id=acme.project.pk)
    with tenant_transaction(scope):
        Memory.objects.within(scope).filter(pk=soap).update(**fields)

    found = ids(ask(asking))

    assert soap not in found
    assert enzyme not in found


@pytest.mark.parametrize(
    "filters", [Filters(sources=("diary",)), Filters(tags=("skin",)), Filters(metadata={"kind": "note"})], ids=str
)
def test_callers_filter_holds_at_every_hop(scope: Scope, filters: Filters) -> None:
    marks: dict[str, Any] = {"source": "diary", "tags": ("skin",), "metadata": {"kind": "note"}}
    rash, enzyme, near, *_ = keep(scope, RASH, ENZYME, "Brillox comes from Utrecht.", *OTHERS, **marks)
    (soap,) = keep(scope, SOAP)
    relate(scope, (rash, soap, "caused_by"), (enzyme, soap, "supports"), (rash, near, "caused_by"))

    found = ids(ask(scope, filters=filters, limit=5))

    assert near in found
    assert soap not in found
    assert enzyme not in found


def test_step_that_fails_its_seal_blocks_the_path(scope: Scope, chain: tuple[int, int, int]) -> None:
    _, soap, enzyme = chain
    with tenant_transaction(scope):
        row = Memory.objects.within(scope).get(pk=soap)
        Memory.objects.within(scope).filter(pk=soap).update(
            text_ct=bytes(row.text_ct)[:-1] + bytes([row.text_ct[-1] ^ 1])
        )

    found = ids(ask(scope))

    assert soap not in found
    assert enzyme not in found


def test_cycle_ends(scope: Scope, chain: tuple[int, int, int]) -> None:
    rash, _, enzyme = chain
    relate(scope, (enzyme, rash, "supports"))

    hits = ask(scope, depth=3, limit=50)

    assert len(ids(hits)) == len(set(ids(hits)))
    assert hits[0].memory.id == rash
    assert hits[0].explanation.path == ()


# -- contradictions ----------------------------------------------------------------------------------------------------


def test_contradiction_pulls_nothing_in(scope: Scope) -> None:
    rash, soap, *_ = keep(scope, RASH, SOAP, *OTHERS)
    relate(scope, (rash, soap, "contradiction"))

    assert soap not in ids(ask(scope))


def test_older_of_two_that_contradict_falls_and_says_why(scope: Scope) -> None:
    older, newer, *_ = keep(scope, ITCH, HEALED, *OTHERS)
    before = {hit.memory.id: hit.score for hit in ask(scope, limit=20)}

    relate(scope, (older, newer, "contradiction"))

    hits = {hit.memory.id: hit for hit in ask(scope, limit=20)}
    assert before[older] > before[newer] == hits[newer].score
    assert hits[older].score == pytest.approx(before[newer], abs=1e-5)
    assert ids(ask(scope))[:2] == [newer, older]
    (boost,) = hits[older].explanation.boosts
    assert (boost["name"], boost["memory_ids"]) == ("contradiction", [newer])
    assert hits[newer].explanation.boosts == ()


def test_question_about_the_past_is_answered_by_the_older_one(scope: Scope) -> None:
    older, newer, *_ = keep(scope, ITCH, HEALED, *OTHERS)
    relate(scope, (older, newer, "contradiction"))

    hits = recall(scope, Plaintext("What did the rash on Ana's arm look like?"), limit=20, now=NOW).hits

    assert ids(hits)[:2] == [older, newer]
    assert [boost["amount"] for hit in hits for boost in hit.explanation.boosts] == [0.0]


# -- sealed spaces -----------------------------------------------------------------------------------------------------


def test_stated_relations_are_followed_in_a_sealed_space_too(scope: Scope, chain: tuple[int, int, int]) -> None:
    before = ask(scope)

    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)

    after = ask(reread_space(scope))
    assert ids(after) == ids(before)
    assert chain[2] in ids(after)
