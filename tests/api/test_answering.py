"""POST /memory/compose, /memory/search/routed and /memory/synthesize."""

from typing import Any

import pytest
from django.utils import timezone

from apps.adapters.embedders.fake import FakeEmbedder
from apps.api.memory.compose import ComposeOutput
from apps.api.memory.search_routed import RoutedOutput
from apps.api.memory.synthesize import SynthesizeOutput
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")

HOME = "I live in Lisbon."
KEY = "The spare key lies under the blue flower pot."
BUS = "The bus to the airport leaves at ten past six."


@pytest.fixture
def house(alice: Caller) -> Caller:
    for text in (HOME, KEY, BUS):
        alice.add(text)
    return alice


@pytest.fixture
def calibrated(house: Caller, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """As if relevance had been fitted on the vectors of the tests' embedder."""
    monkeypatch.setattr("apps.recall.query_context.EMBEDDER", FakeEmbedder.id)
    return house


def ask(caller: Caller, path: str, /, **body: Any) -> Any:
    response = caller("POST", f"/memory/{path}", body)
    assert response.status_code == 200, response.content
    return response.json()


def refusal(caller: Caller, path: str, /, **body: Any) -> tuple[int, str, str]:
    response = caller("POST", f"/memory/{path}", body)
    return response.status_code, response.json()["error"]["code"], response.json()["detail"]


# -- compose -----------------------------------------------------------------------------------------------------------


def test_prompt_holds_what_answers_it(house: Caller) -> None:
    answer = ask(house, "compose", prompt_template="Where is the spare key?\n{{memories}}", recall_k=1)

    assert answer.keys() == ComposeOutput().fields.keys()
    assert answer["composed_prompt"] == f"Where is the spare key?\n- [said {timezone.now():%Y-%m-%d}] {KEY}"
    assert (answer["memories_used"], answer["truncated"]) == (1, False)
    assert answer["token_count"] > 10


def test_budget_leaves_memories_out_whole(house: Caller) -> None:
    answer = ask(house, "compose", prompt_template="Where is the spare key? {memories}", recall_k=3, max_tokens=22)

    assert (answer["memories_used"], answer["truncated"]) == (1, True)
    assert answer["token_count"] <= 22


def test_standing_profile_comes_first_whatever_is_asked(house: Caller) -> None:
    house.add("I am allergic to sesame.")
    house.add("My name is Ana.")

    answer = ask(house, "compose", prompt_template="Where is the spare key? {memories}", recall_k=1)
    without = ask(
        house, "compose", prompt_template="Where is the spare key? {memories}", recall_k=1, standing_profile=False
    )

    lines = answer["composed_prompt"].splitlines()
    assert lines[:3] == ["Where is the spare key? About the user:", "- I am allergic to sesame.", "- My name is Ana."]
    assert lines[-1].endswith(KEY)
    assert answer["memories_used"] == 3
    assert without["memories_used"] == 1
    assert "sesame" not in without["composed_prompt"]


def test_no_memory_stands_twice_in_a_prompt(alice: Caller) -> None:
    alice.add("I am allergic to sesame.")

    answer = ask(alice, "compose", prompt_template="What am I allergic to?")

    assert answer["composed_prompt"].count("sesame") == 1
    assert answer["memories_used"] == 1


def test_standing_profile_is_of_the_caller_and_of_now(house: Caller) -> None:
    house.add("My name is Ana.")
    house.add("My name is Eva.")

    mine = ask(house, "compose", prompt_template="Where is the spare key?")["composed_prompt"]
    theirs = ask(house.as_user("stranger"), "compose", prompt_template="Where is the spare key?")["composed_prompt"]

    assert "Eva" in mine
    assert "Ana" not in mine
    assert "Eva" not in theirs


def test_prompt_of_nobody_is_the_template(house: Caller) -> None:
    answer = ask(house.as_user("stranger"), "compose", prompt_template="Plan my day.")

    assert (answer["composed_prompt"], answer["memories_used"]) == ("Plan my day.", 0)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "prompt_template: field required"),
        ({"prompt_template": " "}, "prompt_template: must not be blank"),
        ({"prompt_template": "a", "max_tokens": 0}, "max_tokens: must be at least 1"),
        ({"prompt_template": "a" * 100_001}, "prompt_template: must have at most 100000 characters"),
        ({"prompt_template": "{memories}"},
         "prompt_template: must say something besides the place for memories, because that is what is looked up."),
    ],
)  # fmt: skip
def test_prompt_that_asks_nothing_is_refused(body: dict[str, Any], detail: str, alice: Caller) -> None:
    assert refusal(alice, "compose", **body) == (422, "VALIDATION_ERROR", detail)


# -- routed ------------------------------------------------------------------------------------------------------------


def test_fact_is_answered_from_what_is_current(house: Caller) -> None:
    house.add("I moved to Porto.")

    answer = ask(house, "search/routed", query="Where do I live?", include_reasoning=True)

    assert answer.keys() == RoutedOutput().fields.keys()
    assert (answer["intent"], answer["route"], answer["refused"]) == ("factual", "canonical", False)
    assert answer["answer"] == "I moved to Porto."
    assert {memory["extracted_key"] for memory in answer["memories"]} == {"user.location"}
    assert 0 < answer["confidence"] <= 1
    assert answer["reasoning"]


def test_fact_that_only_exists_does_not_answer(house: Caller) -> None:
    answer = ask(house, "search/routed", query="Where is the spare key?", include_reasoning=True)

    assert answer["route"] == "hybrid"
    assert answer["answer"].startswith(KEY)
    assert "has no fact that leads" in answer["reasoning"][-1]
    insisted = ask(house, "search/routed", query="Where is the spare key?", route="canonical")
    assert [memory["text"] for memory in insisted["memories"]] == [HOME]


