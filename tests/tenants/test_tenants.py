"""Opening tenants, setting their policy, their projects, and what an empty deployment gets."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.contrib.auth import authenticate as sign_in

from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.selectors import KeyExpired, KeyRevoked, authenticate, list_keys
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.crypto.models import TenantKeyState
from apps.projects import services as projects
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import ProjectNotFound, default_project, find_project, get_project, list_projects
from apps.tenants import services as tenants
from apps.tenants.members import reach_of
from apps.tenants.models import Tenant
from apps.tenants.selectors import OrganizationNotUnique, TenantNotFound, find_organization, get_tenant
from memsync.launcher.first_run import OPERATOR, OWNER, ensure_first_run
from tests.makers import make_project, make_tenant

pytestmark = pytest.mark.django_db(databases="__all__")


def actions(scope: Scope) -> list[str]:
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id).order_by("id")
        return [f"{row.action} {row.reason}".strip() for row in rows]


# -- opening ---------------------------------------------------------------------------------------------------------


def test_tenant_opens_with_encryption_keys_a_default_project_and_one_api_key_per_environment(now: datetime) -> None:
    opened = make_tenant("acme")

    with tenant_transaction(opened.scope):
        state = TenantKeyState.objects.within(opened.scope).get()
    assert (state.active_version, state.live_versions) == (1, [1])
    assert default_project(opened.scope) == opened.project
    assert [authenticate(text, now=now).environment for text in opened.keys.values()] == list(opened.keys)
    assert set(opened.keys) == set(Environment)
    assert actions(opened.scope) == [
        "tenant.open", "project.create", *(f"api_key.issue {environment}" for environment in opened.keys),
    ]  # fmt: skip


def test_secrets_of_an_opened_tenant_do_not_print(acme: OpenedTenant) -> None:
    assert not any(text in repr(acme) for text in acme.keys.values())


def test_name_is_taken_once(acme: OpenedTenant, now: datetime) -> None:
    with pytest.raises(tenants.TenantExists):
        make_tenant("acme")

    assert Tenant.objects.filter(name="acme").count() == 1


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a/b", "-a", ".hidden", "ä", "a" * 65, "a\n"])
def test_name_must_fit_into_a_path(name: str) -> None:
    with pytest.raises(tenants.TenantNameRefused):
        make_tenant(name, organization="somebody")


def test_one_organization_owns_several_tenants(acme: OpenedTenant) -> None:
    second = make_tenant("acme-research", organization="acme")

    assert second.tenant.organization == acme.tenant.organization


def test_organization_is_not_guessed_where_two_have_the_name(acme: OpenedTenant, now: datetime) -> None:
    tenants.open_organization("acme", now=now)

    with pytest.raises(OrganizationNotUnique):
        find_organization("acme")


def test_tenant_that_does_not_exist_is_not_found() -> None:
    with pytest.raises(TenantNotFound):
        get_tenant("initech")


# -- policy and end --------------------------------------------------------------------------------------------------


def test_policy_is_kept_and_leaves_an_audit_row(acme: OpenedTenant, now: datetime) -> None:
    tenants.set_policy(acme.tenant, key_deletes="retire", actor="account:7", now=now)

    assert get_tenant("acme").key_deletes == "retire"
    assert actions(acme.scope)[-1] == "tenant.policy key_deletes=retire"


def test_unknown_policy_is_refused(acme: OpenedTenant, now: datetime) -> None:
    with pytest.raises(tenants.UnknownPolicy):
        tenants.set_policy(acme.tenant, key_deletes="erase", actor="account:7", now=now)

    assert get_tenant("acme").key_deletes == "deny"


def test_tenant_closes_once(acme: OpenedTenant, now: datetime) -> None:
    tenants.close_tenant(acme.tenant, actor="account:7", now=now)

    with pytest.raises(tenants.TenantAlreadyClosed):
        tenants.close_tenant(acme.tenant, actor="account:7", now=now)
    assert actions(acme.scope)[-1] == "tenant.close"


# -- projects --------------------------------------------------------------------------------------------------------


def test_projects_of_another_tenant_are_as_if_they_were_not(acme: OpenedTenant, globex: OpenedTenant) -> None:
    theirs = make_project(globex.scope, "Secret plans")

    refusals = []
    for public_id in (theirs, "proj_0000000000000000"):
        assert find_project(acme.scope, public_id) is None
        with pytest.raises(ProjectNotFound) as refused:
            get_project(acme.scope, public_id)
        refusals.append((refused.value.code, refused.value.message))
    assert refusals[0] == refusals[1]
    assert [project.name for project in list_projects(acme.scope)] == ["Default"]


def test_project_is_archived_and_comes_back(acme: OpenedTenant, now: datetime) -> None:
    public_id = make_project(acme.scope, "Chatbot")

    assert projects.archive(acme.scope, public_id, now=now).archived_at == now
    later = now + timedelta(hours=1)
    assert projects.archive(acme.scope, public_id, now=later).archived_at == now  # it stays as it was
    assert projects.unarchive(acme.scope, public_id, now=now).archived_at is None
    assert projects.unarchive(acme.scope, public_id, now=later).updated_at == now


def test_default_project_stays(acme: OpenedTenant, now: datetime) -> None:
    with pytest.raises(projects.DefaultProjectStays):
        projects.archive(acme.scope, acme.project.public_id, now=now)


@pytest.mark.parametrize("name", ["", "  ", "n" * 201])
def test_project_without_a_proper_name_is_refused(acme: OpenedTenant, now: datetime, name: str) -> None:
    with pytest.raises(projects.ProjectNameRefused):
        projects.create_project(acme.scope, name, now=now)
    with pytest.raises(projects.ProjectNameRefused):
        projects.rename(acme.scope, acme.project.public_id, name, now=now)


def test_changes_of_projects_name_who_made_them(acme: OpenedTenant, now: datetime) -> None:
    scope = replace(acme.scope, principal=Principal(kind="account", id=7))
    project = projects.create_project(scope, "Chatbot", now=now)
    projects.rename(scope, project.public_id, "Assistant", now=now)

    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(actor="account:7").order_by("id")
        assert [(row.action, row.target) for row in rows] == [
            ("project.create", f"project:{project.pk}"),
            ("project.rename", f"project:{project.pk}"),
        ]
    assert get_project(scope, project.public_id).name == "Assistant"


# -- first run -------------------------------------------------------------------------------------------------------


def test_empty_deployment_gets_a_tenant_keys_and_somebody_to_sign_in(now: datetime) -> None:
    said = ensure_first_run(now=now)

    assert said["tenant"] == "default"
    assert said["project"].startswith("proj_")
    assert list(said["keys"]) == ["production", "staging", "development"]
    for environment, text in said["keys"].items():
        who = authenticate(text, now=now)
        assert (who.environment, who.tenant.name) == (environment, "default")
    person = sign_in(username=said["operator"]["email"], password=said["operator"]["password"])
    assert person is not None
    assert person.is_staff
    owner = sign_in(username=said["owner"]["email"], password=said["owner"]["password"])
    assert owner is not None
    assert not owner.is_staff
    assert [(reach.tenant.name, reach.role) for reach in reach_of(owner.pk)] == [("default", "owner")]


def test_second_start_makes_nothing_and_shows_no_secret(now: datetime) -> None:
    first = ensure_first_run(now=now)

    second = ensure_first_run(now=now)

    assert second == first | {
        "keys": dict.fromkeys(first["keys"]),
        "operator": {"email": OPERATOR, "password": None, "enrolment_code": None},
        "owner": {"email": OWNER, "password": None, "enrolment_code": None},
    }
    assert Tenant.objects.count() == 1
    assert authenticate(first["keys"]["production"], now=now).tenant.name == "default"


def test_reissue_makes_new_secrets_and_lets_the_old_keys_end_within_a_day(now: datetime) -> None:
    first = ensure_first_run(now=now)

    again = ensure_first_run(now=now, reissue=True)

    for environment, text in again["keys"].items():
        assert authenticate(text, now=now + timedelta(days=2)).environment == environment
        assert authenticate(first["keys"][environment], now=now + timedelta(hours=23))
        with pytest.raises(KeyExpired):
            authenticate(first["keys"][environment], now=now + timedelta(hours=24))
    assert sign_in(username=OPERATOR, password=first["operator"]["password"]) is None
    assert sign_in(username=OPERATOR, password=again["operator"]["password"]) is not None


def test_reissue_works_when_every_key_has_expired(now: datetime) -> None:
    ensure_first_run(now=now)
    later = now + timedelta(days=200)

    again = ensure_first_run(now=later, reissue=True)

    assert all(authenticate(text, now=later) for text in again["keys"].values())


def test_new_probe_key_replaces_the_old_one(now: datetime) -> None:
    first = ensure_first_run(now=now, probe_key=True)

    second = ensure_first_run(now=now, probe_key=True)

    assert authenticate(second["probe_key"], now=now).permissions == {"memory:read", "memory:add"}
    with pytest.raises(KeyRevoked):
        authenticate(first["probe_key"], now=now)
    assert "probe_key" not in ensure_first_run(now=now)


def test_tenants_that_are_there_already_stay_alone(acme: OpenedTenant, now: datetime) -> None:
    before = len(list_keys(acme.scope))

    said = ensure_first_run(now=now)

    assert said["tenant"] == "acme"
    assert set(said["keys"].values()) == {None}
    assert len(list_keys(acme.scope)) == before
