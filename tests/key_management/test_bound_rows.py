"""An attacker writes to the database, as its superuser, to gain access: one statement each, and none succeeds."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from apps.apikeys import services
from apps.apikeys.models import ApiKey
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.selectors import KeyRevoked, KeyRowChanged, authenticate, list_keys
from apps.core.bound import is_row_mac
from apps.core.scoping import tenant_transaction
from apps.crypto import key_cache, keyring, row_keys
from apps.crypto.models import KeyState, ServiceKey, ServiceName
from apps.key_management import binding
from apps.key_management.binding import bind_first
from apps.memories.spaces import find_end_user
from apps.projects.scope import Environment, Scope
from apps.projects.services import create_project
from apps.tenants import members
from apps.tenants.models import Membership, Role
from apps.tenants.selectors import TenantNotFound
from memsync.ops.doctor.findings import State, Visit
from memsync.ops.doctor.keys_and_models import check_rows_that_grant
from tests.key_management.bound import attacker, keys, names, told, told_of_nothing, two
from tests.makers import make_api_key
from tests.web.people import Person, make_person

__all__ = ["attacker", "told_of_nothing", "two"]  # the fixtures
pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")


@pytest.fixture
def owner(acme: OpenedTenant) -> Person:
    return make_person(acme.tenant, Role.OWNER)


@pytest.fixture
def stranger(globex: OpenedTenant) -> Person:
    return make_person(globex.tenant, Role.ANALYST)


# -- keys ------------------------------------------------------------------------------------------------------------

CHANGES_OF_A_KEY = {
    "another tenant": "tenant_id = (select id from tenants_tenant where name = 'globex')",
    "another environment": "environment = 'production'",
    "one more environment": "other_environments = '{development,production}'",
    "other ones": "other_environments = '{production}'",
    "no other ones": "other_environments = '{}'",
    "more scopes": "scopes = '{memory:read,memory:delete,api_keys:write}'",
    "fewer scopes": "scopes = '{memory:read}'",
    "the same scopes as one": "scopes = '{\"memory:read,memory:add\"}'",
    "no project": "project_id = null",
    "a longer life": "expires_at = expires_at + interval '1 microsecond'",
    "no end": "expires_at = null",
    "another digest": "digest = decode(repeat('00', 32), 'hex')",
    "another number": "id = id + 1000000",
    "another hash": "row_mac = decode(repeat('00', 36), 'hex')",
    "a hash under no key": "row_mac = decode('7fffffff' || repeat('00', 32), 'hex')",
    "a hash under less than a key": "row_mac = decode('ffffffff' || repeat('00', 32), 'hex')",
    "no hash": "row_mac = null",
    "a short hash": "row_mac = decode('00000001', 'hex')",
}


@pytest.mark.parametrize("change", CHANGES_OF_A_KEY.values(), ids=CHANGES_OF_A_KEY)
def test_key_whose_row_was_changed_is_an_unknown_one(
    change: str, acme: OpenedTenant, globex: OpenedTenant, attacker: Any, now: datetime
) -> None:
    issued = make_api_key(
        acme.scope,
        environment=Environment.STAGING,
        other_environments=[Environment.DEVELOPMENT],
        scopes=("memory:read", "memory:add"),
        project_id=create_project(acme.scope, "of the key", now=now).pk,
        now=now,
    )
    authenticate(issued.text, now=now)

    attacker.execute("set session_replication_role = replica")  # no foreign key prevents it
    attacker.execute(f"update apikeys_apikey set {change} where id = %s", [issued.key.pk])  # noqa: S608
    assert attacker.rowcount == 1

    if "digest" in change:
        with pytest.raises(Exception, match=r"^Invalid API key$"):
            authenticate(issued.text, now=now)
    else:
        with pytest.raises(KeyRowChanged, match=r"^Invalid API key$"):
            authenticate(issued.text, now=now)
    assert len(names()) == 1


def test_key_of_one_environment_is_given_no_other(acme: OpenedTenant, attacker: Any, now: datetime) -> None:
    issued = make_api_key(acme.scope, environment=Environment.STAGING, now=now)

    attacker.execute("update apikeys_apikey set other_environments = '{production}' where id = %s", [issued.key.pk])

    with pytest.raises(KeyRowChanged):
        authenticate(issued.text, now=now)
    (shown,) = binding.list_unbound()
    assert shown.says["other_environments"] == "['production']"


def test_hash_of_a_key_of_one_environment_is_that_of_before_there_were_several(
    acme: OpenedTenant, now: datetime
) -> None:
    key = make_api_key(acme.scope, now=now).key

    assert is_row_mac(key.row_mac, "api_key", [getattr(key, name) for name in ApiKey.bound_fields])


def test_revoked_key_is_not_brought_back(acme: OpenedTenant, attacker: Any, now: datetime) -> None:
    issued = make_api_key(acme.scope, now=now)
    services.revoke(acme.scope, issued.key.pk, now=now)
    with pytest.raises(KeyRevoked):
        authenticate(issued.text, now=now)

    attacker.execute("update apikeys_apikey set revoked_at = null where id = %s", [issued.key.pk])

    with pytest.raises(KeyRowChanged):
        authenticate(issued.text, now=now)


def test_key_that_was_rotated_away_does_not_live_longer(acme: OpenedTenant, attacker: Any, now: datetime) -> None:
    issued = make_api_key(acme.scope, now=now)
    services.rotate(acme.scope, issued.key.pk, grace=timedelta(hours=1), now=now)
    authenticate(issued.text, now=now)

    attacker.execute("update apikeys_apikey set expires_at = %s where id = %s", [issued.key.expires_at, issued.key.pk])

    with pytest.raises(KeyRowChanged):
        authenticate(issued.text, now=now + timedelta(hours=2))


def test_row_of_one_key_under_the_name_of_another_opens_nothing(
    acme: OpenedTenant, globex: OpenedTenant, attacker: Any, now: datetime
) -> None:
    mine, theirs = make_api_key(globex.scope, now=now), make_api_key(acme.scope, now=now)

    attacker.execute(
        "update apikeys_apikey k set tenant_id = t.tenant_id, row_mac = t.row_mac from apikeys_apikey t "
        "where k.id = %s and t.id = %s",
        [mine.key.pk, theirs.key.pk],
    )

    with pytest.raises(KeyRowChanged):
        authenticate(mine.text, now=now)


def test_tenants_cannot_be_exchanged_under_their_keys(
    acme: OpenedTenant, globex: OpenedTenant, attacker: Any, now: datetime
) -> None:
    issued = make_api_key(globex.scope, now=now)

    with attacker.connection.transaction():
        attacker.execute("update tenants_tenant set uid = gen_random_uuid() where id = %s", [acme.tenant.pk])
        attacker.execute("update tenants_tenant set uid = %s where id = %s", [acme.tenant.uid, globex.tenant.pk])

    with pytest.raises(KeyRowChanged):
        authenticate(issued.text, now=now)


def test_changed_key_is_told_of_once_a_minute_and_counted(acme: OpenedTenant, attacker: Any, now: datetime) -> None:
    issued = make_api_key(acme.scope, now=now)
    attacker.execute("update apikeys_apikey set scopes = '{*}' where id = %s", [issued.key.pk])

    for seconds in (0, 1, 2):
        with pytest.raises(KeyRowChanged):
            authenticate(issued.text, now=now + timedelta(seconds=seconds))

    assert told(acme.scope) == [(f"api_key:{issued.key.pk}", "row_mac")]
    (finding,) = check_rows_that_grant(Visit(now, 0))
    assert (finding.state, finding.said[-11:]) == (State.FAIL, ": 1 api_key")


def test_changed_key_is_neither_rotated_nor_made_good_by_revoking_it(
    acme: OpenedTenant, attacker: Any, now: datetime
) -> None:
    issued = make_api_key(acme.scope, now=now)
    attacker.execute("update apikeys_apikey set scopes = '{*}' where id = %s", [issued.key.pk])

    with pytest.raises(services.ApiKeyNotFound):
        services.rotate(acme.scope, issued.key.pk, now=now)
    services.revoke(acme.scope, issued.key.pk, now=now)

    assert names() == [f"api_key:{issued.key.pk}"]
    assert list_keys(acme.scope)[0].revoked_at == now


def test_project_that_goes_leaves_its_keys_as_they_should_be(acme: OpenedTenant, now: datetime) -> None:
    project = create_project(acme.scope, "of the key", now=now)
    issued = make_api_key(acme.scope, project_id=project.pk, now=now)

    with tenant_transaction(acme.scope):
        services.revoke_pinned(acme.scope, project.pk, now=now)

    with pytest.raises(KeyRevoked):
        authenticate(issued.text, now=now)
    assert names() == []


def test_what_a_row_grants_costs_no_statement(acme: OpenedTenant, now: datetime) -> None:
    text = make_api_key(acme.scope, now=now).text
    authenticate(text, now=now)

    with CaptureQueriesContext(connection) as asked:
        authenticate(text, now=now)

    assert sum(query["sql"].lower().startswith("select") for query in asked) == 2


# -- roles -----------------------------------------------------------------------------------------------------------


def reaches(person: Person) -> list[tuple[str, str]]:
    return [(one.tenant.name, one.role.value) for one in members.reach_of(person.user.pk)]


def test_role_that_was_inserted_is_none(acme: OpenedTenant, stranger: Person, attacker: Any) -> None:
    attacker.execute(
        "insert into tenants_membership (organization_id, user_id, role, created_at, row_mac) "
        "select %s, user_id, 'owner', created_at, row_mac from tenants_membership where user_id = %s",
        [acme.tenant.organization_id, stranger.user.pk],
    )
    assert attacker.rowcount == 1

    assert reaches(stranger) == [("globex", "analyst")]
    with pytest.raises(TenantNotFound):
        members.choose_reach(stranger.user.pk, "acme")
    assert not members.has_owner(acme.tenant.pk)
    assert members.list_members(acme.tenant) == []


@pytest.mark.parametrize(
    "change",
    ["role = 'owner'", "organization_id = %(acme)s", "user_id = %(owner)s", "suspended_at = now()", "row_mac = null"],
)
def test_role_that_was_changed_is_none(
    change: str, acme: OpenedTenant, globex: OpenedTenant, owner: Person, stranger: Person, attacker: Any
) -> None:
    values = {"acme": acme.tenant.organization_id, "owner": owner.user.pk, "who": stranger.user.pk}

    attacker.execute(f"update tenants_membership set {change} where user_id = %(who)s", values)  # noqa: S608
    assert attacker.rowcount == 1

    assert reaches(stranger) == []
    assert reaches(owner) == [("acme", "owner")]
    assert len(names()) == 1


def test_suspension_is_not_undone(acme: OpenedTenant, owner: Person, attacker: Any, now: datetime) -> None:
    dev = make_person(acme.tenant, Role.DEVELOPER)
    members.change_member(acme.tenant, dev.user.pk, by=Role.OWNER, is_suspended=True, actor="system:0", now=now)
    assert names() == []

    attacker.execute("update tenants_membership set suspended_at = null where user_id = %s", [dev.user.pk])

    assert reaches(dev) == []


def test_tenant_moved_to_ones_own_organization_is_out_of_reach(
    acme: OpenedTenant, globex: OpenedTenant, owner: Person, stranger: Person, attacker: Any
) -> None:
    attacker.execute(
        "update tenants_tenant set organization_id = %s where id = %s", [globex.tenant.organization_id, acme.tenant.pk]
    )

    assert reaches(stranger) == [("globex", "analyst")]
    with pytest.raises(TenantNotFound):
        members.choose_reach(stranger.user.pk, "acme")
    assert names() == [f"tenant:{acme.tenant.pk}"]


def test_changed_role_is_told_of_once(acme: OpenedTenant, owner: Person, attacker: Any) -> None:
    dev = make_person(acme.tenant, Role.DEVELOPER)
    attacker.execute("update tenants_membership set role = 'owner' where user_id = %s", [dev.user.pk])

    for _ in range(3):
        assert reaches(dev) == []

    row = Membership.objects.get(user=dev.user)
    assert told(None) == [(f"membership:{row.pk}", "row_mac")]


def test_changed_role_is_not_made_good_by_a_change_of_it(
    acme: OpenedTenant, owner: Person, attacker: Any, now: datetime
) -> None:
    dev = make_person(acme.tenant, Role.DEVELOPER)
    attacker.execute("update tenants_membership set role = 'owner' where user_id = %s", [dev.user.pk])

    for suspend in (True, False):
        with pytest.raises(members.NotAMember):
            members.change_member(
                acme.tenant, dev.user.pk, by=Role.OWNER, is_suspended=suspend, actor="system:0", now=now
            )
    assert reaches(dev) == []


def test_role_that_is_given_over_a_changed_one_is_as_it_was_given(
    acme: OpenedTenant, owner: Person, attacker: Any, now: datetime
) -> None:
    dev = make_person(acme.tenant, Role.DEVELOPER)
    attacker.execute("update tenants_membership set role = 'owner' where user_id = %s", [dev.user.pk])

    members.give_role(acme.tenant, dev.user.pk, Role.ANALYST, actor="system:0", now=now)

    assert reaches(dev) == [("acme", "analyst")]
    assert names() == []


def test_changed_role_can_be_taken(
    acme: OpenedTenant, owner: Person, stranger: Person, attacker: Any, now: datetime
) -> None:
    attacker.execute(
        "insert into tenants_membership (organization_id, user_id, role, created_at) values (%s, %s, 'owner', now())",
        [acme.tenant.organization_id, stranger.user.pk],
    )

    # A user without a valid role is no other owner.
    with pytest.raises(members.LastOwner):
        members.take_role(acme.tenant, owner.user.pk, actor="system:0", now=now)
    members.take_role(acme.tenant, stranger.user.pk, actor="system:0", now=now)

    assert names() == []
    assert reaches(owner) == [("acme", "owner")]


def test_keys_of_another_tenant_stay_when_one_is_erased(
    acme: OpenedTenant, globex: OpenedTenant, now: datetime
) -> None:
    with tenant_transaction(acme.scope):
        services.revoke_every_key(acme.scope, now=now)

    with pytest.raises(KeyRevoked):
        authenticate(acme.keys[Environment.PRODUCTION], now=datetime.now(UTC))
    authenticate(globex.keys[Environment.PRODUCTION], now=datetime.now(UTC))
    assert names() == []


# -- the upgrade, and binding again ----------------------------------------------------------------------------------


def unbind_everything(attacker: Any) -> None:
    """As it is after the migrations of the version that began to bind rows."""
    for model in binding.ALL:
        attacker.execute(f"update {model._meta.db_table} set row_mac = null")  # noqa: S608


def forget_the_key(superuser_url: str) -> None:
    """As it is before the upgrade, when none was ever made.  The guard of the table keeps the row of any key."""
    url = f"{superuser_url.rsplit('/', 1)[0]}/{connections['keyring'].settings_dict['NAME']}"
    with psycopg.connect(url, autocommit=True) as one:
        one.execute("set session_replication_role = replica")
        one.execute("delete from crypto_servicekey where name = 'rows'")
    key_cache.forget_all()


def test_rows_of_an_earlier_version_are_bound_once(
    acme: OpenedTenant, owner: Person, attacker: Any, superuser_url: str, now: datetime
) -> None:
    text = acme.keys[Environment.PRODUCTION]
    unbind_everything(attacker)
    forget_the_key(superuser_url)

    bound = bind_first(now=now)

    assert bound >= 5  # a tenant, a role, three keys
    assert names() == []
    assert reaches(owner) == [("acme", "owner")]
    authenticate(text, now=datetime.now(UTC))
    assert told(None, "integrity.bind") == [("", "upgrade")]

    # And never again: a row whose hash was removed stays invalid.
    unbind_everything(attacker)
    assert bind_first(now=now) == 0
    assert reaches(owner) == []


def test_upgrade_that_was_broken_off_goes_on(
    acme: OpenedTenant, attacker: Any, superuser_url: str, now: datetime
) -> None:
    unbind_everything(attacker)
    forget_the_key(superuser_url)
    row_keys.make_key(1)  # and then it died

    assert bind_first(now=now) >= 4
    assert names() == []
    states = ServiceKey.objects.filter(name=ServiceName.ROWS).order_by("version").values_list("version", "state")
    assert list(states) == [(1, KeyState.READ_ONLY), (2, KeyState.ACTIVE)]


def test_later_upgrade_binds_no_row_of_a_kind_that_is_bound_already(
    acme: OpenedTenant, owner: Person, two: tuple[Scope, Scope], attacker: Any, now: datetime
) -> None:
    unbind_everything(attacker)  # where the first key is in use, and the one that came with people is not

    assert bind_first(now=now) == 4

    assert reaches(owner) == []
    assert find_end_user(acme.scope, "cr1") == two[0].space
    assert {name.partition(":")[0] for name in names()} == {"api_key", "membership", "tenant"}


def test_rows_of_an_older_key_stay_good(acme: OpenedTenant, now: datetime) -> None:
    text = make_api_key(acme.scope, now=now).text
    row = ServiceKey(name=ServiceName.ROWS, version=2, state=KeyState.ACTIVE)
    keyring.wrap_into(row, bytes(32))
    ServiceKey.objects.filter(name=ServiceName.ROWS, version=1).update(state=KeyState.READ_ONLY)
    row.save()
    key_cache.forget_all()

    newer = make_api_key(acme.scope, now=now)

    assert bytes(newer.key.row_mac or b"")[:4] == b"\0\0\0\2"
    for one in (text, newer.text):
        authenticate(one, now=now)


def test_rows_are_listed_and_bound_again_by_whoever_runs_the_host(
    acme: OpenedTenant, owner: Person, attacker: Any, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = make_api_key(acme.scope, now=now)
    attacker.execute("update apikeys_apikey set row_mac = null where id = %s", [issued.key.pk])
    attacker.execute("update tenants_membership set row_mac = null")
    key, role = names()

    assert "api_key:" in keys("bind", "--dry-run")
    found = json.loads(keys("bind", "--dry-run", "--json"))
    assert [(one["row"], one["is_new"]) for one in found["failing"]] == [(role, True), (key, True)]
    assert "digest" not in json.dumps(found)
    monkeypatch.setattr("builtins.input", lambda: "no")
    with pytest.raises(CommandError, match="Nothing was bound"):
        keys("bind")
    with pytest.raises(CommandError, match="None of the rows"):
        keys("bind", "api_key:999999", "--yes")
    assert names() == [key, role]

    assert "1 rows were accepted" in keys("bind", key, "--yes")
    authenticate(issued.text, now=now)
    assert names() == [role]
    monkeypatch.setattr("builtins.input", lambda: "bind")
    keys("bind")

    assert reaches(owner) == [("acme", "owner")]
    assert told(acme.scope, "integrity.bind") == [(key, "")]
    assert told(None, "integrity.bind") == [(role, "")]
    assert "All rows are valid" in keys("bind")


def test_doctor_says_so_where_every_row_is_right(acme: OpenedTenant, owner: Person, now: datetime) -> None:
    (finding,) = check_rows_that_grant(Visit(now, 0))

    assert finding.state is State.OK
    assert ApiKey.everyone.filter(row_mac=None).count() == 0
