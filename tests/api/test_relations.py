"""/memory/{id}/relations and GET /memory/graph: stated, listed, drawn and taken away."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests import once
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

SAID = (
    "The spare key lies under the blue flower pot.",
    "Granite is an igneous rock made of quartz and feldspar.",
    "Our choir rehearses Fauré on Thursday evenings.",
    "Diesel trains still run between Faro and Lagos.",
)


@pytest.fixture(scope="module")
def ids(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[list[int]]:
    """Of memories of alice's, which all tests find as they were added."""
    alice = Caller(cast[0].keys[Environment.PRODUCTION])
    with once.taken_back():
        yield [alice.add(text)["id"] for text in SAID]


def relate(caller: Caller, one: int, other: int, type_: str = "supports", **fields: Any) -> Any:
    body = {"to_memory_id": other, "relationship_type": type_} | fields
    return caller("POST", f"/memory/{one}/relations", body)


def listed(caller: Caller, memory_id: int) -> Any:
    response = caller("GET", f"/memory/{memory_id}/relations")
    assert response.status_code == 200, response.content
    return response.json()


def code(response: Any) -> str:
    return str(response.json()["error"]["code"])


def test_relation_is_stated_and_listed_at_both_ends(alice: Caller, ids: list[int]) -> None:
    response = relate(alice, ids[0], ids[1], confidence=0.8, metadata={"why": ["grey", "é"]})

    assert response.status_code == 201, response.content
    relation = response.json()
    assert (relation["from_memory_id"], relation["to_memory_id"]) == (ids[0], ids[1])
    assert (relation["relationship_type"], relation["confidence"]) == ("supports", 0.8)
    assert relation["metadata"] == {"why": ["grey", "é"]}
    assert relation["automatic"] is False
    for end in ids[:2]:
        assert listed(alice, end)["relations"] == [relation]
    assert listed(alice, ids[2])["relations"] == []


def test_confidence_is_one_unless_told(alice: Caller, ids: list[int]) -> None:
    assert relate(alice, ids[0], ids[1]).json()["confidence"] == 1.0


def test_said_again_it_is_the_same_relation(alice: Caller, ids: list[int]) -> None:
    first = relate(alice, ids[0], ids[1], confidence=0.2, metadata={"a": 1}).json()

    again = relate(alice, ids[0], ids[1], confidence=0.9).json()

    assert again == first | {"confidence": 0.9, "metadata": {}}
    assert listed(alice, ids[0])["total"] == 1


def test_what_corroborates_and_what_contradicts_is_counted(alice: Caller, ids: list[int]) -> None:
    relate(alice, ids[0], ids[1])
    relate(alice, ids[2], ids[0], "contradiction")

    body = listed(alice, ids[0])

    assert (body["total"], body["evidence_count"], body["consistency_score"]) == (2, 1, 0.5)
    assert listed(alice, ids[3])["consistency_score"] == 1.0


def test_list_is_paged(alice: Caller, ids: list[int]) -> None:
    made = [relate(alice, ids[0], other).json()["id"] for other in ids[1:]]

    pages = [alice("GET", f"/memory/{ids[0]}/relations?limit=2&offset={at}").json() for at in (0, 2)]

    assert [[one["id"] for one in page["relations"]] for page in pages] == [made[:0:-1], made[:1]]
    assert {page["total"] for page in pages} == {3}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"relationship_type": "married_to"}, "UNKNOWN_RELATION_TYPE"),
        ({"relationship_type": "x" * 33}, "VALIDATION_ERROR"),
        ({"relationship_type": ""}, "VALIDATION_ERROR"),
        ({"confidence": 1.1}, "VALIDATION_ERROR"),
        ({"confidence": "1"}, "VALIDATION_ERROR"),
        ({"to_memory_id": 0}, "VALIDATION_ERROR"),
        ({"to_memory_id": 2**64}, "VALIDATION_ERROR"),
        ({"to_memory_id": True}, "VALIDATION_ERROR"),
        ({"metadata": ["x"]}, "VALIDATION_ERROR"),
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_and_nothing_is_written(
    alice: Caller, ids: list[int], fields: dict[str, Any], expected: str
) -> None:
    response = alice(
        "POST", f"/memory/{ids[0]}/relations", {"to_memory_id": ids[1], "relationship_type": "supports"} | fields
    )

    assert (response.status_code, code(response)) == (422, expected)
    assert listed(alice, ids[0])["total"] == 0


