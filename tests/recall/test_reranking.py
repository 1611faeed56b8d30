"""A cross-encoder in recall: it gives 0.6 of the score; and the answer when it gives none."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from apps.adapters.instances import get_reranker
from apps.apikeys.onboarding import OpenedTenant
from apps.audit.models import AuditEvent
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.recall.profiles import rank, weights_used
from apps.recall.ranking import Features, build_ranked, rerank_default
from apps.recall.results import Recall
from apps.recall.services import recall
from apps.tenants.services import set_policy
from tests.fakes.rerank import FakeRerank
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

QUERY = "where does the heron nest?"
LIKED = "It came back on Sunday to nest."
TEXTS = ("The heron does nest where the northern lock is.", LIKED, "The harbour nest was empty.")


@pytest.fixture
def endpoint(settings: Any) -> Iterator[FakeRerank]:
    with FakeRerank(likes="Sunday") as service:
        settings.RERANKER = service.setting
        yield service


@pytest.fixture
def tenant(acme: OpenedTenant) -> OpenedTenant:
    services.remember(
        make_scope(acme), [Proposal(text=Plaintext(text), importance=0.6, deduplicate=False) for text in TEXTS], now=NOW
    )
    return acme


def ask(tenant: OpenedTenant, **options: Any) -> Recall:
    return recall(make_scope(tenant), Plaintext(QUERY), now=NOW, **{"profile": "salience"} | options)


def texts(found: Recall) -> list[str]:
    return [hit.memory.text.reveal() for hit in found.hits]


def calls(tenant: OpenedTenant) -> list[str]:
    with tenant_transaction(tenant.scope):
        rows = AuditEvent.objects.filter(tenant_id=tenant.scope.tenant_id, action="ai.rerank").order_by("pk")
        return [row.reason for row in rows]


def test_what_it_likes_comes_first_with_factors_that_sum_to_the_score(
    tenant: OpenedTenant, endpoint: FakeRerank
) -> None:
    found = ask(tenant)

    assert texts(found)[0] == LIKED
    assert sorted(endpoint.asked[0]["documents"]) == sorted(TEXTS)
    assert endpoint.asked[0]["query"] == QUERY
    assert "rerank" in found.legs
    for hit in found.hits:
        assert hit.score == pytest.approx(sum(hit.explanation.factors.values()))
        assert 0 <= hit.score <= 1
    assert found.hits[0].explanation.factors["rerank"] == pytest.approx(0.6 * 0.99)
    assert found.hits[0].explanation.weights["rerank"] == 0.6
    assert calls(tenant) == ["ok"]


def test_without_one_recall_is_as_ever(tenant: OpenedTenant) -> None:
    found = ask(tenant)

    assert texts(found)[0] == TEXTS[0]
    assert "rerank" not in (*found.legs, *found.legs_cut)


def test_a_profile_that_is_not_named_is_not_read(tenant: OpenedTenant, endpoint: FakeRerank) -> None:
    found = ask(tenant, profile="default")

    assert texts(found)[0] == TEXTS[0]
    assert not endpoint.requests


def test_any_profile_can_be_named(tenant: OpenedTenant, endpoint: FakeRerank, settings: Any) -> None:
    settings.RERANKER_PROFILES = ["rrf"]

    assert texts(ask(tenant, profile="rrf"))[0] == LIKED


def test_a_request_decides_for_itself_and_its_answer_is_cached_by_itself(
    tenant: OpenedTenant, endpoint: FakeRerank
) -> None:
    plain = ask(tenant, profile="rrf")
    read = ask(tenant, profile="rrf", rerank=True)
    unread = ask(tenant, rerank=False)

    assert texts(plain)[0] == texts(unread)[0] == TEXTS[0]
    assert texts(read)[0] == LIKED
    assert "rerank" in read.legs
    assert "rerank" not in (*plain.legs, *unread.legs)
    assert endpoint.requests == 1


def test_the_local_one_reads_without_a_row_in_the_audit_trail(
    tenant: OpenedTenant, settings: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = str(tmp_path_factory.mktemp("models"))
    settings.RERANKER = {
        "BACKEND": "apps.adapters.rerankers.local.LocalReranker", "OPTIONS": {"cache_dir": folder}
    }  # fmt: skip

    found = ask(tenant, profile="default", rerank=True)

    assert texts(found)[0] == TEXTS[0]
    assert "rerank" in found.legs
    assert all(0 <= hit.score <= 1 for hit in found.hits)
    assert calls(tenant) == []


@pytest.mark.parametrize("policy", ["allow", "deny"])
def test_a_tenant_can_forbid_the_local_one_too(policy: str, tenant: OpenedTenant, settings: Any) -> None:
    settings.RERANKER = {"BACKEND": "apps.adapters.rerankers.local.LocalReranker", "OPTIONS": {}}
    set_policy(tenant.tenant, ai_rerank=policy, actor="test", now=NOW)

    assert ("rerank" in ask(tenant, rerank=True).legs) == (policy == "allow")


@pytest.mark.parametrize("fault", ["down", "slow", "missing", "throttled_429"])
def test_one_that_fails_is_named_as_cut_and_the_answer_is_as_without(
    fault: str, tenant: OpenedTenant, endpoint: FakeRerank, settings: Any
) -> None:
    settings.RERANKER_SECONDS = 0.3
    endpoint.break_with(fault)

    found = ask(tenant)

    assert texts(found)[0] == TEXTS[0]
    assert "rerank" in found.legs_cut
    assert found.latency_ms < 2_000
    assert len(calls(tenant)) == 1
    assert calls(tenant) != ["ok"]


@pytest.mark.parametrize("policy", ["deny", "self_hosted_only"])
def test_a_tenant_that_does_not_let_it_read_is_not_read(
    policy: str, tenant: OpenedTenant, endpoint: FakeRerank, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(tenant.tenant, ai_rerank=policy, actor="test", now=NOW)
    monkeypatch.setattr(get_reranker(), "is_self_hosted", False)

    found = ask(tenant)

    assert texts(found)[0] == TEXTS[0]
    assert "rerank" not in (*found.legs, *found.legs_cut)
    assert not endpoint.requests
    assert calls(tenant) == []


def test_only_the_best_are_read_and_the_others_stay_behind_them(
    tenant: OpenedTenant, endpoint: FakeRerank, settings: Any
) -> None:
    settings.RERANKER_TEXTS = 2
    plain = [hit.memory.id for hit in ask(tenant, profile="rrf").hits]

    found = ask(tenant)

    assert len(endpoint.asked[0]["documents"]) == 2
    assert len(found.hits) == len(plain) == 3
    assert "rerank" in found.hits[-1].explanation.factors
    assert found.hits[-1].explanation.factors["rerank"] == 0


# -- the latest of those that answer equally well ----------------------------------------------------------------------


def aged(memory_id: int, days: int, **fields: Any) -> Features:
    return Features(id=memory_id, created_at=NOW, said_at=NOW - timedelta(days=days), **fields)


@pytest.mark.parametrize("asks_now", [True, False])
def test_the_latest_of_those_that_answer_nearly_as_well_leads(asks_now: bool) -> None:
    candidates = [aged(place, days, asks_now=asks_now) for place, days in ((1, 90), (2, 1), (3, 0))]
    before = [build_ranked(place, {"semantic": score}) for place, score in ((1, 0.52), (2, 0.51), (3, 0.1))]

    after = rerank_default(before, {1: 0.9, 2: 0.88, 3: 0.1}, candidates)

    assert [one.id for one in after] == [2, 1, 3]
    assert [one.factors["latest"] > 0 for one in after] == [True, False, False]
    for one in after:
        assert one.score == pytest.approx(sum(one.factors.values()))
        assert 0 <= one.score <= 1


def test_what_answers_less_well_does_not_lead_because_it_is_later() -> None:
    before = [build_ranked(1, {"semantic": 0.9}), build_ranked(2, {"semantic": 0.9})]

    after = rerank_default(before, {1: 0.9, 2: 0.5}, [aged(1, 90), aged(2, 1)])

    assert [one.id for one in after] == [1, 2]
    assert after[1].factors["latest"] == 0


def test_scores_of_two_spaces_can_be_compared() -> None:
    """A memory that answers, alone in its space, and an irrelevant one, the best of its own."""
    (right,) = rerank_default([build_ranked(1, {"semantic": 0.4})], {1: 0.95}, [aged(1, 1)])
    wrong, _ = rerank_default(
        [build_ranked(2, {"semantic": 0.4}), build_ranked(3, {"semantic": 0.1})],
        {2: 0.05, 3: 0.04},
        [aged(2, 1), aged(3, 1)],
    )

    assert right.score > wrong.score


def test_what_is_no_candidate_any_more_changes_nothing() -> None:
    before = [build_ranked(1, {"semantic": 0.9}), build_ranked(2, {"semantic": 0.8})]

    assert rerank_default(before, {3: 0.9}, [aged(1, 1), aged(2, 2)]) == before


@pytest.mark.parametrize("asks_now", [True, False])
def test_the_weights_of_a_reranked_default_are_those_used(asks_now: bool) -> None:
    candidates = [aged(n, n, cosine=n / 5, asks_now=asks_now) for n in range(1, 4)]
    plain = {one.id: one for one in rank("default", candidates, {}, None, NOW)}
    own, weights = weights_used("default", candidates), weights_used("default", candidates, reranked=True)

    ranked = rank("default", candidates, {}, None, NOW, {1: 0.999_999, 2: 0.9, 3: 0.1})

    assert weights["latest"] == pytest.approx(max(one.factors["latest"] for one in ranked))
    assert all(0 <= one.factors["rerank"] <= weights["rerank"] for one in ranked)
    assert sum(weights[name] for name in ("rerank", "latest")) <= 1
    for one in ranked:
        assert one.factors["semantic"] / weights["semantic"] == pytest.approx(
            plain[one.id].factors["semantic"] / own["semantic"]
        )


@pytest.mark.parametrize("rerank", [True, False])
def test_a_budget_that_is_spent_before_it_is_named_and_nothing_is_sent(
    rerank: bool, tenant: OpenedTenant, endpoint: FakeRerank, settings: Any
) -> None:
    settings.RECALL_BUDGET_MS = 0.000_001

    found = ask(tenant, profile="default", rerank=rerank)

    assert ("rerank" in found.legs_cut) == rerank
    assert not endpoint.requests
    assert calls(tenant) == []


def test_nothing_found_is_not_read(acme: OpenedTenant, endpoint: FakeRerank) -> None:
    assert ask(acme).hits == []
    assert not endpoint.requests
