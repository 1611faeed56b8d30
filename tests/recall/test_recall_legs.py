"""Each way of finding by itself, in searchable and in sealed spaces; which ran, and which were cut."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.edges.opened import NewEdge
from apps.edges.services import connect
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.indexing_mode import set_profile
from apps.memories.spaces import reread_space
from apps.projects.scope import Scope
from apps.recall.results import Filters
from apps.recall.retrieval import RETRIEVERS
from apps.recall.retrievers.dense import DenseRetriever
from apps.recall.services import UnknownLeg, recall
from apps.tenants.models import Profile
from tests import once
from tests.makers import NOW, make_project, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

SAID = (
    ("I live in Porto.", datetime(2026, 1, 5, tzinfo=UTC)),
    ("My sister Priya works at Globex.", datetime(2026, 2, 7, tzinfo=UTC)),
    ("Priya planted a lemon tree.", datetime(2026, 5, 12, tzinfo=UTC)),
    ("The kitchen was painted green.", datetime(2026, 5, 20, tzinfo=UTC)),
    ("We had soup.", NOW - timedelta(days=4)),
)


def say(scope: Scope, *said: tuple[str, datetime], **also: Any) -> list[int]:
    proposals = [Proposal(text=Plaintext(text), importance=0.7, occurred_at=at, **also) for text, at in said]
    return [one for outcome in remember(scope, proposals, now=NOW) for one in outcome.memory_ids]


def found(scope: Scope, question: str, legs: Sequence[str], **options: Any) -> list[str]:
    hits = recall(scope, Plaintext(question), legs=legs, limit=50, now=NOW, **options).hits
    return [hit.memory.text.reveal() for hit in hits]


@pytest.fixture(params=[Profile.SEARCHABLE, Profile.SEALED])
def scope(acme: OpenedTenant, request: pytest.FixtureRequest) -> Scope:
    scope = make_scope(acme)
    if request.param == Profile.SEALED:
        set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
        scope = reread_space(scope)
    say(scope, *SAID)
    return scope


@pytest.mark.parametrize(
    ("leg", "question", "expected"),
    [
        ("slot", "Where do I live?", ["I live in Porto."]),
        ("slot", "Which company does my sister Priya work for?", ["My sister Priya works at Globex."]),
        ("slot", "What colour is the sky?", []),
        ("temporal", "What happened on 12 May 2026?", ["Priya planted a lemon tree."]),
        ("temporal", "Anything in May?", ["Priya planted a lemon tree.", "The kitchen was painted green."]),
        ("temporal", "What did we eat last Tuesday?", ["We had soup."]),
        ("temporal", "What did we eat?", []),
        ("lexical", "lemon", ["Priya planted a lemon tree."]),
    ],
)
def test_a_leg_finds_what_is_its_own(scope: Scope, leg: str, question: str, expected: list[str]) -> None:
    assert sorted(found(scope, question, [leg])) == sorted(expected)


def test_a_leg_is_named_where_it_alone_found_something(scope: Scope) -> None:
    (hit,) = recall(scope, Plaintext("Where do I live?"), legs=["slot"], now=NOW).hits

    assert hit.explanation.matched_by == "slot"
    assert hit.explanation.legs == {"slot": {"rank": 1, "score": 1.0}}


def test_entities_are_found_by_any_of_their_names(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    say(scope, *SAID, ("Priya Sharma is my manager.", NOW))

    by_name = found(scope, "What about Priya Sharma?", ["entity"])

    assert {"Priya planted a lemon tree.", "Priya Sharma is my manager."} <= set(by_name)
    assert "I live in Porto." not in by_name


def test_a_sealed_space_keeps_no_entities_and_says_so(acme: OpenedTenant) -> None:
    scope = make_scope(acme)
    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
    scope = reread_space(scope)
    say(scope, *SAID)

    answer = recall(scope, Plaintext("Priya's lemon tree"), legs=["lexical", "entity"], now=NOW)

    assert (answer.legs, answer.legs_cut) == (["lexical"], [])


@pytest.mark.parametrize("leg", ["slot", "temporal", "entity"])
def test_the_whole_filter_holds_inside_a_leg(acme: OpenedTenant, leg: str) -> None:
    scope = make_scope(acme)
    say(scope, *SAID, ("My sister Priya lives in Oslo.", NOW), tags=("home",))
    question = "Where did Priya and my sister live in May 2026, and where do I live?"
    everything = found(scope, question, [leg])
    assert everything

    for none in (Filters(tags=("other",)), Filters(session_id="elsewhere"), Filters(types=("decision",)),
                 Filters(until=NOW - timedelta(days=900)), Filters(known_at=NOW - timedelta(days=900))):  # fmt: skip
        assert found(scope, question, [leg], filters=none) == []
    assert found(scope, question, [leg], filters=Filters(tags=("home",))) == everything


@pytest.mark.parametrize("leg", ["slot", "temporal", "entity"])
def test_no_leg_reaches_another_space_project_or_tenant(acme: OpenedTenant, globex: OpenedTenant, leg: str) -> None:
    mine, other_user, other_tenant = make_scope(acme), make_scope(acme, "bob"), make_scope(globex)
    for one in (other_user, other_tenant):
        say(one, *SAID)
    make_project(acme.scope, "a project of ours")
    say(make_scope(acme, project_id=acme.project.pk), ("I live in Faro.", NOW))
    question = "Where does Priya live, where do I live, and what was on 12 May 2026?"

    assert found(mine, question, [leg]) in ([], ["I live in Faro."])
    assert found(other_user, question, [leg])


def test_a_day_is_found_beside_the_same_day_of_others(acme: OpenedTenant, globex: OpenedTenant) -> None:
    mine = make_scope(acme)
    for scope in (mine, make_scope(acme, "bob"), make_scope(globex)):
        say(scope, *SAID)

    assert found(mine, "What happened on 12 May 2026?", ["temporal"]) == ["Priya planted a lemon tree."]


def test_a_late_stretch_is_found_in_the_time_it_reaches_into(scope: Scope) -> None:
    say(scope, ("I will be in Madeira in the summer of 2027.", NOW))

    assert "I will be in Madeira in the summer of 2027." in found(scope, "Where am I in July 2027?", ["temporal"])
    assert "I will be in Madeira in the summer of 2027." not in found(scope, "Where am I in April 2027?", ["temporal"])


def test_legs_that_ran_are_named_in_their_order(scope: Scope) -> None:
    assert recall(scope, Plaintext("lemon"), now=NOW).legs == ["dense", "lexical", "slot", "temporal", "graph"]
    assert recall(scope, Plaintext("lemon"), legs=["slot", "lexical"], now=NOW).legs == ["lexical", "slot"]
    with pytest.raises(UnknownLeg):
        recall(scope, Plaintext("lemon"), legs=["smell"], now=NOW)


def test_without_the_graph_no_relation_is_followed(scope: Scope) -> None:
    tree, soup = say(scope, ("A lemon fell.", NOW), ("Nothing like it.", NOW))
    connect(scope, [NewEdge(from_id=tree, to_id=soup, type="caused_by")], now=NOW)

    assert "Nothing like it." in found(scope, "lemon fell", ["lexical", "graph"])
    assert "Nothing like it." not in found(scope, "lemon fell", ["lexical"])


def test_legs_are_cut_when_the_time_is_up_and_something_is_found(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    with override_settings(RECALL_BUDGET_MS=0.001):
        answer = recall(scope, Plaintext("lemon tree"), now=NOW)
        nothing = recall(scope, Plaintext("lemon tree"), legs=["slot", "lexical"], now=NOW)

    assert (answer.legs, answer.legs_cut) == (["dense"], ["lexical", "slot", "temporal", "graph"])
    assert answer.hits
    # What finds nothing is no answer yet.
    assert nothing.hits
    assert nothing.legs_cut in ([], ["slot"])


def test_the_budget_counts_from_the_start_of_the_query(acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = make_scope(acme)
    say(scope, *SAID)
    usual = DenseRetriever.rank

    def slow(self: DenseRetriever, search: Any, *, limit: int) -> Any:
        time.sleep(0.2)
        return usual(self, search, limit=limit)

    monkeypatch.setattr(DenseRetriever, "rank", slow)
    with override_settings(RECALL_BUDGET_MS=150.0):
        answer = recall(scope, Plaintext("lemon tree"), now=NOW)

    assert answer.legs == ["dense"]
    assert answer.legs_cut == ["lexical", "slot", "temporal", "graph"]


def test_there_is_a_test_of_every_leg() -> None:
    assert [one.name for one in RETRIEVERS] == ["dense", "lexical", "slot", "temporal", "entity"]
