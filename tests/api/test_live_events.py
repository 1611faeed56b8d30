"""GET /v1/events and /v1/events/stream.  Here the stream ends after what there is; tests/memsync holds it open."""

from typing import Any

import orjson
import pytest
from django.test import Client

from apps.api.v1 import live_events
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.projects.scope import Environment
from apps.projects.selectors import get_project
from apps.webhooks.events import CATEGORIES
from apps.webhooks.listeners import Listener
from tests import once
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

PAGE, STREAM = "/v1/events", "/v1/events/stream"


@pytest.fixture
def caller(acme: OpenedTenant) -> Caller:
    """Listens already, to everybody."""
    one = Caller(make_api_key(acme.scope).text, end_user=None)
    assert page(one)["events"] == []
    return one


def page(caller: Caller, query: str = "", **headers: str) -> Any:
    response = caller("GET", PAGE + query, **headers)
    assert response.status_code == 200, response.content
    return response.json()  # type: ignore[attr-defined]


def add(caller: Caller, end_user: str = "alice", **headers: str) -> int:
    body = {"text": f"The heron of {end_user} nests by the lock.", "importance": 0.6, "deduplicate": False}
    response = caller("POST", "/memory/add", body, X_End_User_ID=end_user, **headers)
    assert response.status_code == 201, response.content
    return int(response.json()["memory_ids"][0])  # type: ignore[attr-defined]


def memories(events: list[dict[str, Any]]) -> list[int]:
    return [event["data"]["memory_id"] for event in events]


def frames(caller: Caller, query: str = "", **headers: str) -> tuple[int, list[tuple[int, str, dict[str, Any]]]]:
    """The position that the stream begins with, and what follows: position, type and data."""
    response = caller("GET", STREAM + query, **headers)
    assert response.status_code == 200, response.content
    first, *blocks = response.content.decode().removesuffix("\n\n").split("\n\n")
    retry, begins = first.splitlines()
    assert retry == "retry: 3000"
    found = []
    for block in blocks:
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((int(lines["id"]), lines["event"], orjson.loads(lines["data"])))
    return int(begins.removeprefix("id: ")), found


def test_a_page_lists_ids_and_states_and_no_words(caller: Caller) -> None:
    memory_id = add(caller)

    answer = page(caller)

    (event,) = answer["events"]
    assert event["type"] == "memory.created"
    assert event["data"]["memory_id"] == memory_id
    assert event["environment"] == "production"
    assert (answer["next"], answer["has_more"]) == (event["position"], False)
    assert "heron" not in str(answer)


def test_pages_go_on_from_the_last(caller: Caller) -> None:
    ids = [add(caller) for _ in range(3)]

    first = page(caller, "?limit=2")
    rest = page(caller, f"?limit=2&after={first['next']}")
    nothing = page(caller, f"?after={rest['next']}")

    assert memories(first["events"] + rest["events"]) == ids
    assert [first["has_more"], rest["has_more"]] == [True, False]
    assert nothing == {"events": [], "next": rest["next"], "has_more": False}


def test_a_stream_has_the_form_of_server_sent_events_and_what_webhooks_receive(caller: Caller) -> None:
    memory_id = add(caller)

    response = caller("GET", STREAM + "?after=0")
    _, ((position, type_, data),) = frames(caller, "?after=0")

    (listed,) = page(caller)["events"]
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert type_ == "memory.created"
    assert {"position": position, **data} == listed
    assert data["data"]["memory_id"] == memory_id


def test_a_stream_begins_with_what_comes_next_or_after_a_position(caller: Caller) -> None:
    ids = [add(caller) for _ in range(3)]
    positions = [event["position"] for event in page(caller)["events"]]

    assert frames(caller) == (positions[2], [])
    for query, header in ((f"?after={positions[0]}", {}), ("?after=0", {"Last-Event-ID": str(positions[0])})):
        begins, found = frames(caller, query, **header)
        assert begins == positions[0]
        assert [data["data"]["memory_id"] for _, _, data in found] == ids[1:]


def test_the_header_names_an_end_user(caller: Caller) -> None:
    add(caller)
    theirs = add(caller, "bob")

    assert memories(page(caller, X_End_User_ID="bob")["events"]) == [theirs]
    assert [data["data"]["memory_id"] for _, _, data in frames(caller, "?after=0", X_End_User_ID="bob")[1]] == [theirs]
    assert page(caller, X_End_User_ID="nobody yet")["events"] == []
    assert frames(caller, "?after=0", X_End_User_ID="nobody yet")[1] == []


