"""The life of an API key: issued, used, rotated, revoked, expired; and every way in which one is refused."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.apikeys import services, tokens
from apps.apikeys.models import ApiKey
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.permissions import DEFAULT
from apps.apikeys.selectors import (
    EnvironmentBeyondKey,
    KeyExpired,
    KeyRevoked,
    KeyUnknown,
    TenantClosed,
    authenticate,
    get_key,
    list_keys,
    state_of,
)
from apps.audit.models import AuditEvent
from apps.core.scoping import tenant_transaction
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import ProjectNotFound
from apps.tenants.services import close_tenant, set_policy
from tests import once
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


def trail(scope: Scope) -> list[tuple[str, str, str]]:
    with tenant_transaction(scope):
        rows = AuditEvent.objects.filter(tenant_id=scope.tenant_id, action__startswith="api_key.").order_by("id")
        return [(row.action, row.target, row.outcome) for row in rows]


# -- a valid key -----------------------------------------------------------------------------------------------------


def test_key_says_whose_data_in_which_environment_and_what_may_be_done(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(
        acme.scope,
        environment=Environment.STAGING,
        scopes=("memory:read", "memory:add"),
        project_id=acme.project.pk,
        now=now,
    )

    who = authenticate(issued.text, now=now)

    assert who.key_id == issued.key.pk
    assert who.tenant == acme.scope.tenant
    assert who.environment is Environment.STAGING
    assert who.permissions == {"memory:read", "memory:add"}
    assert who.project_id == acme.project.pk
    assert who.key_deletes == "deny"
    assert who.scope.spaces == ()
    assert who.scope.principal.label == f"api_key:{issued.key.pk}"


def test_key_of_several_environments_works_in_the_first_and_in_one_that_is_named(
    acme: OpenedTenant, now: datetime
) -> None:
    issued = make_api_key(
        acme.scope,
        environment=Environment.DEVELOPMENT,
        other_environments=[Environment.STAGING, Environment.DEVELOPMENT, Environment.STAGING],
        now=now,
    )

    who = authenticate(issued.text, now=now)

    assert issued.key.environments == ["development", "staging"]
    assert issued.text.startswith("ms_dev_")
    assert (who.environment, who.also_reads) == (Environment.DEVELOPMENT, (Environment.STAGING,))
    assert who.scope.environments == (Environment.DEVELOPMENT,)
    for name in ("development", "staging"):
        named = who.named(name)
        assert (named.environment, named.also_reads, named.scope.environment) == (name, (), name)
    for name in ("production", "Staging", "", "development,staging"):
        with pytest.raises(EnvironmentBeyondKey):
            who.named(name)
    with pytest.raises(EnvironmentBeyondKey):
        who.named("staging").named("development")


def test_environments_are_kept_by_rotation_and_named_in_the_trail(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(
        acme.scope, environment=Environment.STAGING, other_environments=[Environment.PRODUCTION], now=now
    )

    new = services.rotate(acme.scope, issued.key.pk, now=now)

    assert get_key(acme.scope, new.key.pk).environments == ["staging", "production"]
    assert authenticate(new.text, now=now).also_reads == (Environment.PRODUCTION,)
    with tenant_transaction(acme.scope):
        (row,) = AuditEvent.objects.filter(action="api_key.issue", target=f"api_key:{issued.key.pk}")
    assert row.reason == "staging,production"


def test_wildcard_of_memory_never_implies_delete(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(acme.scope, scopes=("memory:*", "*"), now=now)

    assert "memory:delete" not in authenticate(issued.text, now=now).permissions
    assert "memory:delete" not in DEFAULT


def test_policy_of_the_tenant_comes_with_the_key(acme: OpenedTenant, now: datetime) -> None:
    set_policy(acme.tenant, key_deletes="retire", actor="system:0", now=now)

    assert authenticate(acme.keys[Environment.PRODUCTION], now=now).key_deletes == "retire"


def test_the_secret_is_stored_nowhere(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(acme.scope, now=now)
    secret = issued.text.split("_")[3]

    with tenant_transaction(acme.scope), connection.cursor() as cursor:
        cursor.execute("select k::text from apikeys_apikey k where id = %s", [issued.key.pk])
        (row,) = cursor.fetchone() or ("",)

    assert secret not in row
    assert secret.encode().hex() not in row
    assert secret not in repr(issued)


def test_use_is_noted_at_most_once_a_minute(acme: OpenedTenant, now: datetime) -> None:
    text = make_api_key(acme.scope, now=now).text
    noted = []

    for seconds in (0, 59, 60):
        authenticate(text, now=now + timedelta(seconds=seconds))
        noted.append(list_keys(acme.scope)[0].last_used_at)

    assert noted == [now, now, now + timedelta(seconds=60)]


def test_a_steady_key_costs_one_lookup(acme: OpenedTenant, now: datetime) -> None:
    text = make_api_key(acme.scope, now=now).text
    authenticate(text, now=now)

    with CaptureQueriesContext(connection) as asked:
        authenticate(text, now=now)

    statements = [query["sql"].split()[0].lower() for query in asked if "savepoint" not in query["sql"].lower()]
    assert statements == ["select", "select"]


# -- refusals --------------------------------------------------------------------------------------------------------


def test_text_that_is_no_key_is_refused_without_asking_the_database(now: datetime) -> None:
    text, _ = tokens.mint(Environment.PRODUCTION)

    with CaptureQueriesContext(connection) as asked, pytest.raises(KeyUnknown, match=r"^Invalid API key$"):
        authenticate(text[:-1] + ("x" if text[-1] != "x" else "y"), now=now)

    assert len(asked) == 0


def test_key_that_was_never_issued_is_unknown(now: datetime) -> None:
    text, _ = tokens.mint(Environment.PRODUCTION)

    with pytest.raises(KeyUnknown, match=r"^Invalid API key$"):
        authenticate(text, now=now)


def test_known_kid_with_another_secret_is_unknown(
    acme: OpenedTenant, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = make_api_key(acme.scope, now=now)
    forged = _with_kid(issued.key.kid, monkeypatch)

    with pytest.raises(KeyUnknown):
        authenticate(forged, now=now)

    assert authenticate(issued.text, now=now).key_id == issued.key.pk


def test_unknown_kid_is_compared_all_the_same(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    monkeypatch.setattr(tokens, "is_same", lambda stored, computed: compared.append(stored) or False)
    text, _ = tokens.mint(Environment.STAGING)

    with pytest.raises(KeyUnknown):
        authenticate(text, now=now)

    assert compared == [bytes(32)]


def test_expired_key_is_refused_in_the_words_of_an_unknown_one(acme: OpenedTenant, now: datetime) -> None:
    text = make_api_key(acme.scope, expires_in=timedelta(hours=1), now=now).text

    with pytest.raises(KeyExpired, match=r"^Invalid API key$") as refused:
        authenticate(text, now=now + timedelta(hours=1))

    assert refused.value.code == KeyUnknown.code
    assert authenticate(text, now=now + timedelta(minutes=59)).tenant.name == "acme"


def test_revoked_key_is_refused_at_once(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(acme.scope, now=now)
    authenticate(issued.text, now=now)

    services.revoke(acme.scope, issued.key.pk, now=now)

    with pytest.raises(KeyRevoked, match=r"^API key revoked$"):
        authenticate(issued.text, now=now)


def test_revoked_key_whose_time_is_over_still_says_revoked(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(acme.scope, expires_in=timedelta(hours=1), now=now)
    services.revoke(acme.scope, issued.key.pk, now=now)

    with pytest.raises(KeyRevoked):
        authenticate(issued.text, now=now + timedelta(days=1))


def test_every_key_of_a_closed_tenant_is_refused(acme: OpenedTenant, globex: OpenedTenant, now: datetime) -> None:
    close_tenant(acme.tenant, actor="system:0", now=now)

    for text in acme.keys.values():
        with pytest.raises(TenantClosed):
            authenticate(text, now=now)
    assert authenticate(globex.keys[Environment.PRODUCTION], now=now).tenant.name == "globex"


def test_refusals_are_noted_once_a_minute_for_each_key(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(acme.scope, now=now)
    services.revoke(acme.scope, issued.key.pk, now=now)
    target = f"api_key:{issued.key.pk}"

    for seconds in (0, 1, 2, 130):
        with pytest.raises(KeyRevoked):
            authenticate(issued.text, now=now + timedelta(seconds=seconds))

    assert trail(acme.scope).count(("api_key.refused", target, "denied")) == 2


# -- two walls -------------------------------------------------------------------------------------------------------


def test_a_transaction_that_names_a_kid_sees_that_row_and_no_other(
    acme: OpenedTenant, globex: OpenedTenant, now: datetime
) -> None:
    issued = make_api_key(acme.scope, now=now)

    with connection.cursor() as cursor:
        cursor.execute("select set_config('app.api_key_kid', %s, true)", [issued.key.kid])
        cursor.execute("select id from apikeys_apikey")
        assert cursor.fetchall() == [(issued.key.pk,)]
        cursor.execute("update apikeys_apikey set tenant_id = tenant_id where id = %s", [issued.key.pk + 1])
        assert cursor.rowcount == 0


def test_another_tenants_key_can_be_neither_listed_nor_changed(
    acme: OpenedTenant, globex: OpenedTenant, now: datetime
) -> None:
    issued = make_api_key(acme.scope, now=now)

    assert issued.key.pk not in [key.pk for key in list_keys(globex.scope)]
    for change in (services.revoke, services.rotate):
        with pytest.raises(services.ApiKeyNotFound):
            change(globex.scope, issued.key.pk, now=now)
    assert authenticate(issued.text, now=now).tenant.name == "acme"


def test_key_cannot_be_pinned_to_another_tenants_project(
    acme: OpenedTenant, globex: OpenedTenant, now: datetime
) -> None:
    with pytest.raises(ProjectNotFound):
        make_api_key(globex.scope, project_id=acme.project.pk, now=now)


# -- issuing, rotating, revoking -------------------------------------------------------------------------------------


def test_key_lives_ninety_days_unless_told_otherwise(acme: OpenedTenant, now: datetime) -> None:
    issued = services.issue(acme.scope, name="ci", environment=Environment.STAGING, now=now)

    assert issued.key.expires_at == now + timedelta(days=90)
    assert tuple(issued.key.scopes) == DEFAULT


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": " "}, services.KeyNameRefused),
        ({"name": "n" * 129}, services.KeyNameRefused),
        ({"scopes": ["memory:read", "memory:erase"]}, services.UnknownScopes),
        ({"scopes": []}, services.UnknownScopes),
        ({"expires_at": timedelta(0)}, services.LifetimeRefused),
        ({"expires_at": timedelta(days=365, seconds=1)}, services.LifetimeRefused),
    ],
)
def test_key_that_breaks_a_rule_is_not_issued(
    acme: OpenedTenant, now: datetime, change: dict[str, object], error: type[Exception]
) -> None:
    before = len(list_keys(acme.scope))
    wanted = {"name": "ci", "environment": Environment.STAGING, "scopes": DEFAULT} | change
    if isinstance(change.get("expires_at"), timedelta):
        wanted["expires_at"] = now + change["expires_at"]  # type: ignore[operator]

    with pytest.raises(error):
        services.issue(acme.scope, **wanted, now=now)  # type: ignore[arg-type]

    assert len(list_keys(acme.scope)) == before


def test_refused_scopes_are_named_beside_those_that_exist(acme: OpenedTenant, now: datetime) -> None:
    with pytest.raises(services.UnknownScopes, match=r"Unknown scopes: memory:erase\. There are: memory:read, .*"):
        make_api_key(acme.scope, scopes=("memory:read", "memory:erase"), now=now)


def test_rotated_key_works_beside_the_new_one_until_the_grace_ends(acme: OpenedTenant, now: datetime) -> None:
    old = make_api_key(acme.scope, scopes=("memory:read",), environment=Environment.STAGING, now=now)

    new = services.rotate(acme.scope, old.key.pk, grace=timedelta(hours=24), now=now)

    assert authenticate(old.text, now=now + timedelta(hours=23)).key_id == old.key.pk
    assert authenticate(new.text, now=now + timedelta(hours=25)).permissions == {"memory:read"}
    assert authenticate(new.text, now=now).environment is Environment.STAGING
    with pytest.raises(KeyExpired):
        authenticate(old.text, now=now + timedelta(hours=24))


def test_rotation_without_grace_revokes_the_old_key_at_once(acme: OpenedTenant, now: datetime) -> None:
    old = make_api_key(acme.scope, now=now)

    services.rotate(acme.scope, old.key.pk, grace=timedelta(0), now=now)

    with pytest.raises(KeyRevoked):
        authenticate(old.text, now=now)


def test_grace_never_prolongs_a_key(acme: OpenedTenant, now: datetime) -> None:
    old = make_api_key(acme.scope, expires_in=timedelta(hours=1), now=now)

    services.rotate(acme.scope, old.key.pk, now=now)

    with pytest.raises(KeyExpired):
        authenticate(old.text, now=now + timedelta(hours=1))


@pytest.mark.parametrize("change", [services.revoke, services.rotate])
def test_a_revoked_key_is_neither_revoked_again_nor_rotated(
    acme: OpenedTenant, now: datetime, change: Callable[..., object]
) -> None:
    issued = make_api_key(acme.scope, now=now)
    services.revoke(acme.scope, issued.key.pk, now=now)

    with pytest.raises(services.KeyAlreadyRevoked):
        change(acme.scope, issued.key.pk, now=now)


def test_an_expired_key_is_not_rotated(acme: OpenedTenant, now: datetime) -> None:
    issued = make_api_key(acme.scope, expires_in=timedelta(hours=1), now=now)

    with pytest.raises(services.KeyAlreadyExpired):
        services.rotate(acme.scope, issued.key.pk, now=now + timedelta(hours=2))


def test_each_change_leaves_an_audit_row(acme: OpenedTenant, now: datetime) -> None:
    before = len(trail(acme.scope))
    issued = make_api_key(acme.scope, now=now)
    new = services.rotate(acme.scope, issued.key.pk, now=now)
    services.revoke(acme.scope, new.key.pk, now=now)

    assert trail(acme.scope)[before:] == [
        ("api_key.issue", f"api_key:{issued.key.pk}", "ok"),
        ("api_key.rotate", f"api_key:{issued.key.pk}", "ok"),
        ("api_key.revoke", f"api_key:{new.key.pk}", "ok"),
    ]


def test_a_change_whose_audit_row_fails_does_not_happen(
    acme: OpenedTenant, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = make_api_key(acme.scope, now=now)
    monkeypatch.setattr(services, "record", _fail)

    with pytest.raises(OSError, match="no audit"):
        services.revoke(acme.scope, issued.key.pk, now=now)

    assert authenticate(issued.text, now=now).key_id == issued.key.pk


def test_state_tells_active_expired_and_revoked_apart(acme: OpenedTenant, now: datetime) -> None:
    key = make_api_key(acme.scope, expires_in=timedelta(hours=1), now=now).key

    assert state_of(key, now=now) == "active"
    assert state_of(key, now=now + timedelta(hours=1)) == "expired"
    assert state_of(ApiKey(expires_at=key.expires_at, revoked_at=now), now=now + timedelta(hours=1)) == "revoked"


def _fail(*_: object, **__: object) -> None:
    raise OSError("no audit")


def _with_kid(kid: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A well-formed key with the kid of an existing key and a secret of one's own."""
    real = tokens._base62
    monkeypatch.setattr(tokens, "_base62", lambda number, width: kid if width == 11 else real(number, width))
    text, _ = tokens.mint(Environment.PRODUCTION)
    monkeypatch.undo()
    return text
