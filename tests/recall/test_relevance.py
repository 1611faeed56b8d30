"""A hit's relevance can be compared between questions, so that a question about nothing has no answer."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.adapters.embedders.fake import FakeEmbedder
from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.projects.scope import Scope
from apps.recall import query_context, relevance
from apps.recall.ranking import Features, Ranked
from apps.recall.relevance import INPUTS, Floors, drop_irrelevant, relevance_of
from apps.recall.replay import Trace
from apps.recall.services import recall
from tests.makers import NOW, make_scope

AT = datetime(2026, 11, 28, tzinfo=UTC)
TEXTS = ("I live in Lisbon.", "My sister Nora plays the cello.", "The invoice is due on the 4th of May.")


def one(memory_id: int = 1, **fields: Any) -> Features:
    return Features(id=memory_id, **{"created_at": AT, **fields})


def ranked(*ids: int) -> list[Ranked]:
    return [Ranked(id=memory_id, score=1 / place, factors={}) for place, memory_id in enumerate(ids, start=1)]


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_it_is_a_probability_for_every_candidate(pool: list[tuple[float, float]]) -> None:
    candidates = [
        one(place, cosine=cosine, coverage_in_context=coverage) for place, (cosine, coverage) in enumerate(pool)
    ]

    found = relevance_of(candidates)

    assert found.keys() == {candidate.id for candidate in candidates}
    assert all(0 <= value <= 1 for value in found.values())


def test_the_nearer_and_the_better_covered_is_the_more_relevant() -> None:
    found = relevance_of([one(1, cosine=0.7), one(2, cosine=0.2)])
    covered = relevance_of([one(1, cosine=0.4, coverage_in_context=0.9), one(2, cosine=0.4)])

    assert found[1] > found[2]
    assert covered[1] > covered[2]


def test_the_best_of_a_question_about_nothing_is_less_relevant_than_that_of_another() -> None:
    assert relevance_of([one(cosine=0.05)])[1] < 0.05 < relevance_of([one(cosine=0.7)])[1]


def test_what_the_reranker_says_counts_for_those_it_read_and_its_least_for_the_others() -> None:
    candidates = [one(n, cosine=0.4) for n in (1, 2, 3)]
    plain, read = relevance_of(candidates), relevance_of(candidates, {1: 0.999, 2: 0.1})

    assert plain[1] == pytest.approx(plain[2]) == pytest.approx(plain[3])  # sums of a row may differ in the last bit
    assert read[1] > plain[1] > read[2] == pytest.approx(read[3])


def test_what_is_below_the_floor_is_dropped_and_the_order_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance, "relevance_of", lambda candidates, read: {1: 0.5, 2: 0.01, 3: 0.2})
    candidates = [one(1), one(2), one(3)]

    kept = drop_irrelevant(ranked(3, 2, 1), candidates, Floors(least=0.1))

    assert [each.id for each in kept] == [3, 1]
    assert [each.id for each in drop_irrelevant(ranked(3, 2, 1), candidates, Floors())] == [3, 2, 1]


def test_nothing_stays_if_the_best_does_not_reach_its_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance, "relevance_of", lambda candidates, read: {1: 0.04, 2: 0.01})
    candidates = [one(1), one(2)]

    assert drop_irrelevant(ranked(2, 1), candidates, Floors(best=0.05)) == []
    assert [each.id for each in drop_irrelevant(ranked(2, 1), candidates, Floors(best=0.03))] == [2, 1]


def test_what_a_relation_led_to_stays_only_beside_something_relevant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance, "relevance_of", lambda candidates, read: {1: 0.5, 2: 0.01})

    assert [each.id for each in drop_irrelevant(ranked(1, 9), [one(1), one(2)], Floors(least=0.1))] == [1, 9]
    assert drop_irrelevant(ranked(2, 9), [one(1), one(2)], Floors(least=0.1)) == []


def test_what_has_no_vector_yet_has_no_relevance_and_stays_if_it_has_a_word_of_the_question() -> None:
    candidates = [one(1, cosine=0.1), one(2, has_vector=False, coverage=0.5), one(3, has_vector=False)]

    assert relevance_of(candidates).keys() == {1}
    assert [each.id for each in drop_irrelevant(ranked(1, 2, 3), candidates, Floors(least=0.9))] == [2]
    assert [each.id for each in drop_irrelevant(ranked(1, 2, 3), candidates, Floors(best=0.9))] == [1, 2, 3]


def test_a_replayed_trace_drops_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    features = [one(n, cosine=0.9 - n / 3, words=1.0, created_at=AT - timedelta(days=n)) for n in (1, 2)]
    trace = Trace(
        now=AT, profile="default", limit=5, weights=None, rankings={"dense": [(1, 0.9), (2, 0.2)]}, cut=[],
        features=features, min_relevance=0.1,
    )  # fmt: skip
    monkeypatch.setattr(relevance, "relevance_of", lambda candidates, read: {1: 0.5, 2: 0.01})

    read = Trace.of_json(orjson.loads(orjson.dumps(trace.as_json())))

    assert [each.id for each in read.replay()] == [1]


@pytest.mark.parametrize("is_calibrated", [True, False])
def test_a_replay_counts_only_what_a_calibrated_reranker_said(is_calibrated: bool) -> None:
    features = [one(n, cosine=0.3, words=1.0) for n in (1, 2)]
    said = {1: 0.0, 2: 1.0}
    least = sum(relevance_of(features, said).values()) / 2
    trace = Trace(
        now=AT, profile="salience", limit=5, weights=None, rankings={"dense": [(1, 0.3), (2, 0.3)]}, cut=[],
        features=features, relevance=said, is_calibrated=is_calibrated, min_relevance=least,
    )  # fmt: skip

    written = orjson.dumps(trace.as_json(), option=orjson.OPT_NON_STR_KEYS)

    kept = {each.id for each in Trace.of_json(orjson.loads(written)).replay()}

    assert kept == (
        {2} if is_calibrated else {place for place, value in relevance_of(features).items() if value >= least}
    )


def test_every_input_has_its_weights() -> None:
    fitted = orjson.loads(relevance.WEIGHTS_FILE.read_bytes())

    units = len(fitted["output"])
    assert fitted["hidden"].keys() == set(INPUTS)
    assert {len(weights) for weights in (*fitted["hidden"].values(), fitted["hidden_bias"])} == {units}


@pytest.mark.django_db(transaction=True, databases="__all__")
class TestInRecall:
    @pytest.fixture
    def scope(self, acme: OpenedTenant) -> Scope:
        scope = make_scope(acme)
        remember(scope, [Proposal(text=Plaintext(text), importance=0.6) for text in TEXTS], now=NOW)
        return scope

    @pytest.fixture
    def calibrated(self, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> Scope:
        """As if relevance had been fitted on the vectors of the tests' embedder."""
        monkeypatch.setattr(query_context, "EMBEDDER", FakeEmbedder.id)
        return scope

    def test_hits_carry_it_and_those_below_the_floor_are_left_out(self, calibrated: Scope) -> None:
        query = Plaintext("Does my sister Nora play the cello?")
        every = recall(calibrated, query, min_relevance=0.0, now=NOW).hits
        values = [hit.relevance for hit in every]

        assert len(every) == 3
        assert all(value is not None and 0 <= value <= 1 for value in values)
        assert values[0] == max(values)
        kept = recall(calibrated, query, min_relevance=values[0], now=NOW).hits
        assert [hit.memory.text.reveal() for hit in kept] == [TEXTS[1]]
        assert recall(calibrated, query, min_relevance=1.0, now=NOW).hits == []

    def test_the_setting_is_the_floor_where_the_caller_names_none(self, calibrated: Scope, settings: Any) -> None:
        settings.RECALL_MIN_RELEVANCE = 1.0

        assert recall(calibrated, Plaintext("Where do I live?"), now=NOW).hits == []

    def test_a_cached_answer_carries_it_too(self, calibrated: Scope, settings: Any) -> None:
        settings.RECALL_CACHE_SECONDS, settings.RECALL_CACHE_ANSWERS = 60.0, 10
        first, again = (
            recall(calibrated, Plaintext("Where do I live?"), min_relevance=0.0, now=NOW).hits for _ in range(2)
        )

        assert [hit.relevance for hit in first] == [hit.relevance for hit in again]
        assert first[0].relevance is not None

    def test_another_embedder_has_none_and_loses_nothing(self, scope: Scope) -> None:
        hits = recall(scope, Plaintext("Where do I live?"), min_relevance=1.0, now=NOW).hits

        assert len(hits) == 3
        assert {hit.relevance for hit in hits} == {None}
