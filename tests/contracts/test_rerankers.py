"""Every reranker keeps the same promises, however its endpoint behaves: those of ``apps.adapters.rerankers.base``."""

import time
from collections.abc import Iterator

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.breaker import FAILURES
from apps.adapters.rerankers.base import Reranker, RerankFailed
from apps.adapters.rerankers.http import HttpReranker
from tests.fakes.rerank import FAULTS, FakeRerank

SECONDS = 0.5
TEXTS = ["The heron nests by the lock.", "Bees fly.", "Where the heron nests, nobody knows."]
QUERY = "where the heron nests"
CAUSES = {
    "not_json": "malformed", "missing": "malformed", "twice": "malformed", "out_of_range": "malformed",
    "not_a_number": "malformed", "no_results": "malformed", "endless": "malformed", "error_500": "unavailable",
    "redirect": "unavailable", "disconnect": "unavailable", "down": "unavailable", "throttled_429": "throttled",
    "slow": "timeout", "drip": "timeout",
}  # fmt: skip


@pytest.fixture(params=[False, True], ids=["relevance", "logits"])
def endpoint(request: pytest.FixtureRequest) -> Iterator[FakeRerank]:
    with FakeRerank(logits=request.param) as service:
        yield service


@pytest.fixture
def reranker(endpoint: FakeRerank) -> HttpReranker:
    return HttpReranker(url=endpoint.base_url, model="small", key="only-for-tests", logits=endpoint.logits)


def test_it_is_a_reranker(reranker: HttpReranker) -> None:
    assert isinstance(reranker, Reranker)
    assert reranker.is_self_hosted


def test_scores_are_in_the_order_of_the_texts_and_between_nought_and_one(reranker: HttpReranker) -> None:
    scores = reranker.score(QUERY, TEXTS, seconds=SECONDS)

    assert scores == pytest.approx([0.01 + 0.9 * 3 / 4, 0.01, 0.91])


def test_the_question_and_the_texts_are_sent_and_nothing_else(endpoint: FakeRerank, reranker: HttpReranker) -> None:
    reranker.score(QUERY, TEXTS, seconds=SECONDS)

    assert endpoint.asked == [{"model": "small", "query": QUERY, "documents": TEXTS, "top_n": 3}]


def test_of_no_texts_nobody_is_asked(endpoint: FakeRerank, reranker: HttpReranker) -> None:
    assert reranker.score(QUERY, [], seconds=SECONDS) == []
    assert not endpoint.asked


@pytest.mark.parametrize("text", ["naïve café", "日本語のテキスト", "\x00\x07\u200b", "👨‍👩‍👧 family", "x" * 65_536])
def test_any_text_can_be_sent(text: str, reranker: HttpReranker) -> None:
    assert len(reranker.score(text, [text, "other"], seconds=2)) == 2


def test_every_fault_has_its_cause() -> None:
    assert set(CAUSES) == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_goes_wrong_it_says_so_in_time_and_without_a_word_of_it(fault: str) -> None:
    with FakeRerank() as endpoint:
        endpoint.break_with(fault)
        reranker = HttpReranker(url=endpoint.base_url, model="small")
        began = time.monotonic()

        with pytest.raises(RerankFailed) as failed:
            reranker.score(QUERY, TEXTS, seconds=SECONDS)

        assert failed.value.cause == CAUSES[fault]
        assert time.monotonic() - began < SECONDS * 1.2 + 0.2
        assert not {"heron", "Bees"} & set(repr(failed.getrepr(showlocals=False)).split())
        assert failed.value.__cause__ is None
        assert failed.value.__context__ is None


def test_after_some_failures_in_a_row_nobody_is_asked_for_a_while() -> None:
    with FakeRerank() as endpoint:
        endpoint.break_with("error_500")
        reranker = HttpReranker(url=endpoint.base_url, model="small")
        for _ in range(FAILURES):
            with pytest.raises(RerankFailed, match="unavailable"):
                reranker.score(QUERY, TEXTS, seconds=SECONDS)

        with pytest.raises(RerankFailed, match="circuit_open"):
            reranker.score(QUERY, TEXTS, seconds=SECONDS)

        assert endpoint.requests == FAILURES


@pytest.mark.parametrize("url", ["ftp://models", "http://", "https://me:secret@models/v1", "http://models.example/v1"])
def test_an_address_that_may_not_be_is_refused_by_name_of_its_setting(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="RERANKER_URL"):
        HttpReranker(url=url, model="small")


def test_another_machine_is_somebody_elses_unless_the_operator_says_so() -> None:
    assert not HttpReranker(url="https://models.example/v1", model="small").is_self_hosted
    assert HttpReranker(url="http://models.example/v1", model="small", self_hosted=True).is_self_hosted
