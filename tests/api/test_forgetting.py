"""Deleting with a key, where the tenant lets keys retire; and asking a person to."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories import soft_delete
from apps.memories.indexing_mode import set_profile
from apps.memories.models import Memory, MemoryVector
from apps.memories.selectors import MemoryNotFound
from apps.memories.soft_delete import NotRestorable, RememberedAgain, restore
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.services import archive
from apps.retention import requests
from apps.retention.requests import ForgetRequestDecided, PersonNeeded, confirm, expire_requests, refuse
from apps.tenants.models import Profile
from apps.tenants.services import set_policy
from tests import once
from tests.api.conftest import Caller
from tests.makers import NOW, make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

TEXT = "The spare key lies under the blue flower pot."
BUS = "The bus to the airport leaves at ten past six."


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def retiring_tenant(acme: OpenedTenant) -> OpenedTenant:
    set_policy(acme.tenant, key_deletes="retire", actor="test", now=now())
    return acme


@pytest.fixture
def deleter(retiring_tenant: OpenedTenant, alice: Caller) -> Caller:
    """Alice, with a key that may do everything there is."""
    return replace(alice, key=make_api_key(retiring_tenant.scope, scopes=list(PERMISSIONS)).text)


@pytest.fixture
def person(acme: OpenedTenant) -> Scope:
    """A user of the tenant, at work in the browser."""
    return replace(acme.scope, principal=Principal(kind="account", id=7))


def forget(caller: Caller, **body: Any) -> Any:
    response = caller("DELETE", "/memory/forget", body)
    assert response.status_code == 200, response.content
    return response.json()


def is_there(caller: Caller, memory_id: int) -> bool:
    return bool(caller("GET", f"/memory/{memory_id}").status_code == 200)


def everywhere(caller: Caller, query: str) -> set[int]:
    """Ids in the answers of every way to recall."""
    found: set[int] = set()
    for path in ("/memory/query", "/memory/retrieve"):
        for profile in ("default", "memorysync", "rrf"):
            answer = caller("POST", path, {"query": query, "k": 50, "profile": profile, "traversal_depth": 3}).json()
            found |= {memory["id"] for memory in answer["memories"]}
    found |= {row["id"] for row in caller("GET", "/memory/export").json()["memories"]}
    listed = caller("GET", f"/v1/memory/acme/{caller.end_user}/list").json()["memories"]
    return found | {int(row["memory_id"].removeprefix("m_")) for row in listed}


def alices(acme: OpenedTenant) -> Scope:
    space = find_end_user(acme.scope, "alice")
    assert space is not None
    return acme.scope.in_spaces(space)


def seal_space(acme: OpenedTenant) -> None:
    set_profile(acme.scope, alices(acme).space.id, Profile.SEALED, now=NOW)


# -- by id -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sealed", [False, True], ids=["searchable", "sealed"])
def test_forgotten_is_gone_from_every_answer_at_once(is_sealed: bool, acme: OpenedTenant, deleter: Caller) -> None:
    gone, kept = deleter.add(TEXT, tags=["home"]), deleter.add(BUS)
    deleter("POST", f"/memory/{gone['id']}/relations", {"to_memory_id": kept["id"], "relationship_type": "supports"})
    if is_sealed:
        seal_space(acme)
    assert gone["id"] in everywhere(deleter, "Where is the spare key?")

    assert forget(deleter, memory_ids=[gone["id"]], reason="asked for") == [gone["id"]]

    assert everywhere(deleter, "Where is the spare key?") == {kept["id"]}
    for path in ("", "/history", "/relations"):
        assert deleter("GET", f"/memory/{gone['id']}{path}").status_code == 404
    assert deleter("GET", f"/v1/memory/status/{gone['id']}").status_code == 404
    assert deleter("PATCH", f"/memory/{gone['id']}", {"tags": ["x"]}).status_code == 404
    assert deleter("POST", f"/memory/{gone['id']}/feedback", {"signal": "positive"}).status_code == 404
    edges = [edge for row in deleter("GET", "/memory/export").json()["memories"] for edge in row["edges"]]
    assert edges == []
    assert forget(deleter, memory_ids=[gone["id"]]) == []


def test_row_says_how_and_when_and_can_be_brought_back_for_a_week(acme: OpenedTenant, deleter: Caller) -> None:
    memory = deleter.add(TEXT)
    forget(deleter, memory_ids=[memory["id"]])

    with tenant_transaction(acme.scope):
        row = Memory.objects.within_tenant(acme.scope).get(pk=memory["id"])
        vector = MemoryVector.objects.within(acme.scope).get(memory_id=memory["id"])
    assert (row.retention_status, row.deletion_method) == ("soft_deleted", "user_request")
    assert row.deleted_at is not None
    assert row.hard_delete_at == row.deleted_at + timedelta(days=7)
    assert vector.live is False

    restore(alices(acme), memory["id"], now=now())

    assert memory["id"] in everywhere(deleter, "Where is the spare key?")
    events = [one["event"] for one in deleter("GET", f"/memory/{memory['id']}/history").json()["revisions"]]
    assert events == ["created", "soft_deleted", "restored"]


def test_ids_of_others_are_passed_over(acme: OpenedTenant, globex: OpenedTenant, deleter: Caller) -> None:
    mine = deleter.add(TEXT)
    bobs = deleter.as_user("bob").add("Bob keeps his bicycle in the cellar.")
    other = Caller(globex.keys[Environment.PRODUCTION]).add(TEXT)
    elsewhere = deleter.with_headers(X_Project_ID=make_project(acme.scope, "web")).add("Only for the web project.")

    ids = [mine["id"], bobs["id"], other["id"], elsewhere["id"], 0, -1, 2**53, 2**63, mine["id"]]
    assert forget(deleter, memory_ids=ids) == [mine["id"]]

    assert is_there(deleter.as_user("bob"), bobs["id"])
    assert is_there(Caller(globex.keys[Environment.PRODUCTION]), other["id"])
    assert forget(deleter.as_user("nobody"), memory_ids=[mine["id"]]) == []
    assert find_end_user(acme.scope, "nobody") is None


def test_held_memory_is_passed_over(acme: OpenedTenant, deleter: Caller) -> None:
    memory = deleter.add(TEXT)
    with tenant_transaction(acme.scope):
        Memory.objects.within_tenant(acme.scope).filter(pk=memory["id"]).update(legal_hold=True)

    assert forget(deleter, memory_ids=[memory["id"]]) == []
    assert is_there(deleter, memory["id"])


def test_forgetting_the_newer_does_not_bring_the_older_back(deleter: Caller) -> None:
    old, new = deleter.add("I live in Lisbon."), deleter.add("I live in Porto.")

    forget(deleter, memory_ids=[new["id"]])

    shown = deleter("GET", f"/memory/{old['id']}").json()
    assert (shown["validity"], shown["retention_status"]) == ("superseded", "archived")
    assert forget(deleter, memory_ids=[old["id"]]) == [old["id"]]


def test_archived_project_may_be_forgotten(acme: OpenedTenant, deleter: Caller) -> None:
    project = make_project(acme.scope, "old")
    inside = deleter.with_headers(X_Project_ID=project)
    memory = inside.add(TEXT)
    archive(acme.scope, project, now=NOW)

    assert forget(inside, memory_ids=[memory["id"]]) == [memory["id"]]


# -- by filter ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(deleter: Caller) -> list[int]:
    return [
        deleter.add(TEXT, tags=["home", "keys"], source="notes", event_type="seen")["id"],
        deleter.add(BUS, tags=["home"], source="chat", event_type="told")["id"],
        deleter.add("Marta repairs old violins.", tags=["keys"], source="notes")["id"],
    ]


CHOSEN: list[tuple[dict[str, Any], list[int]]] = [
    ({"tags": ["home", "keys"]}, [0]),
    ({"tags": ["HOME"]}, [0, 1]),
    ({"tags": ["home", "elsewhere"]}, []),
    ({"source": "notes"}, [0, 2]),
    ({"source": "notes", "tags": ["keys"], "event_type": "seen"}, [0]),
    ({"event_type": "told", "source": None}, [1]),
    ({"tier": "hot"}, [0, 1, 2]),
    ({"tier": "cold"}, []),
    ({"before": "2020-01-01"}, []),
    ({"after": "2020-01-01"}, [0, 1, 2]),
    ({"before": "2100-01-01T00:00:00Z", "source": "chat"}, [1]),
    ({"after": "2100-01-01"}, []),
]


@pytest.mark.parametrize("is_sealed", [False, True], ids=["searchable", "sealed"])
def test_filters_must_all_match(is_sealed: bool, acme: OpenedTenant, deleter: Caller, three: list[int]) -> None:
    if is_sealed:
        seal_space(acme)
    for filters, chosen in CHOSEN:
        expected = [three[index] for index in chosen]
        with once.taken_back():
            asked = forget(deleter, filters=filters, dry_run=True)
            before = [is_there(deleter, memory_id) for memory_id in three]
            gone = forget(deleter, filters=filters)
            left_out = [memory_id for memory_id in three if not is_there(deleter, memory_id)]

        assert (asked, before) == (expected, [True, True, True]), filters
        assert (gone, left_out) == (expected, expected), filters


def test_filter_looks_at_the_tags_as_they_are_now(deleter: Caller, three: list[int]) -> None:
    deleter("PATCH", f"/memory/{three[0]}", {"tags": ["attic"]})

    assert forget(deleter, filters={"tags": ["keys"]}) == [three[2]]
    assert forget(deleter, filters={"tags": ["attic"]}) == [three[0]]


HOSTILE: list[Any] = [
    {},
    {"memory_ids": []},
    {"memory_ids": None, "filters": None},
    {"filters": {}},
    {"filters": {"source": None}},
    {"filters": {"tags": []}},
    {"filters": {"tags": [" "]}},
    {"filters": {"tags": "home"}},
    {"filters": {"unknown": 1}},
    {"filters": {"source": "notes", "project": "x"}},
    {"filters": {"source": ""}},
    {"filters": {"tier": "lukewarm"}},
    {"filters": {"before": 5}},
    {"filters": []},
    {"filters": "all"},
    {"memory_ids": [1], "filters": {"source": "notes"}},
    {"memory_ids": [1], "dry_run": True},
    {"memory_ids": [1], "dryrun": True},
    {"memory_ids": [True]},
    {"memory_ids": ["1"]},
    {"memory_ids": [1.0]},
    {"memory_ids": 1},
    {"memory_ids": list(range(10_001))},
    {"filters": {"source": "notes"}, "dry_run": "true"},
    {"filters": {"source": "notes"}, "reason": 5},
    {"filters": {"source": "notes"}, "reason": "x" * 1_001},
]


def test_hostile_selector_is_one_envelope_and_forgets_nothing(deleter: Caller, three: list[int]) -> None:
    for body in HOSTILE:
        forgotten = deleter("DELETE", "/memory/forget", body)
        asked = deleter("POST", "/memory/forget-requests", body)

        for response in (forgotten, asked):
            assert (response.status_code, response.json()["error"]["code"]) == (422, "VALIDATION_ERROR"), body
    assert all(is_there(deleter, memory_id) for memory_id in three)
    assert deleter("GET", "/memory/forget-requests").json()["total"] == 0


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["deny", "retire"])
def test_purging_a_user_is_for_people_alone(policy: str, acme: OpenedTenant, deleter: Caller) -> None:
    set_policy(acme.tenant, key_deletes=policy, actor="test", now=now())
    memory = deleter.add(TEXT)

    response = deleter("DELETE", "/memory/user/purge", b"{broken")

    assert (response.status_code, response.json()["error"]["code"]) == (403, "STEP_UP_REQUIRED")
    assert is_there(deleter, memory["id"])


def test_by_default_not_even_a_dry_run_is_answered(alice: Caller) -> None:
    response = alice("DELETE", "/memory/forget", {"filters": {"source": "notes"}, "dry_run": True})

    assert (response.status_code, response.json()["error"]["code"]) == (403, "STEP_UP_REQUIRED")


# -- putting back ------------------------------------------------------------------------------------------------------


def test_what_was_said_anew_meanwhile_keeps_the_slot(acme: OpenedTenant, deleter: Caller) -> None:
    lisbon = deleter.add("I live in Lisbon.")
    forget(deleter, memory_ids=[lisbon["id"]])
    porto = deleter.add("I live in Porto.")

    restore(alices(acme), lisbon["id"], now=now())

    shown = deleter("GET", f"/memory/{lisbon['id']}").json()
    assert (shown["validity"], shown["superseded_by"]) == ("superseded", porto["id"])
    assert deleter("GET", f"/memory/{porto['id']}").json()["validity"] == "current"


@pytest.mark.parametrize("text", ["I live in Lisbon.", "I own a red kayak.", "I ran a marathon yesterday."])
def test_what_was_remembered_again_is_not_doubled(text: str, acme: OpenedTenant, deleter: Caller) -> None:
    memory = deleter.add(text)
    forget(deleter, memory_ids=[memory["id"]])
    deleter.add(text)

    with pytest.raises(RememberedAgain):
        restore(alices(acme), memory["id"], now=now())


def test_same_event_of_another_time_comes_back_beside_the_new_one(acme: OpenedTenant, deleter: Caller) -> None:
    def ran(days: int) -> int:
        proposal = Proposal(
            text=Plaintext("I met Anna at the station yesterday."),
            importance=0.9,
            occurred_at=now() - timedelta(days=days),
        )
        (outcome,) = remember(alices(acme), [proposal], now=now())
        return outcome.memory_ids[0]

    deleter.add(TEXT)
    first = ran(90)
    forget(deleter, memory_ids=[first])
    second = ran(30)

    restore(alices(acme), first, now=now())

    shown = [deleter("GET", f"/memory/{one}").json() for one in (first, second)]
    assert {(one["memory_type"], one["validity"]) for one in shown} == {("event", "current")}


def test_after_a_week_and_for_strangers_nothing_comes_back(acme: OpenedTenant, deleter: Caller) -> None:
    memory, other = deleter.add(TEXT), deleter.add(BUS)
    deleter.as_user("bob").add("Bob keeps his bicycle in the cellar.")
    forget(deleter, memory_ids=[memory["id"]])
    bob = find_end_user(acme.scope, "bob")
    assert bob is not None

    with pytest.raises(NotRestorable):
        restore(alices(acme), memory["id"], now=now() + timedelta(days=7, seconds=1))
    with pytest.raises(NotRestorable):
        restore(alices(acme), other["id"], now=now())
    with pytest.raises(MemoryNotFound):
        restore(acme.scope.in_spaces(bob), memory["id"], now=now())


def test_memory_without_a_vector_is_embedded_when_it_comes_back(
    acme: OpenedTenant, deleter: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = deleter.add(TEXT)
    forget(deleter, memory_ids=[memory["id"]])
    with tenant_transaction(acme.scope):
        MemoryVector.objects.within(acme.scope).filter(memory_id=memory["id"]).delete()
    asked: list[tuple[str, list[int]]] = []
    monkeypatch.setattr(soft_delete, "enqueue", lambda scope, kind, ids, *, now: asked.append((kind, ids)))

    restore(alices(acme), memory["id"], now=now())

    assert asked == [("embed", [memory["id"]])]


# -- requests ----------------------------------------------------------------------------------------------------------


def ask(caller: Caller, **body: Any) -> Any:
    response = caller("POST", "/memory/forget-requests", body)
    assert response.status_code in (200, 201), response.content
    return response.json()


def test_request_changes_nothing_until_a_person_confirms_it(acme: OpenedTenant, alice: Caller, person: Scope) -> None:
    memory, kept = alice.add(TEXT, tags=["home"]), alice.add(BUS)

    asked = ask(alice, filters={"tags": ["Home"], "after": "2020-01-01"}, reason="The user asked for it.")

    assert (asked["status"], asked["memory_ids"], asked["reason"]) == ("pending", None, "The user asked for it.")
    assert asked["filters"] == {"tags": ["home"], "after": "2020-01-01T23:59:59.999999+00:00"}
    assert asked["requested_by"].startswith("api_key:")
    assert is_there(alice, memory["id"])

    assert confirm(person, asked["id"], now=now()) == [memory["id"]]

    assert not is_there(alice, memory["id"])
    assert is_there(alice, kept["id"])
    shown = alice("GET", f"/memory/forget-requests/{asked['id']}").json()
    assert (shown["status"], shown["forgotten"]) == ("confirmed", 1)
    assert shown["decided_at"]


def test_refused_expired_and_cancelled_requests_are_over(alice: Caller, person: Scope) -> None:
    memory = alice.add(TEXT)
    refused, expired, cancelled = (ask(alice, memory_ids=[memory["id"], other]) for other in (1, 2, 3))

    refuse(person, refused["id"], now=now())
    taken_back = alice("POST", f"/memory/forget-requests/{cancelled['id']}/cancel").json()
    later = now() + timedelta(days=15)

    assert taken_back["status"] == "cancelled"
    assert alice("POST", f"/memory/forget-requests/{cancelled['id']}/cancel").json() == taken_back
    assert alice("POST", f"/memory/forget-requests/{refused['id']}/cancel").status_code == 409
    for one, at in ((refused, now()), (cancelled, now()), (expired, later)):
        for decide in (confirm, refuse):
            with pytest.raises(ForgetRequestDecided):
                decide(person, one["id"], now=at)
    assert expire_requests(person, now=later) == 1
    states = [one["status"] for one in alice("GET", "/memory/forget-requests").json()["requests"]]
    assert states == ["cancelled", "expired", "refused"]
    assert is_there(alice, memory["id"])


def test_asking_again_is_the_same_request_while_it_waits(alice: Caller, person: Scope) -> None:
    memory = alice.add(TEXT)

    first, again = ask(alice, memory_ids=[memory["id"]]), ask(alice, memory_ids=[memory["id"]], reason="Really.")
    refuse(person, first["id"], now=now())
    anew = ask(alice, memory_ids=[memory["id"]])

    assert again == first
    assert anew["id"] != first["id"]


def test_requests_are_listed_in_pages_and_by_state(alice: Caller, person: Scope) -> None:
    memory = alice.add(TEXT)
    ids = [ask(alice, memory_ids=[memory["id"], other])["id"] for other in range(1, 6)]
    refuse(person, ids[0], now=now())

    pages = [alice("GET", f"/memory/forget-requests?limit=2&offset={at}").json() for at in (0, 2, 4)]
    refused = alice("GET", "/memory/forget-requests?status=refused").json()

    assert [one["id"] for page in pages for one in page["requests"]] == ids[::-1]
    assert {page["total"] for page in pages} == {5}
    assert ([one["id"] for one in refused["requests"]], refused["total"]) == ([ids[0]], 1)
    for query in ("?limit=0", "?limit=201", "?status=done", "?state=pending"):
        assert alice("GET", f"/memory/forget-requests{query}").status_code == 422


def test_requests_are_seen_by_their_own_end_user_alone(
    acme: OpenedTenant, globex: OpenedTenant, alice: Caller, person: Scope, call_with: Callable[..., Caller]
) -> None:
    asked = ask(alice, memory_ids=[alice.add(TEXT)["id"]])
    foreign = replace(globex.scope, principal=Principal(kind="account", id=8))

    for stranger in (
        alice.as_user("bob"),
        call_with(globex.keys[Environment.PRODUCTION]),
        call_with(acme.keys[Environment.STAGING]),
        alice.with_headers(X_Project_ID=make_project(acme.scope, "web")),
    ):
        assert stranger("GET", "/memory/forget-requests").json() == {"requests": [], "total": 0}
        for method, path in (("GET", ""), ("POST", "/cancel")):
            response = stranger(method, f"/memory/forget-requests/{asked['id']}{path}")
            assert (response.status_code, response.json()["error"]["code"]) == (404, "FORGET_REQUEST_NOT_FOUND")
    for decide in (confirm, refuse):
        with pytest.raises(requests.ForgetRequestNotFound):
            decide(foreign, asked["id"], now=now())


def test_key_cannot_decide(acme: OpenedTenant, alice: Caller) -> None:
    asked = ask(alice, memory_ids=[alice.add(TEXT)["id"]])
    key = replace(acme.scope, principal=Principal(kind="api_key", id=7))

    for decide in (confirm, refuse):
        with pytest.raises(PersonNeeded):
            decide(key, asked["id"], now=now())


def test_hundred_may_wait(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_PENDING", 2)
    memory = alice.add(TEXT)["id"]
    for other in (1, 2):
        ask(alice, memory_ids=[memory, other])

    response = alice("POST", "/memory/forget-requests", {"memory_ids": [memory]})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "TOO_MANY_FORGET_REQUESTS")
    assert ask(alice, memory_ids=[memory, 2])["status"] == "pending"


def test_request_for_memories_of_nobody_or_somebody_else_is_not_opened(alice: Caller) -> None:
    others = alice.as_user("bob").add(TEXT)["id"]

    for ids in ([others + 1_000_000], [others], [-1, 0, 2**63]):
        response = alice("POST", "/memory/forget-requests", {"memory_ids": ids})
        assert (response.status_code, response.json()["error"]["code"]) == (404, "MEMORY_NOT_FOUND")

    assert alice("GET", "/memory/forget-requests").json()["total"] == 0


def test_what_is_asked_and_why_is_sealed(acme: OpenedTenant, alice: Caller) -> None:
    ask(alice, filters={"tags": ["the-old-word"]}, reason="another-word")

    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("select r::text from retention_forgetrequest r")
        (row,) = cursor.fetchone() or ("",)

    for word in ("the-old-word", "another-word"):
        assert word not in row
        assert word.encode().hex() not in row
