"""/v1/retention: who says what is kept for how long; and that what is removed leaves every interface immediately."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import PERMISSIONS
from apps.erasure import legal_holds
from apps.memories.soft_delete import restore
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment
from apps.projects.selectors import get_project
from apps.retention.retention_sweep import sweep
from apps.tenants.models import Role
from tests.api.conftest import Caller
from tests.api.people import make_caller, make_fresh_caller
from tests.makers import make_api_key, make_project

pytestmark = pytest.mark.django_db(databases="__all__")

TEXT = "The spare key lies under the blue flower pot."
BUS = "The bus to the airport leaves at ten past six."


@pytest.fixture
def keeper(acme: OpenedTenant, alice: Caller) -> Caller:
    return replace(alice, key=make_api_key(acme.scope, scopes=list(PERMISSIONS)).text)


def rules(response: Any) -> dict[str, tuple[int | None, str]]:
    assert response.status_code == 200, response.content
    return {one["rule"]: (one["value"], one["level"]) for one in response.json()["rules"]}


def everywhere(caller: Caller, query: str) -> set[int]:
    """Ids in the answers of every way to recall, list and export."""
    found: set[int] = set()
    for path in ("/memory/query", "/memory/retrieve"):
        for profile in ("default", "memorysync", "rrf", "typed", "salience"):
            answer = caller("POST", path, {"query": query, "k": 50, "profile": profile, "traversal_depth": 3}).json()
            found |= {memory["id"] for memory in answer["memories"]}
    found |= {row["id"] for row in caller("GET", "/memory/export").json()["memories"]}
    listed = caller("GET", f"/v1/memory/acme/{caller.end_user}/list").json()["memories"]
    return found | {int(row["memory_id"].removeprefix("m_")) for row in listed}


def test_what_leaves_is_in_no_answer_from_that_sweep_on(acme: OpenedTenant, keeper: Caller) -> None:
    gone, kept = keeper.add(TEXT), keeper.add(BUS)
    keeper("POST", f"/memory/{gone['id']}/relations", {"to_memory_id": kept["id"], "relationship_type": "supports"})
    space = find_end_user(acme.scope, "alice")
    assert space is not None
    held = legal_holds.hold(acme.scope, legal_holds.Level.MEMORY, kept["id"], case="case-1", now=datetime.now(UTC))
    made = datetime.fromisoformat(gone["created_at"])

    sweep(acme.scope, now=made + timedelta(days=90) - timedelta(seconds=1))
    assert gone["id"] in everywhere(keeper, "Where is the spare key?")
    sweep(acme.scope, now=made + timedelta(days=90))

    for _ in range(2):
        assert everywhere(keeper, "Where is the spare key?") == {kept["id"]}
        for path in ("", "/history", "/relations"):
            assert keeper("GET", f"/memory/{gone['id']}{path}").status_code == 404
        assert keeper("GET", f"/v1/memory/status/{gone['id']}").status_code == 404
        sweep(acme.scope, now=made + timedelta(days=98))
    edges = [edge for row in keeper("GET", "/memory/export").json()["memories"] for edge in row["edges"]]
    assert edges == []
    found = keeper("GET", "/v1/retention/preview?days=120").json()["leaving"]
    assert [(one["rule"], one["is_held"], one["memory_ids"]) for one in found] == [("active_days", True, [kept["id"]])]
    assert held.pk


def test_an_archived_memory_is_read_by_its_id_alone(acme: OpenedTenant, keeper: Caller, settings: Any) -> None:
    settings.RETENTION_ARCHIVE_DAYS = 60
    memory = keeper.add(TEXT)
    made = datetime.fromisoformat(memory["created_at"])
    sweep(acme.scope, now=made + timedelta(days=90))

    answer = keeper("POST", "/memory/query", {"query": "Where is the spare key?", "k": 50}).json()

    assert answer["memories"] == []
    assert keeper("GET", f"/memory/{memory['id']}").json()["retention_status"] == "archived"
    events = [one["event"] for one in keeper("GET", f"/memory/{memory['id']}/history").json()["revisions"]]
    assert events == ["created", "archived"]


def test_policy_in_force_says_whose_word_each_rule_is_and_only_gets_stricter(
    acme: OpenedTenant, keeper: Caller
) -> None:
    keeper.add(TEXT)
    assert rules(keeper("GET", "/v1/retention"))["active_days"] == (90, "default")

    answer = keeper("PUT", "/v1/retention", {"level": "tenant", "active_days": 60, "superseded_max_count": 5})
    assert rules(answer)["active_days"] == (60, "tenant")
    assert rules(keeper("PUT", "/v1/retention", {"level": "project", "active_days": 40}))["active_days"] == (
        40,
        "project",
    )
    assert rules(keeper("PUT", "/v1/retention", {"level": "space", "active_days": 20}))["active_days"] == (20, "space")
    assert rules(keeper.as_user("bob")("GET", "/v1/retention"))["active_days"] == (40, "project")
    web = make_project(acme.scope, "web")
    elsewhere = keeper.with_headers(X_Project_ID=web).as_user("bob")
    assert rules(elsewhere("GET", "/v1/retention"))["active_days"] == (60, "tenant")

    refused = keeper("PUT", "/v1/retention", {"level": "space", "active_days": 21, "superseded_max_count": 4})
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "RETENTION_LOOSENED"
    assert [one["field"] for one in refused.json()["error"]["details"]] == ["active_days"]
    assert rules(keeper("GET", "/v1/retention"))["superseded_max_count"] == (5, "tenant")
    for body in ({"level": "tenant"}, {"active_days": 3}, {"level": "moon", "active_days": 3},
                 {"level": "tenant", "active_days": 0}, {"level": "tenant", "grace_days": 8}):  # fmt: skip
        assert keeper("PUT", "/v1/retention", body).status_code == 422


@pytest.mark.parametrize(
    ("rule", "least"),
    [("grace_days", 7), ("task_ttl_seconds", 86_400), ("event_max_age_seconds", 86_400),
     ("superseded_max_age_seconds", 86_400)],
)  # fmt: skip
def test_a_key_takes_no_grace_away_and_lets_nothing_go_within_the_day(
    rule: str, least: int, acme: OpenedTenant, keeper: Caller
) -> None:
    keeper.add(TEXT)
    before = rules(keeper("GET", "/v1/retention"))

    for level in ("tenant", "project", "space"):
        refused = keeper("PUT", "/v1/retention", {"level": level, "active_days": 30, rule: least - 1})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "POLICY_BEYOND_KEY")
        assert refused.json()["error"]["details"] == [{"field": rule, "least": least}]

    assert rules(keeper("GET", "/v1/retention")) == before
    assert rules(keeper("PUT", "/v1/retention", {"level": "tenant", rule: least}))[rule] == (least, "tenant")


def test_what_a_key_makes_go_is_there_for_a_week(acme: OpenedTenant, keeper: Caller) -> None:
    """The strictest that a key can say, a day later: nothing is gone for good before a person could bring it back."""
    memory = keeper.add(TEXT)
    made = datetime.fromisoformat(memory["created_at"])
    strictest = {"active_days": 1, "archive_days": 0, "grace_days": 7, "superseded_max_count": 1}
    ages = dict.fromkeys(("task_ttl_seconds", "event_max_age_seconds", "superseded_max_age_seconds"), 86_400)
    for level in ("tenant", "project", "space"):
        assert keeper("PUT", "/v1/retention", {"level": level} | strictest | ages).status_code == 200

    sweep(acme.scope, now=made + timedelta(hours=23))
    assert everywhere(keeper, "Where is the spare key?") == {memory["id"]}
    for later in (timedelta(days=1, minutes=1), timedelta(days=7, hours=23)):
        sweep(acme.scope, now=made + later)

    space = find_end_user(acme.scope, "alice")
    assert space is not None
    restore(acme.scope.in_spaces(space), memory["id"], now=made + timedelta(days=7, hours=23))
    assert keeper("GET", f"/memory/{memory['id']}").status_code == 200


@pytest.mark.parametrize(("method", "path", "scope"), [
    ("PUT", "/v1/retention", "retention:write"),
    ("POST", "/v1/privacy/requests", "privacy:request"),
    ("GET", "/v1/privacy/requests", "privacy:request"),
])  # fmt: skip
def test_no_wildcard_reaches_what_destroys(
    method: str, path: str, scope: str, acme: OpenedTenant, alice: Caller
) -> None:
    wild = replace(alice, key=make_api_key(acme.scope, scopes=["*", "memory:*"]).text)
    wild.add(TEXT)
    body = {"PUT": {"level": "tenant", "active_days": 1}, "POST": {"type": "delete"}}.get(method)

    refused = wild(method, path, body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    assert scope in refused.json()["detail"]


def test_a_narrow_key_sets_no_policy_beyond_itself(acme: OpenedTenant, globex: OpenedTenant, keeper: Caller) -> None:
    keeper.add(TEXT)
    web = get_project(acme.scope, make_project(acme.scope, "web"))
    pinned = replace(keeper, key=make_api_key(acme.scope, scopes=list(PERMISSIONS), project_id=web.pk).text)
    staging = make_api_key(acme.scope, scopes=list(PERMISSIONS), environment=Environment.STAGING).text
    strict = {"active_days": 1}

    assert pinned("PUT", "/v1/retention", {"level": "tenant"} | strict).json()["error"]["code"] == "POLICY_BEYOND_KEY"
    for level in ("tenant", "project"):
        assert replace(keeper, key=staging)("PUT", "/v1/retention", {"level": level} | strict).status_code == 403
    assert keeper.as_user("nobody")("PUT", "/v1/retention", {"level": "space"} | strict).status_code == 404
    assert pinned("PUT", "/v1/retention", {"level": "project"} | strict).status_code == 200
    other = Caller(make_api_key(globex.scope, scopes=list(PERMISSIONS)).text)
    other("PUT", "/v1/retention", {"level": "tenant"} | strict)

    assert rules(keeper("GET", "/v1/retention"))["active_days"] == (90, "default")
    for caller in (replace(keeper, key=staging), other, pinned):
        assert caller("GET", "/v1/retention/preview?days=365").json() == {"leaving": []}
    assert keeper("GET", "/v1/retention/preview?days=365").json()["leaving"][0]["count"] == 1


# -- for longer, and for good ------------------------------------------------------------------------------------------


def said(response: Any) -> dict[str, tuple[Any, str]]:
    assert response.status_code == 200, response.content
    return {one["rule"]: (one["said"], one["level"]) for one in response.json()["rules"]}


def test_an_owner_in_person_keeps_for_longer_and_for_good_and_nobody_else_does(
    acme: OpenedTenant, keeper: Caller
) -> None:
    keeper.add(TEXT)
    owner, admin = make_fresh_caller(acme.tenant), make_fresh_caller(acme.tenant, Role.ADMIN)
    tired = make_caller(acme.tenant, email="tired@acme.example")
    good = {"level": "tenant", "active_days": "keep", "active_from": "used"}

    for caller, status, code in (
        (keeper, 409, "RETENTION_LOOSENED"),
        (admin, 409, "RETENTION_LOOSENED"),
        (tired, 403, "STEP_UP_REQUIRED"),
    ):
        refused = caller("PUT", "/v1/retention", good)
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert rules(keeper("GET", "/v1/retention"))["active_days"] == (90, "default")

    answer = owner("PUT", "/v1/retention", good)

    assert rules(answer)["active_days"] == (None, "tenant")
    assert said(answer)["active_days"] == ("keep", "tenant")
    assert said(admin("PUT", "/v1/retention", {"level": "tenant", "active_days": 365}))["active_days"][0] == 365
    void = owner("PUT", "/v1/retention", {"level": "project", "active_days": "keep"})
    assert (void.status_code, void.json()["error"]["code"]) == (409, "RETENTION_STRICTER_ABOVE")
    assert void.json()["error"]["details"] == [{"field": "active_days", "holds": 365, "level": "tenant"}]


def test_a_rule_is_a_number_in_its_bounds_or_a_word_of_its_own(keeper: Caller) -> None:
    for body in (
        {"active_days": "forever"}, {"active_days": 36_501}, {"active_days": 2**31 - 1}, {"grace_days": "keep"},
        {"active_from": "keep"}, {"active_from": 1}, {"superseded_max_count": 0}, {"dry_run": "yes", "active_days": 3},
    ):  # fmt: skip
        refused = keeper("PUT", "/v1/retention", {"level": "tenant"} | body)
        assert refused.status_code == 422, body
    assert rules(keeper("GET", "/v1/retention"))["active_days"] == (90, "default")


def test_a_dry_run_says_what_would_hold_and_what_would_go(acme: OpenedTenant, keeper: Caller) -> None:
    keeper.add(TEXT)
    owner = make_fresh_caller(acme.tenant)
    nothing = {"archived": 0, "soft_deleted": 0, "purged": 0}

    stricter = keeper("PUT", "/v1/retention", {"level": "tenant", "active_days": 20, "dry_run": True})
    looser = owner("PUT", "/v1/retention", {"level": "tenant", "active_days": "keep", "dry_run": True})

    assert said(stricter)["active_days"] == (20, "tenant")
    assert stricter.json()["going"] == [
        {"days": 0, "before": nothing, "after": nothing},
        {"days": 30, "before": nothing, "after": nothing | {"soft_deleted": 1, "purged": 1}},
    ]
    assert said(looser)["active_days"] == ("keep", "tenant")
    assert rules(keeper("GET", "/v1/retention"))["active_days"] == (90, "default")


def test_until_when_a_memory_is_kept_stands_in_every_answer(acme: OpenedTenant, keeper: Caller) -> None:
    added = keeper.add("Maria Lopez works at Initech.")
    until = datetime.fromisoformat(added["created_at"]) + timedelta(days=90)

    def everywhere_shown() -> set[datetime | None]:
        who = {"tenant_id": "acme", "user_id": "alice", "prompt": "Where does Maria Lopez work?"}
        answers = [
            keeper("GET", f"/memory/{added['id']}").json(),
            *keeper("POST", "/memory/query", {"query": "Where does Maria Lopez work?"}).json()["memories"],
            *keeper("POST", "/memory/search/routed", {"query": "Where does Maria Lopez work?"}).json()["memories"],
            *keeper("GET", "/memory/export").json()["memories"],
            *keeper("GET", "/v1/memory/acme/alice/list").json()["memories"],
            *keeper("POST", "/v1/memory/recall", who).json()["memories"],
            *keeper("POST", "/v1/memory/query", who).json()["memories"],
            *keeper("POST", "/v1/facts/query", {"subject": "Maria Lopez"}).json()["facts"],
            *keeper("GET", f"/v1/entities/{entity_of(keeper)}").json()["memories"],
        ]
        assert len(answers) >= 8
        shown = [one["retention_expires_at"] for one in answers]
        return {one and datetime.fromisoformat(one) for one in shown}

    assert datetime.fromisoformat(added["retention_expires_at"]) == until
    assert everywhere_shown() == {until}
    keeper("PUT", "/v1/retention", {"level": "space", "active_days": 30})
    assert everywhere_shown() == {until - timedelta(days=60)}
    owner = make_fresh_caller(acme.tenant)
    owner("PUT", "/v1/retention", {"level": "tenant", "active_days": "keep"})
    owner.as_user("alice")("PUT", "/v1/retention", {"level": "space", "active_days": "keep"})
    assert everywhere_shown() == {None}


def entity_of(caller: Caller) -> int:
    found = caller("GET", "/v1/entities").json()["entities"]
    return next(one["id"] for one in found if one["name"] == "Maria Lopez")


def test_the_sooner_of_its_own_time_and_the_policy_is_shown_and_a_hold_has_no_end(
    acme: OpenedTenant, keeper: Caller
) -> None:
    brief = keeper.add(TEXT, ttl_minutes=60)
    assert brief["retention_expires_at"] == brief["expires_at"]

    legal_holds.hold(acme.scope, legal_holds.Level.MEMORY, brief["id"], case="case-1", now=datetime.now(UTC))

    assert keeper("GET", f"/memory/{brief['id']}").json()["retention_expires_at"] is None
