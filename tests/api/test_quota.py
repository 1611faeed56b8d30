"""Monthly quotas: one unit a request, failures and repetitions free, and the contract's answers once used up."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.apikeys import quota
from apps.apikeys.onboarding import OpenedTenant
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(databases="__all__")

NAMED = {"tenant_id": "acme", "user_id": "alice"}
STATE = {**NAMED, "namespace": ["a"], "key": "k"}
ADD = {"text": "I live in Lisbon.", "importance": 0.6}
ROUTES: Mapping[str, tuple[Any, int, Any]] = {
    "/memory/add": (ADD, 200, {"status": "ok"}),
    "/memory/bulk-add": ({"items": [ADD]}, 200, {"status": "ok"}),
    "/memory/summarize": ({"memory_ids": [1]}, 200, {"status": "ok"}),
    "/memory/query": ({"query": "home"}, 200, {"memories": []}),
    "/memory/retrieve": ({"query": "home"}, 200, {"memories": []}),
    "/v1/memory/query": ({**NAMED, "prompt": "home"}, 200, {"memories": []}),
    "/v1/memory/recall": ({**NAMED, "prompt": "home"}, 200, {"context": "", "memories": []}),
    "/v1/history/append": (
        {**NAMED, "session_id": "s", "turns": [{"role": "user", "content": "x"}]},
        200,
        {"items": [], "request_ids": [], "status": "skipped"},
    ),
    "/v1/history/list": ({**NAMED, "session_id": "s"}, 200, {"items": [], "total": 0}),
    "/v1/state/put": ({**STATE, "value": {"a": 1}}, 200, {"item": {}, "created": False, "status": "skipped"}),
    "/v1/state/batch": (
        {**NAMED, "puts": [{"namespace": ["n"], "key": "k", "value": {"a": 1}}]},
        200,
        {"items": [], "deleted_ids": [], "status": "skipped"},
    ),
    "/v1/state/get": (STATE, 200, {"item": None}),
    "/v1/state/list": (NAMED, 200, {"items": [], "total": 0}),
}


def limit(opened: OpenedTenant, mode: str, count: int) -> None:
    quota.set_quota(opened.scope, actor="test", mode=mode, adds=count, retrievals=count, now=datetime.now(UTC))


def used(caller: Caller) -> dict[str, int]:
    response: Any = caller("GET", "/v1/quota")
    return {one["meter"]: one["used"] for one in response.json()["meters"]}


@pytest.mark.parametrize("path", ROUTES)
def test_used_up_silently_answers_as_the_clients_expect(path: str, acme: OpenedTenant, alice: Caller) -> None:
    body, status, answer = ROUTES[path]
    limit(acme, "silent", 0)

    response: Any = alice("POST", path, body)

    assert (response.status_code, response.json()) == (status, answer)
    assert used(alice) == {"adds": 0, "retrievals": 0}


@pytest.mark.parametrize("path", ROUTES)
def test_used_up_strictly_is_refused_with_the_time_to_wait(path: str, acme: OpenedTenant, alice: Caller) -> None:
    limit(acme, "strict", 0)

    response: Any = alice("POST", path, ROUTES[path][0])

    assert response.status_code == 429
    assert response.json()["error"]["code"] == "QUOTA_EXCEEDED"
    assert response.json()["retry_after"] == int(response["Retry-After"]) > 0


def test_one_unit_a_request_and_failures_and_repetitions_are_free(acme: OpenedTenant, alice: Caller) -> None:
    limit(acme, "strict", 3)

    alice("POST", "/memory/bulk-add", {"items": [ADD, {"text": "I work as a nurse.", "importance": 0.6}]})
    for _ in range(2):
        alice("POST", "/memory/add", {"text": "My cat is called Mia.", "importance": 0.6, "client_ref": "mia"})
    alice("POST", "/memory/add", {})
    alice("POST", "/memory/query", {"query": "cat"})

    assert used(alice) == {"adds": 2, "retrievals": 1}


def test_last_unit_goes_to_one_request(acme: OpenedTenant) -> None:
    limit(acme, "strict", 2)
    now = datetime.now(UTC)

    assert [quota.take(acme.scope, "adds", actor="test:1", now=now) for _ in range(3)] == [True, True, False]
    assert quota.take(acme.scope, "adds", actor="test:1", now=now.replace(year=now.year + 1))


def test_without_a_quota_nothing_is_counted_and_nothing_refused(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller
) -> None:
    limit(globex, "strict", 0)

    assert alice("POST", "/memory/query", {"query": "cat"}).status_code == 200
    assert alice("GET", "/v1/quota").json()["mode"] == "off"  # type: ignore[attr-defined]
    assert used(alice) == {"adds": 0, "retrievals": 0}