def test_types_limit_what_is_listed(caller: Caller) -> None:
    add(caller)

    assert page(caller, "?types=memory.deleted,memory.updated")["events"] == []
    assert len(page(caller, "?types=memory.deleted,memory.created")["events"]) == 1
    assert frames(caller, "?after=0&types=memory.deleted")[1] == []


@pytest.mark.parametrize("path", [PAGE, STREAM])
@pytest.mark.parametrize("types", ["memory.invented", "memory.created,", "Memory.Created"])
def test_an_unknown_type_is_refused(path: str, types: str, caller: Caller) -> None:
    response = caller("GET", f"{path}?types={types}")

    assert response.status_code == 422
    assert response.json()["error"]["code"] == "UNKNOWN_EVENT_TYPE"  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", [PAGE, STREAM])
@pytest.mark.parametrize("query", ["?after=x", "?after=-1", "?types=", "?user=alice"])
def test_what_is_no_parameter_is_refused(path: str, query: str, caller: Caller) -> None:
    assert caller("GET", path + query).status_code == 422


def test_a_last_event_id_that_is_none_is_refused(caller: Caller) -> None:
    response = caller("GET", STREAM, Last_Event_ID="evt_7")

    assert response.status_code == 422
    assert response.json()["error"]["details"][0]["loc"] == ["header", "Last-Event-ID"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", [PAGE, STREAM])
def test_a_position_that_is_not_kept_is_refused(path: str, caller: Caller) -> None:
    response = caller("GET", f"{path}?after=999")

    assert response.status_code == 410
    assert response.json()["error"]["code"] == "EVENTS_GONE"  # type: ignore[attr-defined]


def test_events_of_keys_and_members_need_the_permission_for_webhooks(caller: Caller, acme: OpenedTenant) -> None:
    both = Caller(make_api_key(acme.scope, scopes=[*DEFAULT, "webhooks:read"]).text, end_user=None)

    refused = caller("GET", f"{PAGE}?types=api_key.created")

    assert refused.status_code == 403
    assert "webhooks:read" in refused.json()["error"]["message"]  # type: ignore[attr-defined]
    assert page(caller)["events"] == []
    assert {event["type"] for event in page(both)["events"]} == {"api_key.created"}
    assert {event["type"] for event in page(both, "?types=api_key.created")["events"]} == {"api_key.created"}


@pytest.mark.parametrize("where", ["tenant", "environment", "project", "pinned"])
def test_nobody_sees_what_happens_elsewhere(
    where: str, caller: Caller, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    other = make_project(acme.scope, "another")
    elsewhere = {
        "tenant": Caller(make_api_key(globex.scope).text, end_user=None),
        "environment": Caller(make_api_key(acme.scope, environment=Environment.STAGING).text, end_user=None),
        "project": Caller(make_api_key(acme.scope).text, end_user=None, headers={"X-Project-ID": other}),
        "pinned": Caller(make_api_key(acme.scope, project_id=get_project(acme.scope, other).pk).text, end_user=None),
    }[where]
    page(elsewhere)
    add(caller)

    assert page(elsewhere)["events"] == []
    assert page(elsewhere, X_End_User_ID="alice")["events"] == []
    assert frames(elsewhere, "?after=0")[1] == []
    assert len(page(caller)["events"]) == 1


def test_every_type_that_a_key_may_see_is_about_memories() -> None:
    assert frozenset(CATEGORIES["memory"]) | {"session.consolidated"} == live_events.OF_MEMORIES


def test_a_server_that_can_hold_a_stream_is_given_the_listener(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(live_events.hub, "_run", lambda: None)
    monkeypatch.setattr(live_events.hub, "_thread", None)
    settings.EVENT_LISTENERS = 1
    held: list[Listener] = []
    server = Caller(caller.key, end_user=None, client=Client(**{live_events.HOLD: held.append}))

    response = server("GET", STREAM)
    refused = server("GET", STREAM)
    assert server("HEAD", STREAM).status_code == 200

    (listener,) = held
    assert response.content.startswith(b"retry: 3000\nid: ")
    assert listener.take() == b""  # until there is more
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "TOO_MANY_LISTENERS"  # type: ignore[attr-defined]
    assert refused.headers["Retry-After"] == "3"
    listener.close()
    assert not live_events.hub._listeners
