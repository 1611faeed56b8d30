"""System checks: each finds the one thing it is for, names the fix, and is silent where all is well."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest
from django.core.checks import run_checks
from django.db import connections
from django.test import override_settings

from apps.adapters.kms.fake import FakeKms
from apps.apikeys.onboarding import OpenedTenant
from apps.crypto import inspection
from apps.crypto.models import TenantKey
from memsync import checks
from memsync.launcher.embedded import roles
from memsync.testing.databases import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")
As = Callable[..., AbstractContextManager[None]]


def found(*, databases: bool = False) -> dict[str | None, Any]:
    messages = run_checks(databases=list(checks.DATABASES) if databases else None)
    ours = [message for message in messages if (message.id or "").startswith(("memsync.E00", "memsync.W00"))]
    assert all(message.hint for message in ours)
    return {message.id: message for message in ours}


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"SECRET_KEY": "short"}, "memsync.E001"),
        ({"SECRET_KEY": "a" * 60}, "memsync.E001"),
        ({"SECRET_KEY": "django-insecure-" + "abcdefghij" * 5}, "memsync.E001"),
        ({"DEBUG": True, "ALLOWED_HOSTS": ["memory.example.com"]}, "memsync.E002"),
        ({"DEBUG": True, "ALLOWED_HOSTS": ["*"]}, "memsync.E002"),
        ({"DEBUG": True, "ALLOWED_HOSTS": ["0.0.0.0"]}, "memsync.E002"),  # noqa: S104
        ({"OAUTH_ISSUER": "http://memory.example.com"}, "memsync.E009"),
        ({"OAUTH_ISSUER": "https://memory.example.com/"}, "memsync.E009"),
        ({"OAUTH_ISSUER": "https://me@memory.example.com"}, "memsync.E009"),
        ({"OAUTH_ISSUER": "memory.example.com"}, "memsync.E009"),
    ],
)
def test_setting_that_would_do_harm_is_found(changed: dict[str, Any], expected: str) -> None:
    with override_settings(**changed):
        assert list(found()) == [expected]


def test_settings_of_the_product_pass() -> None:
    assert found() == {}
    with override_settings(DEBUG=True, ALLOWED_HOSTS=["127.0.0.1", "localhost", "[::1]"]):
        assert found() == {}
    for issuer in ("https://memory.example.com", "https://memory.example.com:8443", "http://127.0.0.1:8000"):
        with override_settings(OAUTH_ISSUER=issuer):
            assert found() == {}


@pytest.mark.parametrize(
    ("host", "options", "warned"),
    [
        ("db.example.com", {}, True),
        ("db.example.com", {"sslmode": "prefer"}, True),
        ("db.example.com", {"sslmode": "verify-full"}, False),
        ("10.0.0.7", {}, True),
        ("127.0.0.2", {}, False),
        ("/run/postgresql", {}, False),
    ],
)
def test_bare_connection_to_another_host_is_found(
    host: str, options: dict[str, str], warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections["default"].settings_dict, "HOST", host)
    monkeypatch.setitem(connections["default"].settings_dict, "OPTIONS", options)

    assert ("memsync.W001" in found()) is warned


# -- databases ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def as_role(monkeypatch: pytest.MonkeyPatch) -> As:
    """Let Django use a database as another role, or another database."""

    @contextmanager
    def use(alias: str, **changed: str) -> Iterator[None]:
        with monkeypatch.context() as patch:
            connections[alias].close()
            for name, value in changed.items():
                patch.setitem(connections[alias].settings_dict, name, value)
            yield
            connections[alias].close()
        connections[alias].close()

    return use


@pytest.fixture
def superuser(superuser_url: str) -> Iterator[psycopg.Connection[Any]]:
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{name}", autocommit=True) as connection:
        yield connection


def test_databases_of_the_product_pass(acme: OpenedTenant) -> None:
    assert set(found(databases=True)) == {"memsync.W004"}  # the tests' own server does not wait for the disk


def test_plain_check_reaches_no_database(as_role: As) -> None:
    with as_role("default", HOST="127.0.0.1", PORT="1"):
        assert found() == {}


def test_superuser_is_found(as_role: As, superuser_url: str) -> None:
    password = psycopg.conninfo.conninfo_to_dict(superuser_url)["password"]
    with as_role("default", USER="postgres", PASSWORD=str(password)):
        assert "is a superuser" in found(databases=True)["memsync.E003"].msg


def test_owner_who_bypasses_the_walls_is_found(as_role: As) -> None:
    with as_role("default", USER=roles.OWNER, PASSWORD=PASSWORD):
        message = found(databases=True)["memsync.E003"].msg

    assert "bypasses row-level security and owns tables" in message


def test_role_that_may_open_the_keyring_is_found(superuser: psycopg.Connection[Any]) -> None:
    name = connections["keyring"].settings_dict["NAME"]
    superuser.execute(f'grant connect on database "{name}" to {roles.APP}')
    try:
        assert set(found(databases=True)) == {"memsync.E005", "memsync.W004"}
    finally:
        superuser.execute(f'revoke connect on database "{name}" from {roles.APP}')


def test_keyring_in_the_database_of_the_data_is_found(as_role: As) -> None:
    main = connections["default"].settings_dict
    with as_role("keyring", NAME=main["NAME"], USER=main["USER"], PASSWORD=main["PASSWORD"]):
        assert "memsync.E004" in found(databases=True)


@pytest.mark.parametrize("change", ["disable row level security", "no force row level security"])
def test_table_without_its_wall_is_found(superuser: psycopg.Connection[Any], change: str) -> None:
    superuser.execute(f"alter table memories_memory {change}")
    try:
        assert "memories_memory" in found(databases=True)["memsync.E006"].msg
    finally:
        superuser.execute("alter table memories_memory enable row level security, force row level security")


def test_table_that_a_unique_index_keeps_in_one_piece_is_found(superuser: psycopg.Connection[Any]) -> None:
    superuser.execute("create unique index undivided on projects_project (public_id)")
    try:
        assert "projects_project (public_id)" in found(databases=True)["memsync.W006"].msg
    finally:
        superuser.execute("drop index undivided")


def test_old_pgvector_is_found(superuser: psycopg.Connection[Any]) -> None:
    (version,) = superuser.execute("select extversion from pg_extension where extname = 'vector'").fetchone() or ("",)
    set_version = "update pg_extension set extversion = %s where extname = 'vector'"
    superuser.execute(set_version, ["0.8.3"])
    try:
        assert "0.8.3" in found(databases=True)["memsync.E007"].msg
    finally:
        superuser.execute(set_version, [version])


def test_other_deployment_id_is_found(acme: OpenedTenant) -> None:
    with override_settings(DEPLOYMENT_ID="another"):
        assert "memsync.E008" in found(databases=True)


def test_other_key_provider_is_found(acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "get_kms", FakeKms)

    assert "memsync.E008" in found(databases=True)


@pytest.mark.parametrize(
    ("name", "value"), [("log_min_duration_statement", "0"), ("log_parameter_max_length_on_error", "-1")]
)
def test_server_that_logs_statements_is_found(superuser: psycopg.Connection[Any], name: str, value: str) -> None:
    # The command line wins over `alter system`; what a role brings along wins over the command line.
    superuser.execute(f"alter role {roles.APP} set {name} = '{value}'")
    connections["default"].close()
    try:
        assert name in found(databases=True)["memsync.W002"].msg
    finally:
        superuser.execute(f"alter role {roles.APP} reset {name}")
        connections["default"].close()


def test_migration_that_waits_is_found(superuser: psycopg.Connection[Any]) -> None:
    newest = "(select id from django_migrations where app = 'memories' order by name desc limit 1)"
    superuser.execute(f"update django_migrations set app = 'elsewhere' where id = {newest}".encode())  # noqa: S608
    try:
        assert "memories" in found(databases=True)["memsync.W005"].msg
    finally:
        superuser.execute("update django_migrations set app = 'memories' where app = 'elsewhere'")


def test_counting_keys_that_open_sees_the_one_that_does_not(acme: OpenedTenant, globex: OpenedTenant) -> None:
    assert inspection.unwrap_active_keys() == inspection.Unwrapped(opened=2, all=2)

    TenantKey.objects.filter(tenant_uid=globex.tenant.uid, kind="identity").update(wrapped=b"x" * 60)

    assert inspection.unwrap_active_keys() == inspection.Unwrapped(opened=1, all=2)
