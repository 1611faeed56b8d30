"""GET /v1/audit/events: a tenant reads its own trail, and no other."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Manager

from apps.apikeys.onboarding import OpenedTenant
from apps.audit.chain import Entry, digest
from apps.audit.models import AuditEvent
from apps.audit.services import record
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment
from apps.recall import read_log
from tests.api.conftest import Caller
from tests.makers import NOW, make_api_key

# Rows are numbered as they commit.
pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

URL = "/v1/audit/events"


def reader(tenant: OpenedTenant, environment: Environment = Environment.PRODUCTION) -> Caller:
    return Caller(make_api_key(tenant.scope, environment=environment, scopes=["audit:read"]).text, end_user=None)


def note(tenant: OpenedTenant, *actions: str, **fields: Any) -> None:
    for hour, action in enumerate(actions):
        with tenant_transaction(tenant.scope):
            record(tenant.scope, action=action, **{"actor": "test:1", "now": NOW + timedelta(hours=hour)} | fields)


def actions(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [event["action"] for event in answer.json()["events"]]


def test_rows_are_shown_newest_first_and_can_be_checked(acme: OpenedTenant) -> None:
    note(acme, "test.a", "test.b", "test.c")

    answer = reader(acme)("GET", URL)

    assert actions(answer)[1:4] == ["test.c", "test.b", "test.a"]  # after the issue of the reader's own key
    events = [Entry.from_json(event) for event in answer.json()["events"]]
    assert all(digest(event) == event.hash for event in events)
    assert [older.hash for older in events[1:]] == [newer.prev_hash for newer in events[:-1]]


def test_pages_join_without_a_gap_while_rows_are_added(acme: OpenedTenant) -> None:
    caller = reader(acme)
    note(acme, *(f"test.{number}" for number in range(7)))
    whole = [event["seq"] for event in caller("GET", URL).json()["events"]]

    pages, cursor = [], ""
    while True:
        page = caller("GET", f"{URL}?limit={random.choice((1, 2, 3))}{cursor}").json()
        note(acme, "test.later")
        pages += [event["seq"] for event in page["events"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert pages == whole


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("action=test.b", ["test.b"]),
        ("action=test.", ["test.c", "test.b", "test.a"]),
        ("action=test", []),
        ("action=%25", []),
        ("actor=test:1", ["test.c", "test.b", "test.a"]),
        ("actor=test:2", []),
        ("actor=test:1&outcome=denied", []),
        ("actor=test:1&outcome=ok&limit=1", ["test.c"]),
        ("actor=test:1&since=2026-11-21T13:00:00Z", ["test.c", "test.b"]),
        ("actor=test:1&until=2026-11-21T13:00:00Z", ["test.a"]),
        ("actor=test:1&until=2026-11-20", []),
        ("actor=test:1&since=9999-12-31", []),
    ],
)
def test_rows_are_chosen_by_what_is_asked(acme: OpenedTenant, query: str, expected: list[str]) -> None:
    note(acme, "test.a", "test.b", "test.c")

    assert actions(reader(acme)("GET", f"{URL}?{query}")) == expected


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=x", "limit"),
        ("limit=%D9%A3", "limit"),
        ("limit=1.0", "limit"),
        ("limit=", "limit"),
        ("cursor=0", "cursor"),
        ("cursor=-1", "cursor"),
        (f"cursor={10**30}", "cursor"),
        ("outcome=maybe", "outcome"),
        ("since=yesterday", "since"),
        ("until=2026-13-01", "until"),
        ("action=%00", "action"),
        ("actor=" + "x" * 65, "actor"),
        ("actor=", "actor"),
    ],
)
def test_what_cannot_be_understood_names_the_parameter(acme: OpenedTenant, query: str, field: str) -> None:
    answer = reader(acme)("GET", f"{URL}?{query}")

    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["loc"] == ["query", field]


def test_unknown_parameter_is_refused_rather_than_ignored(acme: OpenedTenant) -> None:
    answer = reader(acme)("GET", f"{URL}?tenant_id=1")

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
    assert "1" not in answer.json()["detail"]


# -- whose -------------------------------------------------------------------------------------------------------------


def test_another_tenants_key_sees_its_own_trail_only(acme: OpenedTenant, globex: OpenedTenant) -> None:
    note(acme, "test.secret")
    theirs = reader(globex)
    before = theirs("GET", URL).json()
    note(acme, "test.secret")

    after = theirs("GET", URL).json()

    assert before == after
    assert {event["tenant_id"] for event in after["events"]} == {globex.scope.tenant_id}
    assert actions(theirs("GET", f"{URL}?action=test.secret")) == []


def test_another_tenants_rows_stay_hidden_where_the_filter_is_gone(
    acme: OpenedTenant, globex: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(acme, "test.secret")
    theirs = reader(globex)

    class Careless(Manager[AuditEvent]):
        def filter(self, *args: Any, **fields: Any) -> Any:
            fields.pop("tenant_id", None)
            return super().filter(*args, **fields)

    careless = Careless()
    careless.model = AuditEvent
    monkeypatch.setattr(AuditEvent, "objects", careless)

    answer = theirs("GET", URL)

    assert {event["tenant_id"] for event in answer.json()["events"]} == {globex.scope.tenant_id}


def test_rows_of_no_tenant_are_nobodys_to_read(acme: OpenedTenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "select audit_record(null, now(), 'anonymous', 'session.refused', '', 'denied', '', '', 1, '', '')"
        )

    assert "session.refused" not in actions(reader(acme)("GET", URL))


@pytest.mark.parametrize("environment", list(Environment))
def test_trail_is_the_tenants_whatever_the_keys_environment(acme: OpenedTenant, environment: Environment) -> None:
    note(acme, "test.a")

    assert "test.a" in actions(reader(acme, environment)("GET", URL))


def test_default_keys_may_not_read_it(alice: Caller) -> None:
    answer = alice("GET", URL)

    assert (answer.status_code, answer.json()["detail"]) == (403, "Insufficient scope. Missing: audit:read")


# -- where a request came from ---------------------------------------------------------------------------------------


def test_rows_say_which_request_and_which_network_they_are_of(acme: OpenedTenant, alice: Caller) -> None:
    answer = alice.with_headers(X_Request_ID="r-77")(
        "POST", "/memory/add", {"text": "I live in Oslo.", "importance": 1}
    )
    assert answer.status_code == 201

    (event,) = reader(acme)("GET", f"{URL}?action=memory.add").json()["events"]
    assert (event["request_id"], event["network"]) == ("r-77", "127.0.0.0/24")


def test_reading_a_memory_by_its_id_is_recorded_in_sums(acme: OpenedTenant, alice: Caller) -> None:
    memory = alice.add("I live in Oslo.")
    for _ in range(3):
        alice("GET", f"/memory/{memory['id']}")
    alice("GET", "/memory/9999999")
    read_log.flush()

    (event,) = reader(acme)("GET", f"{URL}?action=memory.read").json()["events"]
    assert (event["count"], event["reason"]) == (3, "hits=3")
    assert event["actor"].startswith("api_key:")
    assert datetime.fromisoformat(event["created_at"]).tzinfo == UTC
