"""A key of several environments: it reads the memories of all of them, works in one, and reaches no other."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from apps.apikeys import services
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.projects.scope import Environment
from tests import once
from tests.api.conftest import Caller
from tests.api.people import make_fresh_caller
from tests.api.test_errors import refusal
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme = once.cast, once.acme

TRIED = "The heron nests by the lower lock."
STAGED = "The heron nests by the upper lock."
REAL = "The heron nests by the middle lock."
QUESTION = "where does the heron nest"
NAMED = {"tenant_id": "acme", "user_id": "alice"}


class Case(NamedTuple):
    """Alice's callers.  several: of development, its home, and staging; the others are of one environment each.

    id of one memory in each environment.
    """

    several: Caller
    development: Caller
    staging: Caller
    production: Caller
    tried: int
    staged: int
    real: int
    key_id: int


@pytest.fixture(scope="module")
def case(cast: tuple[OpenedTenant, OpenedTenant]) -> Iterator[Case]:
    acme = cast[0]
    with once.taken_back():
        issued = make_api_key(
            acme.scope,
            environment=Environment.DEVELOPMENT,
            other_environments=[Environment.STAGING],
            scopes=list(PERMISSIONS),
        )
        development, staging, production = (Caller(acme.keys[environment]) for environment in Environment)
        ids = [one.add(text)["id"] for one, text in ((development, TRIED), (staging, STAGED), (production, REAL))]
        yield Case(Caller(issued.text), development, staging, production, *ids, issued.key.pk)


def query(call: Caller, **headers: str) -> Any:
    response = call("POST", "/memory/query", {"query": QUESTION, "k": 10}, **headers)
    assert response.status_code == 200, response.content
    return response.json()["memories"]


def said(call: Caller, **headers: str) -> set[tuple[str, str]]:
    return {(one["environment"], one["text"]) for one in query(call, **headers)}


# -- reading -----------------------------------------------------------------------------------------------------------


def test_question_is_answered_from_all_environments_of_the_key(case: Case) -> None:
    assert said(case.several) == {("development", TRIED), ("staging", STAGED)}
    assert said(case.development) == {("development", TRIED)}


def test_question_is_answered_from_the_one_that_it_names(case: Case) -> None:
    assert said(case.several, X_Environment="staging") == {("staging", STAGED)}
    assert said(case.several, X_Environment="development") == {("development", TRIED)}
    assert said(case.several, X_Environment=" ") == said(case.several)


def test_answer_of_two_environments_has_each_environment_s_answer_in_order_of_score(case: Case) -> None:
    case.staging.add("The kingfisher hunts below the mill.")

    found = query(case.several)

    alone = query(case.several, X_Environment="development") + query(case.several, X_Environment="staging")
    assert [one["id"] for one in found] == [
        one["id"] for one in sorted(alone, key=lambda one: (-one["score"], -one["id"]))
    ]


def test_who_is_known_in_one_of_them_is_found_there(case: Case) -> None:
    case.staging.as_user("bob").add("The kingfisher hunts below the mill.")

    (found,) = case.several.as_user("bob")("POST", "/memory/query", {"query": "where does the kingfisher hunt"}).json()[
        "memories"
    ]

    assert found["environment"] == "staging"
    assert query(case.several.as_user("carol")) == []


def test_memory_is_read_by_id_wherever_it_is(case: Case) -> None:
    for memory_id, environment in ((case.tried, "development"), (case.staged, "staging")):
        assert case.several("GET", f"/memory/{memory_id}").json()["environment"] == environment
        assert case.several("GET", f"/memory/{memory_id}/history").json()["memory_id"] == memory_id
        assert case.several("GET", f"/memory/{memory_id}/relations").json()["memory_id"] == memory_id
        assert case.several("GET", f"/v1/memory/status/{memory_id}").status_code == 200
    for memory_id in (case.real, 2**53 - 1, 2**63):
        for path in ("/memory/{}", "/memory/{}/history", "/memory/{}/relations", "/v1/memory/status/{}"):
            assert refusal(case.several("GET", path.format(memory_id))) == (404, "MEMORY_NOT_FOUND")
    path = f"/memory/{case.staged}"
    assert refusal(case.several("GET", path, X_Environment="development")) == (404, "MEMORY_NOT_FOUND")


def test_list_is_one_list_in_order_of_time(case: Case) -> None:
    later = case.development.add("The kingfisher hunts below the mill.")["id"]

    def listed(**page: int) -> list[str]:
        query = "&".join(f"{name}={value}" for name, value in page.items())
        body = case.several("GET", f"/v1/memory/acme/alice/list?{query}").json()
        assert body["total"] == 3
        return [one["memory_id"] for one in body["memories"]]

    newest = [f"m_{one}" for one in (later, case.staged, case.tried)]
    assert listed() == listed(limit=0) == newest
    assert [listed(limit=1, offset=at) for at in range(4)] == [*([one] for one in newest), []]
    assert listed(limit=5, offset=1) == newest[1:]


def test_facts_standing_profile_and_quotes_come_from_all_of_them(case: Case) -> None:
    for call, city in ((case.development, "Lund"), (case.staging, "Turku"), (case.production, "Bergen")):
        call("POST", "/v1/facts", {"subject": "user", "predicate": "lives_in", "object": city})
        call("POST", "/v1/facts", {"subject": "user", "predicate": "allergy", "object": f"{city} pollen"})

    found = case.several("GET", "/v1/facts/query?subject=user&predicate=lives_in").json()["facts"]
    composed = case.several("POST", "/memory/compose", {"prompt_template": "What should we eat?"}).json()
    quoted = case.several("POST", "/memory/synthesize", {"memory_ids": [case.staged, case.tried]}).json()

    assert [(one["environment"], one["object"]) for one in found] == [("staging", "Turku"), ("development", "Lund")]
    assert "Turku pollen" in composed["composed_prompt"]
    assert "Lund pollen" in composed["composed_prompt"]
    assert "Bergen" not in composed["composed_prompt"]
    assert {one["memory_id"] for one in quoted["citations"]} == {case.tried, case.staged}
    beyond = case.several("POST", "/memory/synthesize", {"memory_ids": [case.staged, case.real]})
    assert refusal(beyond) == (404, "MEMORY_NOT_FOUND")


def test_names_that_the_caller_chose_mean_something_in_one_environment(case: Case) -> None:
    """Two conversations of one name are two: put together, nobody would have had them."""
    for call, word in ((case.development, "tried"), (case.staging, "staged")):
        turns = [{"role": "user", "content": f"This was {word}.", "seq": 0}]
        call("POST", "/v1/history/append", {**NAMED, "session_id": "s1", "turns": turns})
        call("POST", "/v1/state/put", {**NAMED, "namespace": ["ui"], "key": "theme", "value": {"is": word}})

    def named(**headers: str) -> tuple[list[str], Any]:
        asked = {**NAMED, "session_id": "s1"}
        history = case.several("POST", "/v1/history/list", asked, **headers).json()
        state = case.several("POST", "/v1/state/get", {**NAMED, "namespace": ["ui"], "key": "theme"}, **headers).json()
        return [one["content"] for one in history["items"]], state["item"]["value"]

    assert named() == (["This was tried."], {"is": "tried"})
    assert named(X_Environment="staging") == (["This was staged."], {"is": "staged"})


def test_log_says_which_environments_were_read(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="apps.api.access"):
        query(case.several)
        query(case.several, X_Environment="staging")
        case.several("GET", "/memory/graph")

    lines = [line for line in caplog.records if line.name == "apps.api.access"]
    assert [vars(line)["environment"] for line in lines] == ["development,staging", "staging", "development"]


# -- writing -----------------------------------------------------------------------------------------------------------


def test_it_writes_at_home_and_elsewhere_only_where_the_request_says_so(case: Case) -> None:
    at_home = case.several.add("The kingfisher hunts below the mill.")["id"]
    named = case.several.with_headers(X_Environment="staging").add("The otter sleeps under the bridge.")["id"]

    assert case.development("GET", f"/memory/{at_home}").status_code == 200
    assert case.staging("GET", f"/memory/{named}").status_code == 200
    for call, memory_id in ((case.staging, at_home), (case.development, named), (case.production, at_home)):
        assert call("GET", f"/memory/{memory_id}").status_code == 404


WRITES: list[tuple[str, Callable[[Caller, int], Any]]] = [
    ("patch", lambda call, one: call("PATCH", f"/memory/{one}", {"tags": ["seen"]})),
    ("batch", lambda call, one: call("POST", "/memory/batch-update", {"items": [{"id": one, "tags": ["seen"]}]})),
    ("feedback", lambda call, one: call("POST", f"/memory/{one}/feedback", {"signal": "positive"})),
    ("summarize", lambda call, one: call("POST", "/memory/summarize", {"memory_ids": [one], "lossless": True})),
    ("forget", lambda call, one: call("DELETE", "/memory/forget", {"memory_ids": [one]})),
]


@pytest.mark.parametrize(("_", "write"), WRITES, ids=[name for name, _ in WRITES])
def test_what_it_may_read_elsewhere_it_does_not_change_from_home(
    _: str, write: Callable[[Caller, int], Any], case: Case
) -> None:
    before = [case.staging("GET", f"/memory/{case.staged}{more}").json() for more in ("", "/history")]

    write(case.several, case.staged)

    assert [case.staging("GET", f"/memory/{case.staged}{more}").json() for more in ("", "/history")] == before


# -- what it does not reach --------------------------------------------------------------------------------------------


def test_production_is_not_there_for_it(case: Case) -> None:
    for call in (case.several, case.development, case.staging):
        for environment in ("production", "Production", "*", "development,staging", "x" * 300):
            response = call("POST", "/memory/query", {"query": QUESTION}, X_Environment=environment)
            assert refusal(response) == (403, "ENVIRONMENT_BEYOND_KEY")
    assert REAL not in {text for _, text in said(case.several)}


def test_revoked_it_reads_nothing_anywhere(case: Case, acme: OpenedTenant) -> None:
    services.revoke(acme.scope, case.key_id, now=datetime.now(UTC))

    for headers in ({}, {"X_Environment": "staging"}, {"X_Environment": "production"}):
        response = case.several("GET", f"/memory/{case.staged}", **headers)
        assert refusal(response) == (403, "API_KEY_REVOKED")


def test_user_works_in_production_and_names_no_other(acme: OpenedTenant) -> None:
    owner = make_fresh_caller(acme.tenant)

    assert owner("GET", "/org/usage", X_Environment="production").status_code == 200
    assert refusal(owner("GET", "/org/usage", X_Environment="staging")) == (403, "ENVIRONMENT_BEYOND_KEY")


# -- making one --------------------------------------------------------------------------------------------------------


def test_key_says_its_environments_wherever_it_is_shown(acme: OpenedTenant) -> None:
    owner = make_fresh_caller(acme.tenant)
    asked = {"name": "compare", "environment": "development", "other_environments": ["staging", "development"]}

    made = owner("POST", "/org/api-keys", asked).json()

    assert made["prefix"].startswith("ms_dev_")
    for shown in (
        made,
        owner("GET", "/org/api-keys").json()[0],
        owner("POST", f"/org/api-keys/{made['id']}/test").json(),
        owner("POST", f"/org/api-keys/{made['id']}/rotate", {}).json(),
    ):
        assert (shown["environment"], shown["other_environments"]) == ("development", ["staging"])
    assert owner("POST", "/org/api-keys", {"name": "x"}).json()["other_environments"] == []


@pytest.mark.parametrize("wrong", [["moon"], "staging", ["Staging"], [1]])
def test_environment_that_is_none_is_refused(wrong: object, acme: OpenedTenant) -> None:
    response = make_fresh_caller(acme.tenant)("POST", "/org/api-keys", {"name": "x", "other_environments": wrong})

    assert response.status_code == 422
    assert response.json()["error"]["details"][0]["loc"] == ["body", "other_environments"]
