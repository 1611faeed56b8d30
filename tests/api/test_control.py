"""Organizations, projects, keys and people of a tenant, managed through the API."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from apps.accounts.models import User
from apps.apikeys import services
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT, PERMISSIONS
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.erasure.legal_holds import hold
from apps.policies.models import Level
from apps.projects.scope import Environment
from apps.projects.selectors import get_project, scope_in
from apps.projects.services import set_review
from apps.tenants.members import give_role
from apps.tenants.models import Membership, Organization, Role, Tenant
from tests.api.conftest import Caller
from tests.api.people import bearer, caller_of, make_caller, make_fresh_caller
from tests.forms import form
from tests.makers import make_api_key, make_project
from tests.web.people import Person, make_person

pytestmark = pytest.mark.django_db(databases="__all__")

ANYBODY = Caller(None, None)
NEW = {"email": "new@initech.example", "password": "correct horse battery", "organization_name": "Initech & Söhne"}


@pytest.fixture
def owner(acme: OpenedTenant) -> Caller:
    return make_fresh_caller(acme.tenant)


@pytest.fixture
def stranger(globex: OpenedTenant) -> Caller:
    return make_fresh_caller(globex.tenant)


def refused(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def same(response: Any) -> bytes:
    return re.sub(rb'"(request_id|enrolment_code)":"[\w-]+"', b"", response.content)


def trail(action: str, tenant: Tenant | None = None) -> list[tuple[str, str, str]]:
    """Of this tenant, or of none."""
    with tenant_transaction(scope_in(tenant)) if tenant else transaction.atomic():
        rows = AuditEvent.objects.filter(action=action).order_by("id")
        return list(rows.values_list("actor", "target", "reason"))


# -- signing up --------------------------------------------------------------------------------------------------------


@pytest.fixture
def open_to_all(settings: Any) -> None:
    settings.SIGNUP = True


def test_nobody_signs_up_where_the_operator_has_not_said_so(owner: Caller) -> None:
    assert refused(ANYBODY("POST", "/auth/signup", NEW)) == (403, "SIGNUP_CLOSED")
    assert refused(owner("POST", "/organizations", {"name": "Another"})) == (403, "SIGNUP_CLOSED")
    assert not User.objects.filter(email=NEW["email"]).exists()


@pytest.mark.usefixtures("open_to_all")
def test_signing_up_makes_a_person_with_a_tenant_that_can_be_used() -> None:
    answer = ANYBODY("POST", "/auth/signup", NEW | {"email": "New@Initech.example", "full_name": "New One"})

    assert (answer.status_code, answer.json()["requires_verification"]) == (201, False)
    login = ANYBODY("POST", "/auth/login", {name: NEW[name] for name in ("email", "password")}).json()
    assert login["session"]["role"] == "owner"
    caller = bearer(login["tokens"]["access_token"])
    me = caller("GET", "/auth/me").json()
    assert (me["full_name"], me["org"]["name"]) == ("New One", "Initech & Söhne")
    assert re.fullmatch(r"initech-s-hne-[0-9a-f]{8}", me["org"]["tenant"])
    (project,) = caller("GET", "/org/projects").json()
    assert project["is_default"] is True
    assert caller("GET", "/org/api-keys").json() == []  # no one would have seen their text
    person = User.objects.get(email=NEW["email"])
    assert trail("account.open") == [(f"account:{person.pk}", f"account:{person.pk}", "sign-up")]
    tenant = Tenant.objects.get()
    assert trail("member.add", tenant)[-1] == (f"account:{person.pk}", f"account:{person.pk}", "role=owner")


@pytest.mark.usefixtures("open_to_all")
def test_known_address_is_answered_alike_and_nothing_is_made(acme: OpenedTenant) -> None:
    ann = make_person(acme.tenant, factor=False)

    new = ANYBODY("POST", "/auth/signup", NEW)
    known = ANYBODY("POST", "/auth/signup", NEW | {"email": ann.user.email.upper()})

    assert same(known).replace(ann.user.email.upper().encode(), NEW["email"].encode()) == same(new)
    assert Membership.objects.filter(user=ann.user).count() == 1
    assert Organization.objects.filter(name=NEW["organization_name"]).count() == 1
    assert caller_of(ann)("GET", "/auth/me").status_code == 200


@pytest.mark.usefixtures("open_to_all")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", "nobody"),
        ("email", "a\x00b@acme.example"),
        ("password", "eleven-char"),
        ("password", "password1234"),
        ("password", "PASSWORD1234"),
        ("password", "qwertyuiop12"),
        ("password", "aaaaaaaaaaaa"),
        ("password", "ababcabababc"),
        ("password", "passwordpassword"),
        ("password", "abcdefghijkl"),
        ("password", "123456789012"),
        ("password", "zyxwvutsrqponm"),
        ("password", "new@initech.example"),
        ("organization_name", " "),
        ("organization_name", "x" * 101),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_stays(field: str, value: str) -> None:
    before = Tenant.objects.count(), Organization.objects.count(), User.objects.count()

    answer = ANYBODY("POST", "/auth/signup", NEW | {field: value})

    assert answer.status_code == 422
    assert value.strip() == "" or value not in answer.content.decode()
    assert (Tenant.objects.count(), Organization.objects.count(), User.objects.count()) == before


@pytest.mark.usefixtures("open_to_all")
def test_twelve_characters_that_nobody_tries_first_are_a_password() -> None:
    assert ANYBODY("POST", "/auth/signup", NEW | {"password": "heron-84 loc"}).status_code == 201

    assert User.objects.get(email=NEW["email"]).check_password("heron-84 loc")


@pytest.mark.usefixtures("open_to_all")
def test_when_keys_cannot_be_made_nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError

    monkeypatch.setattr("apps.apikeys.onboarding.create_tenant_keys", broken)

    assert ANYBODY("POST", "/auth/signup", NEW).status_code == 500

    assert not User.objects.exists()
    assert not Organization.objects.exists()
    assert not Tenant.objects.exists()


@pytest.mark.usefixtures("open_to_all")
def test_one_address_signs_up_five_times_a_minute() -> None:
    answers = [ANYBODY("POST", "/auth/signup", NEW | {"password": "short"}) for _ in range(6)]

    assert [one.status_code for one in answers] == [422] * 5 + [429]


# -- organizations -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("open_to_all")
def test_another_organization_is_mine_and_my_first_tenant_stays_the_usual_one(
    owner: Caller, acme: OpenedTenant
) -> None:
    made = owner("POST", "/organizations", {"name": "Initech", "domain": "Initech.example"})

    assert made.status_code == 201
    body = made.json()
    assert (body["role"], body["name"], body["domain"]) == ("owner", "Initech", "initech.example")
    listed = owner("GET", "/organizations").json()
    assert [one["organization_id"] for one in listed] == [acme.tenant.organization_id, body["organization_id"]]
    assert owner("GET", "/auth/me").json()["org"]["tenant"] == "acme"
    tenant = Tenant.objects.get(organization_id=body["organization_id"])
    assert owner.with_headers(X_Tenant_ID=tenant.name)("GET", "/org/projects").json()[0]["tenant_id"] == tenant.name


@pytest.mark.usefixtures("open_to_all")
def test_domain_that_is_none_is_refused(owner: Caller) -> None:
    assert owner("POST", "/organizations", {"name": "Initech", "domain": "not a domain"}).status_code == 422


# -- projects ----------------------------------------------------------------------------------------------------------


def test_project_is_made_renamed_archived_and_brought_back(owner: Caller, acme: OpenedTenant, alice: Caller) -> None:
    made = owner("POST", "/org/projects", {"name": "Support"})
    project = made.json()
    there = alice.with_headers(X_Project_ID=project["id"])
    memory = there.add("The spare key lies under the blue flower pot.")

    assert made.status_code == 201
    assert re.fullmatch(r"proj_[0-9a-f]{16}", project["id"])
    assert project | {"id": "", "created_at": "", "updated_at": ""} == {
        "id": "", "name": "Support", "tenant_id": "acme", "is_default": False, "memory_count": 0,
        "archived_at": None, "created_at": "", "updated_at": "",
    }  # fmt: skip
    renamed = owner("PATCH", f"/org/projects/{project['id']}", {"name": "Help"}).json()
    assert (renamed["name"], renamed["memory_count"]) == ("Help", 1)
    assert renamed["updated_at"] > project["updated_at"]

    assert owner("POST", f"/org/projects/{project['id']}/archive").json()["archived_at"]
    assert there("GET", f"/memory/{memory['id']}").status_code == 200
    assert refused(there("POST", "/memory/add", {"text": "Something else."})) == (409, "PROJECT_ARCHIVED")
    twice = owner("POST", f"/org/projects/{project['id']}/archive")
    assert (twice.status_code, bool(twice.json()["archived_at"])) == (200, True)

    assert owner("POST", f"/org/projects/{project['id']}/unarchive").json()["archived_at"] is None
    there.add("The attic light switch is behind the door.")
    assert owner("POST", f"/org/projects/{project['id']}/unarchive").json()["archived_at"] is None
    assert [len(trail(f"project.{done}", acme.tenant)) for done in ("archive", "unarchive")] == [1, 1]
    actor = f"account:{Membership.objects.get().user_id}"
    for action in ("create", "rename", "archive", "unarchive"):
        assert trail(f"project.{action}", acme.tenant)[-1][0] == actor


def test_default_project_is_not_archived(owner: Caller, acme: OpenedTenant) -> None:
    assert owner("POST", f"/org/projects/{acme.project.public_id}/archive").status_code == 409


def test_empty_project_is_deleted_and_its_keys_with_it(owner: Caller, acme: OpenedTenant) -> None:
    project = owner("POST", "/org/projects", {"name": "Support"}).json()["id"]
    pinned = owner("POST", "/org/api-keys", {"name": "pinned", "project_id": project}).json()
    gone = owner("POST", "/org/api-keys", {"name": "gone", "project_id": project}).json()
    owner("DELETE", f"/org/api-keys/{gone['id']}")

    assert owner("DELETE", f"/org/projects/{project}").status_code == 204

    assert refused(owner("DELETE", f"/org/projects/{project}")) == (404, "PROJECT_NOT_FOUND")
    assert refused(Caller(pinned["key"])("GET", "/v1/types")) == (403, "API_KEY_REVOKED")
    assert [one["id"] for one in owner("GET", "/org/api-keys").json()[:2]] == [gone["id"], pinned["id"]]
    actor = f"account:{Membership.objects.get().user_id}"
    assert [(one[0], one[2]) for one in trail("project.delete", acme.tenant)] == [(actor, project)]
    reasons = [reason for _, _, reason in trail("api_key.revoke", acme.tenant)]
    assert reasons == ["", "its project was deleted"]


def test_default_project_is_not_deleted(owner: Caller, acme: OpenedTenant) -> None:
    assert owner("DELETE", f"/org/projects/{acme.project.public_id}").status_code == 409


def remembered(acme: OpenedTenant, there: Caller) -> None:
    there.add("The spare key lies under the blue flower pot.")


def to_review(acme: OpenedTenant, there: Caller) -> None:
    set_review(acme.scope, there.headers["X-Project-ID"], "all", now=datetime.now(UTC))
    body = {"tenant_id": "acme", "user_id": "alice", "text": "I live in Lisbon."}
    assert there("POST", "/v1/memory/add_turn", body).json()["candidate_ids"]


def to_import(acme: OpenedTenant, there: Caller) -> None:
    content, content_type = form(b'{"text": "The attic light switch is behind the door."}', "memories.jsonl")
    assert there("POST", "/imports", content, Content_Type=content_type).status_code == 202


def to_forget(acme: OpenedTenant, there: Caller) -> None:
    asked = there("POST", "/memory/forget-requests", {"filters": {"before": "2020-01-01"}})
    assert asked.status_code == 201, asked.content


def held(acme: OpenedTenant, there: Caller) -> None:
    project = get_project(acme.scope, there.headers["X-Project-ID"])
    hold(acme.scope, Level.PROJECT, project.pk, case="case-1", now=datetime.now(UTC))


@pytest.mark.parametrize(
    ("fill", "kind"),
    [
        (remembered, "memories"),
        (to_review, "candidates"),
        (to_import, "imports"),
        (to_forget, "forget_requests"),
        (held, "legal_holds"),
    ],
)
def test_project_in_which_something_is_left_is_not_deleted(
    fill: Any, kind: str, owner: Caller, acme: OpenedTenant, alice: Caller
) -> None:
    project = owner("POST", "/org/projects", {"name": "Support"}).json()["id"]
    fill(acme, alice.with_headers(X_Project_ID=project))
    owner("POST", f"/org/projects/{project}/archive")

    answer = owner("DELETE", f"/org/projects/{project}")

    assert refused(answer) == (409, "PROJECT_NOT_EMPTY")
    assert answer.json()["error"]["details"] == [{"kind": kind, "count": 1}]
    assert owner("POST", f"/org/projects/{project}/unarchive").status_code == 200


def test_key_lists_projects_and_counts_its_environment(acme: OpenedTenant, alice: Caller) -> None:
    alice.add("The spare key lies under the blue flower pot.")
    make_project(acme.scope, "Zebra")
    staging = Caller(acme.keys[Environment.STAGING])

    mine, theirs = alice("GET", "/org/projects").json(), staging("GET", "/org/projects").json()

    assert [(one["name"], one["memory_count"], one["tenant_id"]) for one in mine] == [
        ("Default", 1, "acme"),
        ("Zebra", 0, "acme"),
    ]
    assert [one["memory_count"] for one in theirs] == [0, 0]


def test_foreign_and_absent_projects_look_alike(stranger: Caller, acme: OpenedTenant) -> None:
    project = make_project(acme.scope, "Support")
    for method, path in (
        ("PATCH", "/org/projects/{}"),
        ("DELETE", "/org/projects/{}"),
        ("POST", "/org/projects/{}/archive"),
        ("POST", "/org/projects/{}/unarchive"),
    ):
        body = {"name": "Mine"} if method == "PATCH" else None
        foreign, absent = (stranger(method, path.format(one), body) for one in (project, "proj_0000000000000000"))
        assert refused(foreign) == refused(absent) == (404, "PROJECT_NOT_FOUND")
        assert same(foreign) == same(absent)
    assert project not in stranger("GET", "/org/projects").content.decode()


# -- keys --------------------------------------------------------------------------------------------------------------


def test_key_is_made_works_and_its_text_is_shown_once(owner: Caller, acme: OpenedTenant) -> None:
    asked = {"name": "assistant", "environment": "staging", "project_id": acme.project.public_id}
    made = owner("POST", "/org/api-keys", asked)
    body = made.json()

    assert made.status_code == 201
    assert body["key"].startswith(f"{body['prefix']}_")
    assert body["prefix"].startswith("ms_test_")
    assert (body["scopes"], body["project_id"]) == (list(DEFAULT), acme.project.public_id)
    Caller(body["key"]).add("The spare key lies under the blue flower pot.")
    listed = owner("GET", "/org/api-keys")
    assert body["key"] not in listed.content.decode()
    assert listed.json()[0]["id"] == body["id"]
    with tenant_transaction(acme.scope):
        assert body["key"] not in str([vars(row) for row in AuditEvent.objects.all()])
    assert trail("api_key.issue", acme.tenant)[-1][:2] == (
        f"account:{Membership.objects.get().user_id}",
        f"api_key:{body['id']}",
    )


def test_rotated_key_works_for_a_while_and_a_leaked_one_no_longer(owner: Caller, acme: OpenedTenant) -> None:
    old, leaked = make_api_key(acme.scope), make_api_key(acme.scope)

    new = owner("POST", f"/org/api-keys/{old.key.pk}/rotate", {}).json()
    other = owner("POST", f"/org/api-keys/{leaked.key.pk}/rotate", {"grace_seconds": 0}).json()

    for text, status in ((old.text, 200), (new["key"], 200), (leaked.text, 403), (other["key"], 200)):
        assert Caller(text)("GET", "/v1/types").status_code == status


def test_revoked_key_is_refused_at_once(owner: Caller, acme: OpenedTenant) -> None:
    issued = make_api_key(acme.scope)

    assert owner("DELETE", f"/org/api-keys/{issued.key.pk}").status_code == 204

    assert refused(Caller(issued.text)("GET", "/v1/types")) == (403, "API_KEY_REVOKED")
    assert refused(owner("DELETE", f"/org/api-keys/{issued.key.pk}")) == (409, "API_KEY_ALREADY_REVOKED")


def test_key_is_tested(owner: Caller, acme: OpenedTenant) -> None:
    now = datetime.now(UTC)
    good = make_api_key(acme.scope, scopes=["memory:read"])
    expired = make_api_key(acme.scope, expires_in=timedelta(hours=1), now=now - timedelta(days=1))
    revoked = make_api_key(acme.scope)
    services.revoke(acme.scope, revoked.key.pk, now=now)

    found = [owner("POST", f"/org/api-keys/{one.key.pk}/test").json() for one in (good, expired, revoked)]

    assert [(one["valid"], one["status"], one["expired"]) for one in found] == [
        (True, "active", False),
        (False, "expired", True),
        (False, "revoked", False),
    ]
    assert found[0]["scopes"] == ["memory:read"]
    assert found[0]["rate_limit_tier"] == "unlimited"


def test_many_keys_are_revoked_and_foreign_ones_are_not_found(
    owner: Caller, acme: OpenedTenant, globex: OpenedTenant
) -> None:
    good, gone, foreign = make_api_key(acme.scope), make_api_key(acme.scope), make_api_key(globex.scope)
    services.revoke(acme.scope, gone.key.pk, now=datetime.now(UTC))
    ids = [good.key.pk, gone.key.pk, foreign.key.pk, 2**53 - 1]

    body = owner("POST", "/org/api-keys/bulk-revoke", {"key_ids": ids}).json()

    assert (body["revoked"], body["already_revoked"], body["not_found"]) == (1, 1, 2)
    assert [one["status"] for one in body["results"]] == ["revoked", "already_revoked", "not_found", "not_found"]
    assert Caller(foreign.text)("GET", "/v1/types").status_code == 200
    assert Caller(good.text)("GET", "/v1/types").status_code == 403


def test_foreign_and_absent_keys_look_alike(stranger: Caller, acme: OpenedTenant) -> None:
    issued = make_api_key(acme.scope)
    for method, path in (
        ("DELETE", "/org/api-keys/{}"),
        ("POST", "/org/api-keys/{}/rotate"),
        ("POST", "/org/api-keys/{}/test"),
    ):
        body = {} if path.endswith("rotate") else None
        foreign, absent = (stranger(method, path.format(one), body) for one in (issued.key.pk, 2**53 - 1))
        assert refused(foreign) == refused(absent) == (404, "API_KEY_NOT_FOUND")
        assert same(foreign) == same(absent)
    project = acme.project.public_id
    assert refused(stranger("POST", "/org/api-keys", {"name": "x", "project_id": project}))[0] == 404
    assert Caller(issued.text)("GET", "/v1/types").status_code == 200


def test_developer_makes_no_key_that_may_more_than_the_default_set_and_they(acme: OpenedTenant) -> None:
    caller = make_fresh_caller(acme.tenant, Role.DEVELOPER)
    powerful = make_api_key(acme.scope, scopes=["retention:write"])

    for scopes in (
        ["*"],
        ["memory:*", "privacy:request"],
        ["retention:write"],
        ["memory:delete"],
        ["memory:read", "*"],
    ):
        answer = caller("POST", "/org/api-keys", {"name": "x", "scopes": scopes})
        assert refused(answer) == (403, "SCOPES_BEYOND_ROLE"), scopes
    assert refused(caller("POST", f"/org/api-keys/{powerful.key.pk}/rotate", {})) == (403, "SCOPES_BEYOND_ROLE")
    for scopes in (["memory:*"], list(DEFAULT), ["audit:read"]):
        assert caller("POST", "/org/api-keys", {"name": "x", "scopes": scopes}).status_code == 201


@pytest.mark.parametrize(
    "body",
    [{}, {"name": " "}, {"name": "x", "environment": "prod"}, {"name": "x", "scopes": ["no:such"]},
     {"name": "x", "expires_at": "2020-01-01"}, {"name": "x", "expires_at": "2099-01-01"}],
)  # fmt: skip
def test_key_that_cannot_be_is_refused(owner: Caller, body: dict[str, Any]) -> None:
    assert owner("POST", "/org/api-keys", body).status_code == 422


def test_no_key_carries_a_scope_of_people() -> None:
    assert not {"api_keys:write", "team:write", "projects:write", "api_keys:any_scope"} & set(PERMISSIONS)


# -- people ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def dev(acme: OpenedTenant) -> Person:
    return make_person(acme.tenant, Role.DEVELOPER)


def test_members_are_listed_with_what_they_are(owner: Caller, dev: Person, stranger: Caller) -> None:
    body = owner("GET", "/org/team/members").json()

    assert body["total"] == 2
    assert [(one["email"], one["role"], one["status"], one["mfa_enabled"]) for one in body["members"]] == [
        ("developer@acme.example", "developer", "active", True),
        ("owner@acme.example", "owner", "active", True),
    ]
    assert dev.user.email not in stranger("GET", "/org/team/members").content.decode()


def test_role_is_changed_and_holds_from_the_next_request_on(owner: Caller, dev: Person, acme: OpenedTenant) -> None:
    caller = caller_of(dev)
    assert caller("GET", "/org/api-keys").status_code == 200

    changed = owner("PATCH", f"/org/team/members/{dev.user.pk}", {"role": "billing"})

    assert changed.json()["role"] == "billing"
    assert refused(caller("GET", "/org/api-keys")) == (403, "ROLE_TOO_LOW")
    assert trail("member.role", acme.tenant)[-1][1:] == (f"account:{dev.user.pk}", "role=billing")


def test_suspended_person_is_cut_off_at_once_here_and_in_the_browser(
    owner: Caller, dev: Person, acme: OpenedTenant
) -> None:
    caller, browser = caller_of(dev), dev.show_factor(ago=1)
    assert browser.get("/app/t/acme").status_code == 200

    assert owner("PATCH", f"/org/team/members/{dev.user.pk}", {"status": "suspended"}).json()["status"] == "suspended"
    assert refused(caller("GET", "/org/api-keys")) == (400, "TENANT_CONTEXT_REQUIRED")
    assert browser.get("/app/t/acme").status_code == 404
    assert caller("GET", "/organizations").json() == []

    assert owner("PATCH", f"/org/team/members/{dev.user.pk}", {"status": "active"}).status_code == 200
    assert caller("GET", "/org/api-keys").status_code == 200
    assert [one[1] for one in (*trail("member.suspend", acme.tenant), *trail("member.resume", acme.tenant))] == [
        f"account:{dev.user.pk}"
    ] * 2


def test_removed_member_loses_the_tenant_at_once(owner: Caller, dev: Person) -> None:
    caller = caller_of(dev)

    assert owner("DELETE", f"/org/team/members/{dev.user.pk}").status_code == 204

    assert refused(caller("GET", "/org/api-keys")) == (400, "TENANT_CONTEXT_REQUIRED")
    assert User.objects.filter(pk=dev.user.pk).exists()
    assert refused(owner("DELETE", f"/org/team/members/{dev.user.pk}")) == (404, "NOT_A_MEMBER")


def test_organization_keeps_an_owner_who_is_not_suspended(owner: Caller, acme: OpenedTenant) -> None:
    mine = Membership.objects.get().user_id
    for body in ({"role": "admin"}, {"status": "suspended"}):
        assert refused(owner("PATCH", f"/org/team/members/{mine}", body)) == (409, "LAST_OWNER")
    assert refused(owner("DELETE", f"/org/team/members/{mine}")) == (409, "LAST_OWNER")

    other = make_person(acme.tenant, email="second@acme.example")
    Membership.objects.filter(user=other.user).update(suspended_at=datetime.now(UTC))
    assert refused(owner("DELETE", f"/org/team/members/{mine}")) == (409, "LAST_OWNER")


def test_admin_makes_changes_and_removes_no_owner(owner: Caller, acme: OpenedTenant, dev: Person) -> None:
    admin = make_fresh_caller(acme.tenant, Role.ADMIN)
    boss = Membership.objects.get(role="owner").user_id
    me = Membership.objects.get(role="admin").user_id

    for person, body in ((boss, {"role": "admin"}), (boss, {"status": "suspended"}), (me, {"role": "owner"}),
                         (dev.user.pk, {"role": "owner"})):  # fmt: skip
        assert refused(admin("PATCH", f"/org/team/members/{person}", body)) == (403, "ROLE_TOO_LOW")
    assert refused(admin("DELETE", f"/org/team/members/{boss}")) == (403, "ROLE_TOO_LOW")
    assert admin("PATCH", f"/org/team/members/{dev.user.pk}", {"role": "analyst"}).status_code == 200
    assert Membership.objects.get(user_id=boss).role == "owner"


def test_foreign_and_absent_members_look_alike(stranger: Caller, dev: Person) -> None:
    for method, body in (("PATCH", {"role": "billing"}), ("DELETE", None)):
        foreign, absent = (stranger(method, f"/org/team/members/{one}", body) for one in (dev.user.pk, 2**53 - 1))
        assert refused(foreign) == refused(absent) == (404, "NOT_A_MEMBER")
        assert same(foreign) == same(absent)
    assert Membership.objects.get(user=dev.user).role == "developer"


@pytest.mark.parametrize("body", [{}, {"role": "king"}, {"status": "gone"}])
def test_change_of_nothing_or_to_nothing_is_refused(owner: Caller, dev: Person, body: dict[str, Any]) -> None:
    assert owner("PATCH", f"/org/team/members/{dev.user.pk}", body).status_code == 422


# -- the tenant itself -------------------------------------------------------------------------------------------------


def test_settings_usage_plan_and_catalog(owner: Caller, acme: OpenedTenant) -> None:
    found = owner("GET", "/org/tenant-settings").json()

    assert found["tenant_id"] == "acme"
    assert found["organization"] == {"id": acme.tenant.organization_id, "name": "acme", "domain": ""}
    assert found["policies"]["key_deletes"] == "deny"
    assert owner("GET", "/org/usage").json()["mode"] == "off"
    assert owner("GET", "/org/billing/current-plan").json()["plan"]["id"] == "self_hosted"
    assert owner("GET", "/api/v1/integrations/catalog").json() == []


@pytest.mark.django_db(databases="__all__", transaction=True)  # the trail is chained when a transaction commits
def test_audit_logs_are_the_tenants_own_and_come_in_pages(owner: Caller, stranger: Caller, acme: OpenedTenant) -> None:
    owner("POST", "/org/projects", {"name": "Support"})
    stranger("POST", "/org/projects", {"name": "Theirs"})

    first = owner("GET", "/org/audit-logs?limit=2").json()
    rest = owner("GET", f"/org/audit-logs?limit=200&cursor={first['next_cursor']}").json()
    made = owner("GET", "/org/audit-logs?action=project.&success=true").json()["logs"]

    assert first["logs"][0]["action"] == "project.create"
    assert first["logs"][0]["actor"] == {"type": "account", "id": str(Membership.objects.get(role="owner",
        organization=acme.tenant.organization).user_id)}  # fmt: skip
    assert rest["next_cursor"] is None
    assert {one["event_id"] for one in first["logs"]}.isdisjoint({one["event_id"] for one in rest["logs"]})
    assert len(made) == 2  # the default one, and this
    assert owner("GET", "/org/audit-logs?success=false").json()["logs"] == []
    assert owner("GET", "/org/audit-logs?nonsense=1").status_code == 422


def test_header_of_a_project_is_passed_over_where_none_is_meant(owner: Caller, acme: OpenedTenant) -> None:
    named = owner.with_headers(X_Project_ID="project_abc123")

    for path in ("/org/projects", "/organizations", "/auth/sessions", "/org/billing/current-plan", "/org/api-keys"):
        assert named("GET", path).status_code == 200


def test_member_of_two_organizations_acts_in_the_one_that_is_named(acme: OpenedTenant, globex: OpenedTenant) -> None:
    ann = make_person(acme.tenant)
    give_role(globex.tenant, ann.user.pk, Role.ANALYST, actor="test", now=datetime.now(UTC))
    there = caller_of(ann).with_headers(X_Tenant_ID="globex")

    assert {one["tenant_id"] for one in there("GET", "/org/projects").json()} == {"globex"}
    assert refused(there("POST", "/org/projects", {"name": "Mine"})) == (403, "ROLE_TOO_LOW")
    assert make_caller(globex.tenant)("GET", "/org/tenant-settings").json()["tenant_id"] == "globex"
