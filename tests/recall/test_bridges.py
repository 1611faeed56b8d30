"""The second step, over an entity that the best hit names and the question does not: what it raises, and may not."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory
from apps.memories.spaces import reread_space
from apps.projects.scope import Scope
from apps.projects.selectors import get_project
from apps.recall import bridges, retrieval
from apps.recall.bridges import COMMON, LIFT, Bridge, cross
from apps.recall.ranking import Ranked
from apps.recall.results import Filters, Hit
from apps.recall.services import recall
from apps.tenants.models import Profile
from tests.makers import NOW, make_project, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

QUESTION = "Who does Sarah work for, and what is their role?"
WORK = "Sarah Lindqvist works for Marcus Oyelaran."
ROLE = "Marcus Oyelaran is the head of procurement at Nordwell."
OTHERS = (
    "Priya manages the night shift at the warehouse.",
    "The canteen closes at two o'clock.",
    "Tobias has a meeting about the new badges on Thursday.",
)


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


def keep(scope: Scope, *texts: str, **fields: Any) -> list[int]:
    return [
        remember(scope, [Proposal(text=Plaintext(text), importance=0.6, **fields)], now=NOW)[0].memory_ids[0]
        for text in texts
    ]


def ask(scope: Scope, **options: Any) -> Sequence[Hit]:
    return recall(scope, Plaintext(QUESTION), now=NOW, **({"limit": 10} | options)).hits


def ids(hits: Sequence[Hit]) -> list[int]:
    return [hit.memory.id for hit in hits]


def reached(hits: Sequence[Hit]) -> list[int]:
    return [hit.memory.id for hit in hits if hit.explanation.matched_by == "graph"]


@pytest.fixture
def pair(scope: Scope) -> tuple[int, int]:
    work, role, *_ = keep(scope, WORK, ROLE, *OTHERS)
    return work, role


def test_both_steps_are_the_first_two_and_the_second_says_how_it_came(scope: Scope, pair: tuple[int, int]) -> None:
    work, role = pair
    before = {hit.memory.id: hit.score for hit in ask(scope, depth=1)}

    first, second, *_ = ask(scope)

    assert (first.memory.id, second.memory.id) == pair
    assert second.explanation.path == [{"from": work, "to": role, "type": "same_entity", "confidence": LIFT}]
    assert (second.explanation.matched_by, second.explanation.hop) == ("graph", 1)
    assert sum(second.explanation.factors.values()) == pytest.approx(second.score)
    assert second.score == pytest.approx(before[role] + LIFT * (before[work] - before[role]))
    assert first.score == before[work]


@pytest.mark.parametrize("options", [{"depth": 1}, {"weights": {"graph": 0.0}}, {"legs": ["dense"]}], ids=str)
def test_bridges_are_followed_with_relations_or_not_at_all(
    scope: Scope, pair: tuple[int, int], options: dict[str, Any]
) -> None:
    assert reached(ask(scope)) == [pair[1]]
    assert reached(ask(scope, **options)) == []


@pytest.mark.parametrize("profile", ["default", "memorysync", "rrf", "salience"])
def test_every_profile_follows_them(scope: Scope, pair: tuple[int, int], profile: str) -> None:
    assert set(ids(ask(scope, profile=profile))[:2]) == set(pair)


def test_memory_that_no_retriever_found_is_found(
    scope: Scope, pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "RETRIEVERS", [one for one in retrieval.RETRIEVERS if one.name == "lexical"])

    assert pair[1] not in ids(ask(scope, depth=1))
    assert ids(ask(scope))[:2] == list(pair)


def test_entity_that_the_question_names_is_no_bridge(scope: Scope, pair: tuple[int, int]) -> None:
    hits = recall(scope, Plaintext("Who does Sarah work for: Marcus Oyelaran?"), limit=10, now=NOW).hits

    assert reached(hits) == []


def test_entity_that_everything_mentions_is_no_bridge(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "COMMON", 2)
    keep(scope, WORK, ROLE, "Marcus Oyelaran plays the cello.", *OTHERS)
    assert len(reached(ask(scope))) == 2

    keep(scope, "Marcus Oyelaran drives a red van.")

    assert reached(ask(scope)) == []
    assert COMMON == 20


@pytest.mark.parametrize("long", [WORK, ROLE])
def test_long_text_is_at_neither_end(scope: Scope, long: str) -> None:
    padding = " ".join(f"stone{number} lies beside wall{number}," for number in range(20))
    keep(scope, *(f"{text[:-1]}, and {padding} as ever." if text == long else text for text in (WORK, ROLE)), *OTHERS)

    assert reached(ask(scope)) == []


HIDDEN: dict[str, dict[str, Any]] = {
    "soft-deleted": {"retention_status": "soft_deleted"},
    "archived": {"retention_status": "archived"},
    "superseded": {"validity": "superseded"},
    "past its time": {"expires_at": NOW - timedelta(seconds=1)},
    "of another project": {"project_id": None},
}


@pytest.mark.parametrize("fields", HIDDEN.values(), ids=HIDDEN.keys())
@pytest.mark.usefixtures("no_answer_is_kept")
def test_what_may_not_be_seen_is_at_neither_end(
    acme: OpenedTenant, scope: Scope, pair: tuple[int, int], fields: dict[str, Any]
) -> None:
    asking = scope
    if "project_id" in fields:
        fields = {"project_id": get_project(scope, make_project(scope, "other")).pk}
        asking = replace(scope, project_id=acme.project.pk)
    for hidden in pair[::-1]:
        with tenant_transaction(scope):
            Memory.objects.within(scope).filter(pk=hidden).update(**fields)

        hits = ask(asking)

        assert hidden not in ids(hits)
        assert reached(hits) == []


@pytest.mark.parametrize("filters", [Filters(sources=("diary",)), Filters(metadata={"kind": "note"})], ids=str)
def test_callers_filter_holds(scope: Scope, filters: Filters) -> None:
    keep(scope, WORK, *OTHERS, source="diary", metadata={"kind": "note"})
    (role,) = keep(scope, ROLE)
    assert reached(ask(scope)) == [role]

    assert role not in ids(ask(scope, filters=filters))


def test_sealed_space_stores_no_entities_and_has_no_bridges(scope: Scope, pair: tuple[int, int]) -> None:
    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)

    assert reached(ask(reread_space(scope))) == []


def test_other_tenant_with_the_same_statements_adds_nothing(globex: OpenedTenant, scope: Scope) -> None:
    keep(make_scope(globex), ROLE)
    (work,) = keep(scope, WORK)

    assert ids(ask(scope)) == [work]


def ranked(**scores: float) -> list[Ranked]:
    return [Ranked(id=int(name[1:]), score=score, factors={}) for name, score in scores.items()]


def test_what_fits_better_by_itself_stays_ahead_and_nothing_passes_the_seed() -> None:
    bridges_of_1 = [Bridge(seed_id=1, memory_id=one, strength=0.8) for one in (2, 3, 4)]

    found = cross(ranked(m1=0.5, m4=0.5, m2=0.2, m3=0.1), bridges_of_1)

    assert {one: path.score for one, path in found.items()} == pytest.approx({2: 0.44, 3: 0.42})


def test_best_of_several_bridges_counts_and_unknown_ends_do_not() -> None:
    several = [Bridge(seed_id=1, memory_id=3, strength=0.5), Bridge(seed_id=2, memory_id=3, strength=0.9),
               Bridge(seed_id=9, memory_id=3, strength=1.0), Bridge(seed_id=1, memory_id=9, strength=1.0)]  # fmt: skip

    found = cross(ranked(m1=0.5, m2=0.4, m3=0.0), several)

    assert {one: (path.score, path.path[0].node_id) for one, path in found.items()} == {3: (pytest.approx(0.36), 2)}