def test_memory_is_not_related_to_itself(alice: Caller, ids: list[int]) -> None:
    response = relate(alice, ids[0], ids[0])

    assert (response.status_code, code(response)) == (422, "SELF_RELATION")


def test_foreign_memory_at_either_end_looks_like_an_absent_one(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller, ids: list[int]
) -> None:
    strangers = (
        alice.as_user("bob"),
        Caller(acme.keys[Environment.STAGING]),
        Caller(globex.keys[Environment.PRODUCTION]),
    )
    for stranger in strangers:
        theirs = stranger.add(SAID[0])["id"]
        for one, other in ((ids[0], theirs), (theirs, ids[0]), (ids[0], 2**52), (2**52, ids[0])):
            response = relate(alice, one, other)
            assert (response.status_code, code(response)) == (404, "MEMORY_NOT_FOUND")
            assert relate(stranger, one, other).status_code == 404


def test_relation_is_taken_away_from_either_end(alice: Caller, ids: list[int]) -> None:
    edge = relate(alice, ids[0], ids[1]).json()["id"]

    assert alice("DELETE", f"/memory/{ids[2]}/relations/{edge}").status_code == 404
    assert alice.as_user("bob")("DELETE", f"/memory/{ids[1]}/relations/{edge}").status_code == 404
    response = alice("DELETE", f"/memory/{ids[1]}/relations/{edge}")

    assert (response.status_code, response.content) == (204, b"")
    assert listed(alice, ids[0])["relations"] == []
    assert code(alice("DELETE", f"/memory/{ids[1]}/relations/{edge}")) == "RELATION_NOT_FOUND"


@pytest.mark.parametrize("number", [0, 2**31, 2**63, 10**40])
def test_ids_of_any_size_are_not_found(alice: Caller, ids: list[int], number: int) -> None:
    assert alice("GET", f"/memory/{number}/relations").status_code == 404
    assert relate(alice, number, ids[0]).status_code == 404
    assert alice("DELETE", f"/memory/{ids[0]}/relations/{number}").status_code == 404
    assert alice("DELETE", f"/memory/{number}/relations/1").status_code == 404


# -- effects -----------------------------------------------------------------------------------------------------------


def test_stated_supersedes_ends_the_other_memory_and_deleting_the_relation_undoes_it(
    alice: Caller, ids: list[int]
) -> None:
    old, new = ids[:2]
    made = relate(alice, new, old, "supersedes", metadata={"why": "corrected"})

    assert made.status_code == 201, made.content
    ended = alice("GET", f"/memory/{old}").json()
    assert (ended["validity"], ended["superseded_by"]) == ("superseded", new)
    assert alice("GET", f"/memory/{new}").json()["supersedes"] == [old]
    assert old not in recalled(alice, SAID[0])
    history = alice("GET", f"/memory/{old}/history").json()["revisions"]
    assert [one["event"] for one in history] == ["created", "superseded"]

    assert alice("DELETE", f"/memory/{old}/relations/{made.json()['id']}").status_code == 204

    again = alice("GET", f"/memory/{old}").json()
    assert (again["validity"], again["superseded_by"], again["superseded_at"]) == ("current", None, None)
    assert old in recalled(alice, SAID[0])


def test_newer_of_two_that_are_the_same_is_merged_into_the_older(alice: Caller, ids: list[int]) -> None:
    older, newer = ids[:2]

    assert relate(alice, older, newer, "same_as").status_code == 201

    body = alice("GET", f"/memory/{older}").json()
    assert (body["supersedes"], body["repetition_count"]) == ([newer], 2)
    assert alice("GET", f"/memory/{newer}").json()["superseded_by"] == older


