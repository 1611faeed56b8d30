"""/v1/candidates: what waits, and who decides."""

from dataclasses import replace
from typing import Any

import pytest

from apps.api.candidates.views import MOST_AT_ONCE
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from apps.projects.selectors import default_project
from apps.projects.services import set_review
from tests.api.conftest import Caller
from tests.makers import NOW, make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")

ORDERS = ("Always answer me in Dutch.", "Never use emoji in your answers.", "Always sign off with Regards.")


@pytest.fixture
def reviewer(acme: OpenedTenant) -> Caller:
    """Who reviews for everybody, and may do nothing else."""
    return Caller(make_api_key(acme.scope, scopes=["candidates:review"]).text, end_user=None)


def tell(caller: Caller, text: str = ORDERS[0], user: str = "alice") -> int:
    """The candidate that a turn left."""
    response = caller("POST", "/v1/memory/add_turn", {"tenant_id": "acme", "user_id": user, "text": text})
    assert response.status_code == 201, response.content
    (candidate_id,) = response.json()["candidate_ids"]
    return int(candidate_id)


def test_a_candidate_is_listed_read_and_accepted(alice: Caller, reviewer: Caller) -> None:
    candidate_id = tell(alice)

    listed = reviewer("GET", "/v1/candidates?status=pending").json()
    read = reviewer("GET", f"/v1/candidates/{candidate_id}").json()
    done = reviewer("POST", f"/v1/candidates/{candidate_id}/accept", {})

    assert listed == {"candidates": [read], "next_cursor": None}
    assert {name: read[name] for name in ("status", "reason", "extracted_type", "text", "source", "extractor")} == {
        "status": "pending",
        "reason": "instruction",
        "extracted_type": "instruction",
        "text": ORDERS[0],
        "source": "chat",
        "extractor": "rules",
    }
    assert done.status_code == 200
    body = done.json()
    assert (body["status"], body["decision"], body["text"]) == ("accepted", "created", None)
    assert body["decided_by"].startswith("api_key:")
    memory = alice("GET", f"/memory/{body['memory_id']}").json()
    assert (memory["text"], memory["pinned"], memory["user_id"]) == (ORDERS[0], False, read["user_id"])


@pytest.mark.parametrize("body", [None, {}, {"pinned": False}])
def test_accepting_needs_no_body(body: object, alice: Caller, reviewer: Caller) -> None:
    response = reviewer("POST", f"/v1/candidates/{tell(alice)}/accept", body)

    assert (response.status_code, response.json()["status"]) == (200, "accepted")


def test_a_candidate_is_worded_anew_and_pinned(alice: Caller, reviewer: Caller) -> None:
    text = "Answer in Dutch when I write in Dutch."

    done = reviewer("POST", f"/v1/candidates/{tell(alice)}/accept", {"text": text, "pinned": True}).json()

    memory = alice("GET", f"/memory/{done['memory_id']}").json()
    assert (memory["text"], memory["pinned"]) == (text, True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"text": "My password is Tr0ub4dor&3-blue!"}, "WORDING_REFUSED"),
        ({"text": ""}, "VALIDATION_ERROR"),
        ({"pinned": "yes"}, "VALIDATION_ERROR"),
    ],
)
def test_what_may_not_be_remembered_is_refused_and_goes_on_waiting(
    body: object, code: str, alice: Caller, reviewer: Caller
) -> None:
    candidate_id = tell(alice)

    response = reviewer("POST", f"/v1/candidates/{candidate_id}/accept", body)

    assert (response.status_code, response.json()["error"]["code"]) == (422, code)
    assert b"Tr0ub4dor" not in response.content
    assert reviewer("GET", f"/v1/candidates/{candidate_id}").json()["status"] == "pending"


def test_the_second_reviewer_is_told(acme: OpenedTenant, alice: Caller, reviewer: Caller) -> None:
    candidate_id = tell(alice)
    second = replace(reviewer, key=make_api_key(acme.scope, scopes=["candidates:review"]).text)
    first = reviewer("POST", f"/v1/candidates/{candidate_id}/reject")

    again = reviewer("POST", f"/v1/candidates/{candidate_id}/reject")
    late = [second("POST", f"/v1/candidates/{candidate_id}/{verb}", {}) for verb in ("accept", "reject")]

    assert (first.status_code, first.json()["status"], first.json()["text"]) == (200, "rejected", None)
    assert (again.status_code, again.json()) == (200, first.json())
    assert [(one.status_code, one.json()["error"]["code"]) for one in late] == [(409, "ALREADY_DECIDED")] * 2


