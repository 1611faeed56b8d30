"""GET /memory/decisions and POST /memory/decision/resolve: what contradicts itself, listed and settled."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")


@pytest.fixture
def cities(alice: Caller) -> tuple[int, int]:
    """Porto, and Lisbon that it replaced."""
    lisbon = alice.add("I live in Lisbon.")["id"]
    return alice.add("I live in Porto.")["id"], lisbon


def listed(caller: Caller, query: str = "") -> Any:
    response = caller("GET", f"/memory/decisions{query}")
    assert response.status_code == 200, response.content
    return response.json()


def resolve(caller: Caller, **fields: Any) -> Any:
    return caller("POST", "/memory/decision/resolve", fields)


def code(response: Any) -> str:
    return str(response.json()["error"]["code"])


def test_nobodys_decisions_are_none(alice: Caller) -> None:
    assert listed(alice.as_user("nobody")) == {"decisions": [], "total": 0}


def test_contradiction_is_listed_open_and_then_resolved(alice: Caller, cities: tuple[int, int]) -> None:
    (decision,) = listed(alice)["decisions"]
    assert (decision["status"], decision["kind"], decision["automatic"]) == ("open", "contradiction", True)
    assert (decision["memory_ids"], decision["resolution"]) == (list(cities), None)

    response = resolve(alice, decision_id=decision["decision_id"], winning_memory_id=cities[1], note="moved back")

    assert response.status_code == 200, response.content
    assert response.json() == decision | {
        "status": "resolved",
        "winning_memory_id": cities[1],
        "resolution": "kept_older",
        "note": "moved back",
        "resolved_at": response.json()["resolved_at"],
    }
    assert listed(alice, "?status=open") == {"decisions": [], "total": 0}
    assert listed(alice, "?status=resolved")["decisions"] == [response.json()]
    loser, winner = (alice("GET", f"/memory/{memory_id}").json() for memory_id in cities)
    assert (loser["validity"], loser["superseded_by"]) == ("superseded", winner["id"])
    assert (winner["validity"], winner["superseded_by"]) == ("current", None)


def test_list_ends_at_its_limit_and_counts_all(alice: Caller, cities: tuple[int, int]) -> None:
    faro = alice.add("I live in Faro.")["id"]

    body = listed(alice, "?limit=1")

    assert body["total"] == 2
    assert [one["memory_ids"] for one in body["decisions"]] == [[faro, cities[0]]]


def test_decided_again_answers_the_same_and_otherwise_conflicts(alice: Caller, cities: tuple[int, int]) -> None:
    first = resolve(alice, winning_memory_id=cities[0])

    again = resolve(alice, decision_id=first.json()["decision_id"], winning_memory_id=cities[0])
    other = resolve(alice, decision_id=first.json()["decision_id"], winning_memory_id=cities[1])

    assert again.json() == first.json()
    assert (other.status_code, code(other)) == (409, "DECISION_RESOLVED")


@pytest.mark.parametrize(
    ("fields", "status", "expected"),
    [
        ({}, 422, "DECISION_UNCLEAR"),
        ({"winning_memory_id": 2**50}, 422, "DECISION_UNCLEAR"),
        ({"decision_id": "dec_1"}, 404, "DECISION_NOT_FOUND"),
        ({"decision_id": "dec_" + "9" * 40}, 404, "DECISION_NOT_FOUND"),
        ({"decision_id": "x\u0000"}, 422, "VALIDATION_ERROR"),
        ({"decision_id": 7}, 422, "VALIDATION_ERROR"),
        ({"winning_memory_id": "7"}, 422, "VALIDATION_ERROR"),
        ({"winning_memory_id": 2**70}, 422, "VALIDATION_ERROR"),
        ({"note": "x" * 5_000}, 422, "VALIDATION_ERROR"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_names_no_decision_is_refused_and_settles_none(
    alice: Caller, cities: tuple[int, int], fields: dict[str, Any], status: int, expected: str
) -> None:
    response = resolve(alice, **fields)

    assert (response.status_code, code(response)) == (status, expected)
    assert listed(alice, "?status=open")["total"] == 1


def test_stranger_sees_and_settles_none(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller, cities: tuple[int, int]
) -> None:
    name = listed(alice)["decisions"][0]["decision_id"]
    strangers = (
        alice.as_user("bob"),
        Caller(acme.keys[Environment.STAGING]),
        Caller(globex.keys[Environment.PRODUCTION]),
    )

    for stranger in strangers:
        assert listed(stranger) == {"decisions": [], "total": 0}
        assert code(resolve(stranger, decision_id=name)) == "DECISION_NOT_FOUND"
    assert listed(alice, "?status=open")["total"] == 1