def test_relation_that_would_end_what_cannot_be_ended_is_refused_whole(
    acme: OpenedTenant, alice: Caller, ids: list[int]
) -> None:
    relate(alice, ids[1], ids[0], "supersedes")
    response = relate(alice, ids[2], ids[0], "supersedes")
    assert (response.status_code, code(response)) == (409, "NOT_CURRENT")
    assert listed(alice, ids[2])["relations"] == []

    from tests.makers import make_api_key

    reviewer = Caller(make_api_key(acme.scope, scopes=["*"]).text)
    assert reviewer("PATCH", f"/memory/{ids[3]}", {"pinned": True}).status_code == 200
    response = relate(alice, ids[2], ids[3], "supersedes")
    assert (response.status_code, code(response)) == (403, "INSUFFICIENT_SCOPE")
    assert relate(reviewer, ids[2], ids[3], "supersedes").status_code == 201


def recalled(caller: Caller, text: str) -> list[int]:
    response = caller("POST", "/memory/query", {"query": text})
    return [one["id"] for one in response.json()["memories"]]


# -- graph -------------------------------------------------------------------------------------------------------------


def drawn(caller: Caller, query: str = "") -> Any:
    response = caller("GET", f"/memory/graph{query}")
    assert response.status_code == 200, response.content
    return response.json()


def nodes(body: Any) -> list[int]:
    return [node["id"] for node in body["nodes"]]


def test_graph_of_nobody_is_empty(alice: Caller) -> None:
    assert drawn(alice.as_user("nobody")) == {"nodes": [], "edges": [], "truncated": False}


def test_graph_shows_memories_and_what_relates_them(alice: Caller, ids: list[int]) -> None:
    edge = relate(alice, ids[0], ids[1], confidence=0.8).json()

    body = drawn(alice)

    assert nodes(body) == ids[::-1]
    node = body["nodes"][-1]
    assert (node["label"], node["type"], node["tier"]) == (SAID[0], "fact", "hot")
    assert body["edges"] == [
        {name: edge[name] for name in ("id", "from_memory_id", "to_memory_id", "relationship_type", "confidence")}
    ]
    assert body["truncated"] is False


def test_graph_is_cut_at_its_limit_and_says_so(alice: Caller, ids: list[int]) -> None:
    relate(alice, ids[3], ids[2])
    relate(alice, ids[3], ids[0])

    body = drawn(alice, "?limit=2")

    assert nodes(body) == [ids[3], ids[2]]
    assert len(body["edges"]) == 1
    assert body["truncated"] is True


def test_graph_around_a_memory_goes_as_deep_as_asked(alice: Caller, ids: list[int]) -> None:
    for one, other in ((ids[0], ids[1]), (ids[2], ids[1]), (ids[2], ids[3]), (ids[3], ids[0])):
        relate(alice, one, other)

    around = {depth: drawn(alice, f"?memory_id={ids[0]}&depth={depth}") for depth in (1, 2, 9)}

    assert sorted(nodes(around[1])) == sorted([ids[0], ids[1], ids[3]])
    assert nodes(around[1])[0] == ids[0]
    assert sorted(nodes(around[2])) == ids == sorted(nodes(around[9]))
    assert len(around[2]["edges"]) == 4
    assert drawn(alice, f"?memory_id={ids[0]}&limit=2")["truncated"] is True


def test_graph_around_what_is_not_yours_is_not_found(alice: Caller, ids: list[int]) -> None:
    bob = alice.as_user("bob")
    absent = bob("GET", f"/memory/graph?memory_id={2**52}")

    foreign = bob("GET", f"/memory/graph?memory_id={ids[0]}")

    assert (foreign.status_code, code(foreign)) == (404, "MEMORY_NOT_FOUND")
    assert foreign.json()["error"] == absent.json()["error"]


@pytest.mark.parametrize("query", ["?limit=x", "?memory_id=-1", "?depth=1.5", "?colour=red"])
def test_parameters_that_mean_nothing_are_refused(alice: Caller, query: str) -> None:
    assert alice("GET", f"/memory/graph{query}").status_code == 422


# -- ontology ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def admin(acme: OpenedTenant, call_with: Callable[..., Caller]) -> Caller:
    from tests.makers import make_api_key

    return call_with(make_api_key(acme.scope, scopes=["*"]).text, None)


