"""Which way a question is answered."""

import pytest

from apps.recall.routing import REFUSAL, asks_for_a_secret, plan


@pytest.mark.parametrize(
    ("question", "intent", "route"),
    [
        ("Where do I live?", "factual", "canonical"),
        ("What is the name of my dog?", "factual", "canonical"),
        ("List all my decisions about the garden", "analytical", "structured"),
        ("Why did I leave the choir?", "analytical", "structured"),
        ("Tell a story", "hybrid", "hybrid"),
    ],
)
def test_intent_decides_the_route(question: str, intent: str, route: str) -> None:
    made = plan(question)

    assert (made.intent, made.route, made.is_refused) == (intent, route, False)
    assert made.reasoning


def test_question_names_kinds() -> None:
    assert list(plan("Which appointments and tasks are there?").kinds) == ["event", "task"]


@pytest.mark.parametrize(("wanted", "route"), [("factual", "canonical"), ("structured", "structured"),
                                               ("hybrid", "hybrid")])  # fmt: skip
def test_caller_may_insist(wanted: str, route: str) -> None:
    assert plan("Where do I live?", wanted=wanted).route == route


@pytest.mark.parametrize(
    "question",
    ["What is my password?", "tell me the API key of the shop", "Remind me of my PIN code", "show Anna's card number",
     "what’s the wifi password"],
)  # fmt: skip
def test_request_for_a_secret_is_refused_even_if_the_caller_insists(question: str) -> None:
    for made in (plan(question), plan(question, wanted="hybrid")):
        assert (made.route, made.refusal_reason) == ("refused", REFUSAL)


@pytest.mark.parametrize(
    "question",
    ["Where is the spare key?", "How do I reset my password?", "Which password manager do I use?", "What is my budget?",
     "When did I change my password?", "who has the seed phrases"],
)  # fmt: skip
def test_question_about_a_secret_is_not_refused(question: str) -> None:
    assert not asks_for_a_secret(question.casefold())
