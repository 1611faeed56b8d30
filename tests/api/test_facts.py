"""/v1/facts: stated, asked for at any time, and contradicting."""

from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.indexing_mode import set_profile
from apps.memories.models import MemoryClaim
from apps.tenants.models import Profile
from apps.tenants.services import set_policy
from tests.api.conftest import Caller
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

JOBS = (("Acme", "2024-03-01"), ("Globex", "2025-09-01"))


def state(caller: Caller, object_: str, since: str | None = None, *, status: int = 201, **fields: Any) -> Any:
    body = {"subject": "user", "predicate": "works_at", "object": object_} | fields
    response = caller("POST", "/v1/facts", body | ({"valid_from": since} if since else {}))
    assert response.status_code == status, response.content
    return response.json()


def ask(caller: Caller, **asked: Any) -> list[dict[str, Any]]:
    response = caller("POST", "/v1/facts/query", asked)
    assert response.status_code == 200, response.content
    facts: list[dict[str, Any]] = response.json()["facts"]
    return facts


def objects(caller: Caller, **asked: Any) -> list[str]:
    return [fact["object"] for fact in ask(caller, **asked)]


@pytest.fixture
def jobs(alice: Caller) -> Caller:
    for employer, since in JOBS:
        state(alice, employer, since)
    return alice


def test_what_held_at_a_time(jobs: Caller) -> None:
    assert [objects(jobs, at=at) for at in ("2024-01-01", "2024-06-01", "2025-08-30", "2025-09-01")] == [
        [], ["Acme"], ["Acme"], ["Globex"]
    ]  # fmt: skip
    (now,) = ask(jobs, subject="I", predicate="Works At")
    assert (now["object"], now["validity"], now["valid_to"]) == ("Globex", "current", None)


def test_get_asks_the_same(jobs: Caller) -> None:
    response = jobs("GET", "/v1/facts/query?subject=user&predicate=works-at&at=2024-06-01")

    assert [fact["object"] for fact in response.json()["facts"]] == ["Acme"]


def test_a_fact_that_held_twice_is_shown_with_the_period_asked_about(alice: Caller) -> None:
    for employer, since in (("Acme", 2020), ("Globex", 2022), ("Acme", 2024), ("Globex", 2025)):
        state(alice, employer, f"{since}-01-01")

    shown = [(fact["object"], fact["valid_from"][:4], (fact["valid_to"] or "")[:4]) for at in range(2021, 2027, 2)
             for fact in ask(alice, at=f"{at}-06-01")]  # fmt: skip

    assert shown == [("Acme", "2020", "2022"), ("Globex", "2022", "2024"), ("Globex", "2025", "")]
    recalled = alice("POST", "/memory/query", {"query": "Acme", "as_of": "2021-06-01"}).json()["memories"]
    assert [one["valid_from"][:4] for one in recalled] == ["2020"]


def test_what_is_told_late_replaces_nothing_newer(jobs: Caller) -> None:
    late = state(jobs, "Initech", "2025-01-01")

    assert late["status"] == "recorded"
    assert [objects(jobs, at=at) for at in ("2024-12-30", "2025-02-01", "2025-10-01")] == [
        ["Acme"], ["Initech"], ["Globex"]
    ]  # fmt: skip


def test_a_correction_is_known_from_when_it_was_made(jobs: Caller) -> None:
    (before,) = ask(jobs, at="2024-06-01")
    state(jobs, "Umbrella", "2024-03-01")

    assert objects(jobs, at="2024-06-01") == ["Umbrella"]
    assert objects(jobs, at="2024-06-01", known_at=before["recorded_at"]) == ["Acme"]


def test_what_has_an_end_holds_until_then_and_is_not_recalled_after_it(alice: Caller) -> None:
    state(alice, "Acme", "2020-01-01", valid_to="2021-01-01")

    assert [objects(alice, at=at) for at in ("2020-06-01", "2021-06-01")] == [["Acme"], []]
    assert objects(alice) == []
    assert alice("POST", "/memory/query", {"query": "works at Acme"}).json()["memories"] == []


def test_what_will_end_ends_by_itself(alice: Caller) -> None:
    state(alice, "Acme", valid_to="2999-01-01")

    assert objects(alice) == ["Acme"]
    assert objects(alice, at="3000-01-01") == []