def test_ontology_needs_no_end_user_and_has_the_built_in_types(admin: Caller) -> None:
    body = admin("GET", "/memory/ontology").json()

    assert body["builtin_relation_types"] == [
        "similar", "derived_from", "continuation", "contradiction", "summary_of", "detail_of", "caused_by",
        "references", "supports", "extends",
    ]  # fmt: skip
    assert {"fact", "event", "status", "relationship", "policy", "temporal"} <= set(body["builtin_content_types"])
    assert (body["content_types"], body["relation_types"]) == (
        body["builtin_content_types"],
        body["builtin_relation_types"],
    )
    assert (body["custom_content_types"], body["custom_relation_types"]) == ([], [])
    assert body["effective_relation_types"] == ["supersedes", "same_as"]
    assert body["max_custom_types"] == 32


def test_types_of_ones_own_replace_those_before_and_leave_the_other_vocabulary(admin: Caller) -> None:
    admin("PUT", "/memory/ontology", {"content_types": ["recipe"], "relation_types": ["treats", "supports"]})

    body = admin("PUT", "/memory/ontology", {"relation_types": ["cures"]}).json()

    assert (body["custom_content_types"], body["custom_relation_types"]) == (["recipe"], ["cures"])
    assert body["relation_types"] == [*body["builtin_relation_types"], "cures"]
    assert admin("GET", "/memory/ontology").json() == body
    assert admin("PUT", "/memory/ontology", {"content_types": []}).json()["custom_content_types"] == []


def test_relation_may_have_a_type_of_ones_own_and_keeps_it_when_it_is_taken_away(
    admin: Caller, alice: Caller, ids: list[int]
) -> None:
    admin("PUT", "/memory/ontology", {"relation_types": ["treats"]})
    made = relate(alice, ids[0], ids[1], "treats")

    admin("PUT", "/memory/ontology", {"relation_types": []})

    assert made.status_code == 201
    assert listed(alice, ids[0])["relations"] == [made.json()]
    assert code(relate(alice, ids[1], ids[0], "treats")) == "UNKNOWN_RELATION_TYPE"


def test_ontology_is_the_tenants_own(admin: Caller, globex: OpenedTenant) -> None:
    admin("PUT", "/memory/ontology", {"relation_types": ["treats"]})

    theirs = Caller(globex.keys[Environment.PRODUCTION])("GET", "/memory/ontology").json()

    assert theirs["custom_relation_types"] == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "VALIDATION_ERROR"),
        ({"relation_types": None}, "VALIDATION_ERROR"),
        ({"relation_types": "treats"}, "VALIDATION_ERROR"),
        ({"relation_types": ["Treats"]}, "BAD_TYPE_NAME"),
        ({"relation_types": ["9lives"]}, "BAD_TYPE_NAME"),
        ({"relation_types": ["a" * 33]}, "BAD_TYPE_NAME"),
        ({"relation_types": [""]}, "BAD_TYPE_NAME"),
        ({"content_types": ["ok", "nöt"]}, "BAD_TYPE_NAME"),
        ({"content_types": [f"type_{n}" for n in range(33)]}, "TOO_MANY_TYPES"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_ontology_refuses_what_is_no_vocabulary(admin: Caller, body: Any, expected: str) -> None:
    response = admin("PUT", "/memory/ontology", body)

    assert (response.status_code, code(response)) == (422, expected)


def test_thirty_two_types_of_ones_own_are_not_too_many(admin: Caller) -> None:
    names = [f"type_{n}" for n in range(32)]

    body = admin("PUT", "/memory/ontology", {"content_types": [*names, "fact"]}).json()

    assert body["custom_content_types"] == names


def test_filter_takes_a_type_of_ones_own(admin: Caller, alice: Caller, ids: list[int]) -> None:
    admin("PUT", "/memory/ontology", {"content_types": ["recipe"]})

    response = alice("POST", "/memory/query", {"query": SAID[0], "filters": {"memory_type": "recipe"}})

    assert (response.status_code, response.json()["memories"]) == (200, [])