def test_many_are_decided_at_once(alice: Caller, reviewer: Caller) -> None:
    ids = [tell(alice, text) for text in ORDERS]
    reviewer("POST", f"/v1/candidates/{ids[1]}/reject")

    response = reviewer(
        "POST", "/v1/candidates/bulk", {"action": "accept", "candidate_ids": [*ids, 10**12], "pinned": True}
    )

    assert response.status_code == 207
    body = response.json()
    assert (body["decided"], body["refused"]) == (2, 2)
    assert [(one["candidate_id"], one["status"], one["code"]) for one in body["results"]] == [
        (ids[0], "accepted", None),
        (ids[1], "refused", "ALREADY_DECIDED"),
        (ids[2], "accepted", None),
        (10**12, "refused", "CANDIDATE_NOT_FOUND"),
    ]
    assert alice("GET", f"/memory/{body['results'][0]['memory_id']}").json()["pinned"] is True


def test_an_id_said_again_counts_towards_the_most_and_is_decided_once(alice: Caller, reviewer: Caller) -> None:
    candidate_id = tell(alice)

    def decide(*ids: int) -> Any:
        return reviewer("POST", "/v1/candidates/bulk", {"action": "reject", "candidate_ids": list(ids)})

    assert decide(*[candidate_id] * (MOST_AT_ONCE + 1)).status_code == 422
    assert [one["candidate_id"] for one in decide(*[candidate_id] * MOST_AT_ONCE).json()["results"]] == [candidate_id]


def test_the_queue_is_narrowed_and_paged(alice: Caller, reviewer: Caller) -> None:
    mine = [tell(alice, text) for text in ORDERS]
    bobs = tell(alice, user="bob")
    reviewer("POST", f"/v1/candidates/{mine[0]}/reject")

    def ids(query: str, caller: Caller = reviewer) -> list[int]:
        return [one["id"] for one in caller("GET", f"/v1/candidates{query}").json()["candidates"]]

    assert ids("") == [bobs, *mine[::-1]]
    assert ids("?status=pending") == [bobs, *mine[:0:-1]]
    assert ids("?status=rejected&reason=instruction") == [mine[0]]
    assert ids("?reason=policy") == []
    assert ids("?end_user_id=bob") == ids("", reviewer.as_user("bob")) == [bobs]
    assert ids("?end_user_id=stranger") == []
    first = reviewer("GET", "/v1/candidates?limit=3").json()
    assert ids(f"?limit=3&cursor={first['next_cursor']}") == [mine[0]]


@pytest.mark.parametrize("query", ["?status=waiting", "?limit=0", "?limit=201", "?cursor=-1", "?colour=red"])
def test_a_query_that_means_nothing_is_refused(query: str, reviewer: Caller) -> None:
    assert reviewer("GET", f"/v1/candidates{query}").status_code == 422


def test_foreign_candidates_look_like_none(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller, reviewer: Caller
) -> None:
    candidate_id = tell(alice)
    elsewhere = [
        Caller(make_api_key(globex.scope, scopes=["*"]).text, end_user=None),
        Caller(make_api_key(acme.scope, environment=Environment.STAGING, scopes=["*"]).text, end_user=None),
        reviewer.as_user("bob"),
    ]

    for caller in elsewhere:
        answers = [
            caller(method, path.format(one), body)
            for one in (candidate_id, 10**12)
            for method, path, body in (
                ("GET", "/v1/candidates/{}", None),
                ("POST", "/v1/candidates/{}/accept", {}),
                ("POST", "/v1/candidates/{}/reject", None),
            )
        ]
        assert {(one.status_code, one.json()["error"]["code"]) for one in answers} == {(404, "CANDIDATE_NOT_FOUND")}
        assert caller("GET", "/v1/candidates").json()["candidates"] == []
    assert reviewer("GET", f"/v1/candidates/{candidate_id}").json()["status"] == "pending"


def test_an_add_says_what_waits(alice: Caller, acme: OpenedTenant) -> None:
    set_review(acme.scope, default_project(acme.scope).public_id, "all", now=NOW)

    response = alice("POST", "/memory/add", {"text": "I live in Lisbon."})

    body = response.json()
    assert (response.status_code, body["status"], body["reason"]) == (200, "skipped", "pending_review")
    (decision,) = body["decisions"]
    assert (decision["decision"], decision["reason"], decision["memory_id"]) == ("pending", "policy", None)
    assert decision["candidate_id"] > 0
