"""POST /memory/query and /memory/retrieve."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from apps.adapters.embedders.fake import FakeEmbedder
from apps.api.memory.memory_output import ExplanationOutput, FoundOutput
from apps.api.memory.query import QueryOutput
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests import once
from tests.api.conftest import Caller
from tests.fakes.rerank import FakeRerank

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def query(caller: Caller, text: str = "Where is the spare key?", path: str = "/memory/query", **fields: Any) -> Any:
    response = caller("POST", path, {"query": text} | fields)
    assert response.status_code == 200, response.content
    return response.json()


def texts(answer: Any) -> set[str]:
    return {memory["text"] for memory in answer["memories"]}


@pytest.fixture(scope="module")
def house(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[Caller]:
    """An end user with sixty memories about where things are, told apart by their labels."""
    carol = Caller(cast[0].keys[Environment.PRODUCTION], "carol")
    items = [
        {
            "text": f"The key of room {number} hangs on hook {number} in the hall.",
            "importance": 0.6,
            "source": ("notes", "chat", "mail")[number % 3],
            "tags": [f"floor{number % 2}", f"wing{number % 5}"],
            "metadata": {"room": number, "session_id": f"s{number % 2}"},
        }
        for number in range(60)
    ]
    with once.taken_back():
        for start in (0, 30):
            response = carol("POST", "/memory/bulk-add", {"items": items[start : start + 30]})
            assert response.json()["created"] == 30, response.content
        yield carol


@pytest.mark.parametrize("lowest", [-0.1, 1.1, "0.5", True])
def test_a_relevance_that_there_is_not_is_refused(lowest: Any, alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"query": "Where is the key?", "min_relevance": lowest})

    assert response.status_code == 422
    assert response.json()["detail"]


def test_the_lowest_relevance_is_the_callers(house: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.recall.query_context.EMBEDDER", FakeEmbedder.id)

    every = query(house, "Where is the key of room 7?", min_relevance=0)["memories"]

    assert all(0 <= memory["relevance"] <= 1 for memory in every)
    assert query(house, "Where is the key of room 7?", min_relevance=1)["memories"] == []


@pytest.mark.parametrize("path", ["/memory/query", "/memory/retrieve"])
def test_answer_has_the_whole_shape_and_explains_itself(path: str, house: Caller) -> None:
    answer = query(house, "Where is the key of room 7?", path, session_id="s1")

    assert answer.keys() == QueryOutput().fields.keys() - {"turns", "pinned"}  # on request
    assert UUID(answer["query_id"])
    assert answer["session_id"] == "s1"
    assert answer["latency_ms"] > 0
    assert answer["query_intent"]
    assert answer["context"] == "\n".join(f"- {memory['text']}" for memory in answer["memories"])
    assert len(answer["memories"]) == 5
    scores = [memory["score"] for memory in answer["memories"]]
    assert scores == sorted(scores, reverse=True)
    for memory in answer["memories"]:
        assert memory.keys() == FoundOutput().fields.keys()
        explanation = memory["explanation"]
        assert explanation.keys() == ExplanationOutput().fields.keys()
        assert math.isclose(sum(explanation["factors"].values()), memory["score"], abs_tol=1e-6)
        assert explanation["matched_by"]
        assert all(found["rank"] >= 1 for found in explanation["legs"].values())
    assert answer["memories"][0]["text"] == "The key of room 7 hangs on hook 7 in the hall."


@pytest.mark.parametrize("path", ["/memory/query", "/memory/retrieve", "/memory/search/routed"])
def test_explanations_and_fields_may_be_left_out(path: str, house: Caller) -> None:
    every = query(house, path=path)["memories"]

    for omitted in ({"scores", "explanation"}, set(FoundOutput().fields) - {"id", "text", "entities", "score"}):
        kept = sorted(set(FoundOutput().fields) - omitted)
        asked = {"explain": False} if len(omitted) == 2 else {"fields": [name for name in kept if name != "id"]}
        memories = query(house, path=path, **asked)["memories"]
        assert memories == [{name: memory[name] for name in kept} for memory in every]


def test_no_explanation_is_no_explanation_even_if_it_is_named(house: Caller) -> None:
    (memory,) = query(house, k=1, explain=False, fields=["text", "explanation", "scores"])["memories"]

    assert memory.keys() == {"id", "text"}


def test_a_field_that_there_is_not_is_refused(alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"query": "key?", "fields": ["text", "txet"]})

    assert response.status_code == 422
    assert response.json()["error"]["details"][0]["loc"] == ["body", "fields"]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [({}, 5), ({"k": 1}, 1), ({"k": 50}, 50), ({"limit": 3}, 3), ({"k": None, "limit": 2}, 2), ({"k": None}, 5)],
)
def test_as_many_are_answered_as_were_asked_for(asked: dict[str, Any], answered: int, house: Caller) -> None:
    assert len(query(house, **asked)["memories"]) == answered


@pytest.mark.parametrize(
    ("asked", "depth"),
    [({}, 2), ({"traversal_depth": 1}, 1), ({"depth": 3}, 3)],
)
def test_relations_are_followed_as_far_as_was_asked(asked: dict[str, Any], depth: int, alice: Caller) -> None:
    assert query(alice, **asked)["routing"]["depth"] == depth


@pytest.mark.parametrize("asked", [{"traversal_depth": 4}, {"traversal_depth": 0}, {"depth": -1}])
def test_depth_that_there_is_not_is_refused(asked: dict[str, int], alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"query": "key?"} | asked)

    assert (response.status_code, response.json()["error"]["details"][0]["loc"]) == (422, ["body", *asked])


@pytest.mark.parametrize("path", ["/memory/query", "/memory/retrieve"])
@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_blank_query_is_a_400(path: str, text: str, alice: Caller) -> None:
    response = alice("POST", path, {"query": text})

    assert (response.status_code, response.json()["error"]["code"]) == (400, "EMPTY_QUERY")


def test_missing_query_is_a_422(alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"k": 3})

    assert response.status_code == 422
    assert response.json()["detail"] == "query: field required"


def test_nobody_has_nothing(alice: Caller) -> None:
    answer = query(alice.as_user("stranger"))

    assert (answer["memories"], answer["context"]) == ([], "")


# -- filters -----------------------------------------------------------------------------------------------------------


def found(caller: Caller, **fields: Any) -> list[dict[str, Any]]:
    memories: list[dict[str, Any]] = query(caller, "Where is the key of the room?", k=50, **fields)["memories"]
    return memories


def test_source_and_sources_are_combined(house: Caller) -> None:
    assert {one["source"] for one in found(house, filters={"source": "notes"})} == {"notes"}
    assert {one["source"] for one in found(house, filters={"source": ["notes"], "sources": ["mail"]})} == {
        "notes",
        "mail",
    }


def test_any_of_the_tags_matches(house: Caller) -> None:
    memories = found(house, filters={"tags": ["WING0", "wing1"]})

    assert len(memories) == 24
    assert all({"wing0", "wing1"} & set(one["tags"]) for one in memories)


def test_metadata_filter_matches_values(house: Caller) -> None:
    assert [one["metadata"]["room"] for one in found(house, metadata_filter={"room": 9})] == [9]
    assert found(house, metadata_filter={"room": "9"}) == []


def test_session_filters_only_where_it_is_a_filter(house: Caller) -> None:
    assert {one["metadata"]["session_id"] for one in found(house, filters={"session_id": "s0"})} == {"s0"}
    assert {one["metadata"]["session_id"] for one in found(house, session_id="s0")} == {"s0", "s1"}


def test_tier_is_taken_in_both_places(house: Caller) -> None:
    assert len(found(house, tier="hot")) == 50
    assert len(found(house, filters={"tier": ["hot", "warm"]})) == 50
    assert found(house, filters={"tier": "cold"}) == []


def test_type_filters(house: Caller) -> None:
    (kind,) = {one["memory_type"] for one in found(house)}

    assert len(found(house, filters={"memory_type": kind})) == 50
    assert found(house, filters={"memory_type": "insight" if kind != "insight" else "fact"}) == []


def test_since_and_until_are_inclusive(alice: Caller) -> None:
    memory = alice.add("The spare key lies under the blue flower pot.")
    at = datetime.fromisoformat(memory["created_at"])
    second = timedelta(seconds=1)

    def count(**filters: str) -> int:
        return len(query(alice, filters=filters)["memories"])

    assert count(since=at.isoformat(), until=at.isoformat()) == 1
    assert count(since=(at + second).isoformat()) == 0
    assert count(until=(at - second).isoformat()) == 0
    assert count(since=at.date().isoformat(), until=at.date().isoformat()) == 1
    assert count(since=at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")) == 1


@pytest.mark.parametrize("filters", [{"sauce": "notes"}, {"Tags": ["a"], "source": "notes"}, {"$where": 1}])
def test_unknown_filter_is_refused_because_ignoring_it_would_widen_the_answer(
    filters: dict[str, Any], alice: Caller
) -> None:
    response = alice("POST", "/memory/query", {"query": "key?", "filters": filters})

    assert response.status_code == 422
    (found,) = response.json()["error"]["details"]
    assert (found["loc"], found["type"]) == (["body", "filters", next(iter(filters))], "unknown_filter")


@pytest.mark.parametrize("filters", [{}, {"user_id": 7, "project_id": "proj_x"}, None])
def test_filters_that_say_nothing_change_nothing(filters: dict[str, Any] | None, house: Caller) -> None:
    assert len(found(house, filters=filters)) == 50


# -- ranking -----------------------------------------------------------------------------------------------------------


def test_profile_and_weights_are_taken(house: Caller) -> None:
    answer = query(house, profile="memorysync", weights={"semantic": 1, "importance": 0}, computation_tier="low")

    assert (answer["routing"]["profile"], answer["routing"]["computation_tier"]) == ("memorysync", "low")
    weights = answer["memories"][0]["explanation"]["weights"]
    assert weights["importance"] == 0
    assert math.isclose(sum(weights.values()), 1)


def test_a_request_can_let_a_cross_encoder_read_the_best(house: Caller, settings: Any) -> None:
    plain = query(house, "Where is the key of room 7?", profile="rrf")
    liked = plain["memories"][-1]["text"]
    with FakeRerank(likes=liked.split("hangs on ")[1]) as service:
        settings.RERANKER = service.setting
        read = query(house, "Where is the key of room 7?", profile="rrf", rerank=True)

    assert read["memories"][0]["text"] == liked
    assert "rerank" in read["routing"]["legs"]
    assert "rerank" in read["memories"][0]["explanation"]["factors"]
    assert "rerank" not in plain["routing"]["legs"]


def test_unknown_profile_is_refused(alice: Caller) -> None:
    assert alice("POST", "/memory/query", {"query": "key?", "profile": "magic"}).status_code == 422


@pytest.mark.parametrize("weights", [{"semantic": -1}, {"semantic": "1"}, {"semantic": True}, [1], {"semantic": None}])
def test_weights_are_numbers(weights: Any, alice: Caller) -> None:
    response = alice("POST", "/memory/query", {"query": "key?", "weights": weights})

    assert response.status_code == 422
    assert response.json()["error"]["details"][0]["loc"] == ["body", "weights"]
