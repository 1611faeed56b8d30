"""The published control-plane client, sync and async: sessions, organizations, projects, keys, plan and catalog."""

from datetime import UTC, datetime
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from memorysync import AuthError, MemorySyncClient, NotFoundError, RateLimitError, ValidationError
from memorysync.control_plane import ControlPlaneClient

from apps.accounts.models import BearerSession
from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests import once
from tests.makers import make_api_key
from tests.sdk.conftest import SERVER, Make, refused
from tests.web.people import Person, make_person

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

PASSWORD = "correct horse battery"


@pytest.fixture
def make(published: Make) -> Make:
    """A client without a token, or with the one given."""

    def client(access_token: str | None = None, **options: Any) -> Any:
        return published(ControlPlaneClient, SERVER, access_token=access_token, **options)

    return client


@pytest.fixture
def ann(acme: OpenedTenant) -> Person:
    return make_person(acme.tenant, factor=False)


@pytest.fixture
def owner(make: Make, ann: Person) -> Any:
    """An owner of acme, with a project's header on every call, as the client sends it."""
    return make(token_of(make(), ann), project_id="project_abc123")


def token_of(client: Any, person: Person) -> str:
    return str(client.login(person.user.email, person.password)["tokens"]["access_token"])


def with_second_factor(make: Make, acme: OpenedTenant) -> Any:
    """The client has no method for the second step; the session is opened by hand."""
    eve = make_person(acme.tenant, email="eve@acme.example", factor=False)
    client = make(token_of(make(), eve))
    TOTP.activate(eve.user, generate_totp_secret())
    BearerSession.objects.filter(user=eve.user).update(method="totp", proved_at=datetime.now(UTC))
    return client


def test_signing_up_signing_in_and_the_first_project(make: Make, settings: Any) -> None:
    settings.SIGNUP = True
    anybody = make()

    said = anybody.signup("new@initech.example", PASSWORD, "Initech", full_name="New One")
    login = anybody.login("new@initech.example", PASSWORD)

    assert (said["email"], said["requires_verification"]) == ("new@initech.example", False)
    assert said["message"]
    assert login["session"]["role"] == "owner"
    assert isinstance(login["session"]["user_id"], int)
    assert (login["mfa_required"], login["mfa_setup_required"]) == (False, False)
    (project,) = make(login["tokens"]["access_token"]).list_projects()
    assert (project["is_default"], project["memory_count"]) == (True, 0)


def test_signing_up_is_refused_where_it_is_closed_and_for_a_weak_password(make: Make, settings: Any) -> None:
    error = refused(AuthError, lambda: make().signup("new@initech.example", PASSWORD, "Initech"))
    assert (error.status_code, error.response["error"]["code"]) == (403, "SIGNUP_CLOSED")

    settings.SIGNUP = True
    error = refused(ValidationError, lambda: make().signup("new@initech.example", "password", "Initech"))
    assert error.status_code == 422


def test_wrong_password_and_too_many_of_them(make: Make, ann: Person) -> None:
    anybody = make()
    wrong = refused(AuthError, lambda: anybody.login(ann.user.email, "not the password"))
    unknown = refused(AuthError, lambda: anybody.login("nobody@acme.example", "not the password"))

    assert (wrong.status_code, str(wrong)) == (unknown.status_code, str(unknown))
    for _ in range(9):
        refused(AuthError, lambda: anybody.login(ann.user.email, "not the password"))
    late = refused(RateLimitError, lambda: anybody.login(ann.user.email, ann.password))
    assert late.retry_after_seconds > 0


def test_whoever_has_a_second_factor_is_asked_for_it(make: Make, acme: OpenedTenant) -> None:
    eve = make_person(acme.tenant)

    login = make().login(eve.user.email, eve.password)

    assert login["mfa_required"] is True
    assert "tokens" not in login


def test_tokens_are_renewed_and_a_spent_one_ends_the_session(make: Make, ann: Person) -> None:
    anybody = make()
    first = anybody.login(ann.user.email, ann.password)["tokens"]

    second = anybody.refresh(first["refresh_token"])

    assert second["token_type"] == "bearer"
    refused(AuthError, lambda: make(first["access_token"]).me())
    assert make(second["access_token"]).me()["role"] == "owner"
    refused(AuthError, lambda: anybody.refresh(first["refresh_token"]))
    refused(AuthError, lambda: make(second["access_token"]).me())