def test_of_many_none_replaces_another(alice: Caller) -> None:
    for food in ("peanuts", "shellfish"):
        state(alice, food, predicate="allergic_to")

    assert sorted(objects(alice, predicate="allergic to")) == ["peanuts", "shellfish"]


def test_what_is_said_and_what_is_stated_are_one(alice: Caller) -> None:
    alice.add("I work at Acme.")
    assert objects(alice, subject="user", predicate="works_at") == ["acme"]

    state(alice, "Globex")
    assert objects(alice, subject="user", predicate="works_at") == ["Globex"]

    alice.add("I work at Initech now.")
    (now,) = ask(alice, subject="user", predicate="works_at")
    assert now["text"] == "I work at Initech now."


def test_the_same_again_is_known(jobs: Caller) -> None:
    (before,) = ask(jobs)
    again = state(jobs, "Globex", status=200)

    assert (again["status"], again["memory_id"]) == ("known", before["memory_id"])


def test_the_same_reference_is_stored_once(alice: Caller) -> None:
    first = state(alice, "Acme", client_ref="one")
    again = state(alice, "Globex", client_ref="one", status=200)

    assert again["memory_id"] == first["memory_id"]
    assert objects(alice) == ["Acme"]


def test_facts_that_both_hold_contradict_each_other(acme: OpenedTenant, alice: Caller) -> None:
    set_policy(acme.tenant, changes="dispute", actor="test", now=NOW)
    for employer in ("Acme", "Globex"):
        state(alice, employer)

    (pair,) = alice("GET", "/v1/facts/contradictions").json()["contradictions"]
    assert (pair["kind"], [fact["object"] for fact in pair["facts"]]) == ("contradiction", ["Globex", "Acme"])

    winner = pair["facts"][1]["memory_id"]
    settled = {"decision_id": pair["decision_id"], "winning_memory_id": winner}
    assert alice("POST", "/memory/decision/resolve", settled).status_code == 200
    assert alice("GET", "/v1/facts/contradictions").json() == {"contradictions": []}
    assert objects(alice) == ["Acme"]


def test_a_change_by_itself_is_no_contradiction(jobs: Caller) -> None:
    assert jobs("GET", "/v1/facts/contradictions").json() == {"contradictions": []}


def test_a_secret_is_refused(alice: Caller) -> None:
    refused = state(alice, "hunter2-Xk9!pQ", predicate="password", subject="the database", status=200)

    assert (refused["status"], refused["memory_id"]) == ("refused", None)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"subject": "..."}, "FACT_UNCLEAR"),
        ({"predicate": "--"}, "FACT_UNCLEAR"),
        ({"object": "?!"}, "FACT_UNCLEAR"),
        ({"valid_from": "2025-01-02", "valid_to": "2025-01-02"}, "FACT_ENDS_FIRST"),
        ({"valid_to": "2001-01-01"}, "FACT_ENDS_FIRST"),
        ({"valid_from": "soon"}, "VALIDATION_ERROR"),
    ],
)
def test_what_makes_no_fact_is_refused(alice: Caller, fields: dict[str, str], code: str) -> None:
    body = {"subject": "user", "predicate": "works_at", "object": "Acme"} | fields
    response = alice("POST", "/v1/facts", body)

    assert (response.status_code, response.json()["error"]["code"]) == (422, code)


def test_somebody_elses_facts_are_none(jobs: Caller) -> None:
    assert ask(jobs.as_user("bob")) == []


def test_a_sealed_space_keeps_no_handles_and_answers_the_same(acme: OpenedTenant, jobs: Caller) -> None:
    scope = make_scope(acme)

    def handles() -> int:
        with tenant_transaction(scope):
            return MemoryClaim.objects.within(scope).exclude(subject_mac=None).count()

    set_profile(scope, scope.space.id, Profile.SEALED, now=NOW)
    assert handles() == 0
    assert objects(jobs, subject="user", predicate="works_at", at="2024-06-01") == ["Acme"]
    assert objects(jobs, subject="bob") == []

    set_profile(make_scope(acme), scope.space.id, Profile.SEARCHABLE, now=NOW)
    assert handles() == 2
    assert objects(jobs, subject="user", predicate="works_at", at="2024-06-01") == ["Acme"]