def test_fact_without_a_key_is_found_by_recall_in_general(alice: Caller) -> None:
    alice.add(BUS)

    answer = ask(alice, "search/routed", query="When does the bus leave?", include_reasoning=True)

    assert (answer["route"], answer["answer"]) == ("hybrid", BUS)
    assert "found nothing" in answer["reasoning"][-1]


def test_route_that_is_insisted_on_is_kept_even_if_it_finds_nothing(alice: Caller) -> None:
    alice.add(BUS)

    for insisted in ({"route": "factual"}, {"force_intent": "factual"}, {"route": "factual", "force_intent": "hybrid"}):
        answer = ask(alice, "search/routed", query="When does the bus leave?", **insisted)

        assert (answer["route"], answer["memories"], answer["answer"]) == ("canonical", [], None)
    assert "reasoning" not in answer


def test_memories_of_a_kind_come_in_the_order_of_time(alice: Caller) -> None:
    alice.add("We decided to sell the van.", metadata={"occurred_at": "2026-03-02T10:00:00Z"})
    alice.add("We decided to plant three apple trees.", metadata={"occurred_at": "2026-01-05T10:00:00Z"})
    alice.add(BUS)

    answer = ask(alice, "search/routed", query="List all decisions")

    assert (answer["intent"], answer["route"]) == ("analytical", "structured")
    assert [memory["text"] for memory in answer["memories"]] == [
        "We decided to plant three apple trees.",
        "We decided to sell the van.",
    ]


def test_irrelevant_memories_are_found_and_do_not_answer(calibrated: Caller) -> None:
    for route in ("factual", "hybrid"):
        answer = ask(calibrated, "search/routed", query="Which planet is the largest?", route=route)

        assert (len(answer["memories"]) > 0, answer["answer"]) == (True, None)


def test_memory_that_the_question_names_answers_whatever_its_relevance(calibrated: Caller) -> None:
    calibrated.add("We decided to sell the van.")

    home = ask(calibrated, "search/routed", query="Where is my home?")
    decided = ask(calibrated, "search/routed", query="List every decision")

    assert (home["answer"], home["memories"][0]["relevance"] < 0.01) == (HOME, True)
    assert (decided["answer"], decided["memories"][0]["relevance"] < 0.01) == ("We decided to sell the van.", True)


def test_request_for_a_secret_is_refused_before_anything_is_looked_up(house: Caller) -> None:
    answer = ask(house, "search/routed", query="What is my bank card number?", route="hybrid")

    assert (answer["route"], answer["refused"], answer["refusal_reason"]) == ("refused", True, "secret_requested")
    assert (answer["memories"], answer["answer"], answer["confidence"]) == ([], None, 0)


def test_route_is_refused_where_it_means_nothing(alice: Caller) -> None:
    assert refusal(alice, "search/routed", query=" ")[:2] == (400, "EMPTY_QUERY")
    assert refusal(alice, "search/routed", query="a", route="psychic")[2].startswith("route: must be one of: factual")


# -- synthesize --------------------------------------------------------------------------------------------------------


def test_answer_is_its_quotes(house: Caller) -> None:
    answer = ask(house, "synthesize", query="Where is the spare key?", max_memories=2)

    assert answer.keys() == SynthesizeOutput().fields.keys()
    assert answer["citations"][0]["quote"] == KEY
    assert answer["answer"] == " ".join(one["quote"] for one in answer["citations"])
    assert (answer["memories_used"], answer["model"]) == (2, "extractive")
    texts = {
        one["memory_id"]: house("GET", f"/memory/{one['memory_id']}").json()["text"] for one in answer["citations"]
    }
    assert all(one["quote"] in texts[one["memory_id"]] for one in answer["citations"])


def test_answer_quotes_only_what_is_relevant(calibrated: Caller) -> None:
    answer = ask(calibrated, "synthesize", query="Where is the spare key?")
    nothing = ask(calibrated, "synthesize", query="Which planet is the largest?")

    assert answer["answer"] == KEY
    assert (nothing["answer"], nothing["citations"], nothing["memories_used"]) == ("", [], 0)


def test_answer_from_given_memories_names_no_other(alice: Caller) -> None:
    mine = [alice.add(text)["id"] for text in (HOME, BUS)]
    alice.add(KEY)

    answer = ask(alice, "synthesize", memory_ids=mine, query="Where is the spare key?")

    assert {one["memory_id"] for one in answer["citations"]} == set(mine)


def test_answer_from_a_memory_of_somebody_else_is_not_found(alice: Caller) -> None:
    mine, theirs = alice.add(HOME)["id"], alice.as_user("bob").add(KEY)["id"]

    absent = refusal(alice, "synthesize", memory_ids=[mine, 2**53])
    foreign = refusal(alice, "synthesize", memory_ids=[mine, theirs])

    assert foreign == absent == (404, "MEMORY_NOT_FOUND", "Memory not found.")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "Send a query, memory_ids, or both."),
        ({"memory_ids": []}, "memory_ids: must hold at least one id"),
        ({"memory_ids": [True]}, "memory_ids.0: must be an integer"),
        ({"memory_ids": "7"}, "memory_ids: must be a list of ids"),
        ({"memory_ids": list(range(1, 102))}, "memory_ids: must hold at most 100 ids"),
    ],
)
def test_synthesis_of_nothing_is_refused(body: dict[str, Any], detail: str, alice: Caller) -> None:
    assert refusal(alice, "synthesize", **body) == (422, "VALIDATION_ERROR", detail)