def test_me_says_who_and_where(owner: Any, ann: Person) -> None:
    me = owner.me()

    assert me["user_id"] == f"usr_{ann.user.pk}"
    assert me["org"]["name"] == "acme"
    assert isinstance(me["sid"], int)
    assert (me["oauth_scopes"], me["oauth_app_id"]) == ([], None)


def test_sessions_are_listed_revoked_and_ended(make: Make, ann: Person) -> None:
    anybody = make()
    tokens = anybody.login(ann.user.email, ann.password)["tokens"]
    mine, other = make(tokens["access_token"]), make(token_of(anybody, ann))
    listed = mine.list_sessions()

    assert [one["is_current"] for one in listed["sessions"]] == [False, True]
    assert listed["sessions"][1]["id"] == listed["current_session_id"]
    assert listed["sessions"][0]["user_agent"].startswith("memorysync-sdk-py/")
    assert mine.revoke_session(listed["sessions"][0]["id"]) is None
    refused(AuthError, other.me)
    assert refused(NotFoundError, lambda: mine.revoke_session(2**53 - 1)).status_code == 404

    third = make(token_of(anybody, ann))
    assert anybody.logout(tokens["refresh_token"]) is None
    refused(AuthError, mine.me)
    assert third.logout_all() is None
    refused(AuthError, third.me)


def test_organizations(owner: Any, ann: Person, acme: OpenedTenant, settings: Any) -> None:
    settings.SIGNUP = True

    made = owner.create_organization("Initech", domain="initech.example")

    assert (made["user_id"], made["role"]) == (ann.user.pk, "owner")
    listed = owner.list_organizations()
    assert [one["organization_id"] for one in listed] == [acme.tenant.organization_id, made["organization_id"]]


def test_projects_from_making_to_archiving(owner: Any, published: Make, acme: OpenedTenant) -> None:
    project = owner.create_project("Support")

    assert project["tenant_id"] == "acme"
    assert owner.rename_project(project["id"], "Help")["name"] == "Help"
    archived = owner.archive_project(project["id"])["archived_at"]
    assert archived
    assert owner.archive_project(project["id"])["archived_at"] == archived
    program = published(
        MemorySyncClient, acme.keys[Environment.PRODUCTION], SERVER, end_user_id="alice", project_id=project["id"]
    )
    refused(ValidationError, lambda: program.add("The spare key lies under the blue flower pot."))
    assert owner.unarchive_project(project["id"])["archived_at"] is None
    assert [one["name"] for one in owner.list_projects()] == ["Default", "Help"]
    refused(NotFoundError, lambda: owner.rename_project("proj_0000000000000000", "Mine"))
    refused(NotFoundError, lambda: owner.rename_project("a/b c", "Mine"))


def test_empty_project_is_deleted_by_whoever_shows_a_second_factor(make: Make, owner: Any, acme: OpenedTenant) -> None:
    project = owner.create_project("Support")["id"]
    eve = with_second_factor(make, acme)

    assert refused(AuthError, lambda: owner.delete_project(project)).response["error"]["code"] == "STEP_UP_REQUIRED"
    assert eve.delete_project(project) is None
    refused(NotFoundError, lambda: eve.delete_project(project))


def test_keys_are_tested_and_revoked(owner: Any, acme: OpenedTenant, globex: OpenedTenant) -> None:
    good, other, foreign = make_api_key(acme.scope), make_api_key(acme.scope), make_api_key(globex.scope)

    tested = owner.test_api_key(good.key.pk)

    assert (tested["valid"], tested["environment"], tested["expired"]) == (True, "production", False)
    assert tested["rate_limit_tier"] == "unlimited"
    assert tested["server_time"]
    refused(NotFoundError, lambda: owner.test_api_key(foreign.key.pk))
    done = owner.bulk_revoke_api_keys([good.key.pk, other.key.pk, good.key.pk, foreign.key.pk])
    assert (done["revoked"], done["already_revoked"], done["not_found"]) == (2, 0, 1)
    assert owner.test_api_key(good.key.pk)["status"] == "revoked"
    assert owner.bulk_revoke_api_keys([good.key.pk])["already_revoked"] == 1


def test_plan_and_catalog(owner: Any) -> None:
    plan = owner.get_current_plan()

    assert plan["plan"]["id"] == "self_hosted"
    assert plan["payment_failed"] is False
    assert owner.list_integrations() == owner.list_integrations(category="storage") == []
