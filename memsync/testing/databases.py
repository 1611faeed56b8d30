"""The databases of a test run and the fixtures that go with them.  Registered by ``memsync.testing.plugin``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from memsync.embedded import roles

SUPERUSER_URL = "MEMSYNC_TEST_SUPERUSER_URL"  # also tells the workers of xdist that a server runs
BROKER_URL = "MEMSYNC_TEST_BROKER_URL"
PASSWORD = "test"  # noqa: S105
# A trigger refuses TRUNCATE here to everybody; the guard test switches it on again.
KEPT_FROM_TRUNCATE = ("audit_auditevent", "audit_chainhead", "audit_checkpoint", "audit_checkpointhead")
TEMPLATES = {roles.MAIN: "memsync_template", roles.KEYRING: "memsync_keyring_template"}


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: Any) -> Iterator[None]:
    suffix = os.environ.get("PYTEST_XDIST_WORKER", "")
    names = {
        database: f"test_{database}" + (f"_{suffix}" if suffix else "") for database in (roles.MAIN, roles.KEYRING)
    }
    with django_db_blocker.unblock():
        with _superuser() as superuser:
            # One worker at a time: the first makes the templates, the others find them.
            superuser.execute("select pg_advisory_lock(7210)")
            _make_templates(superuser)
            for database, name in names.items():
                superuser.execute(SQL("drop database if exists {} with (force)").format(Identifier(name)))
                roles.create_database(
                    superuser, name, template=TEMPLATES[database], may_connect=roles.MAY_CONNECT[database]
                )
        _point("default", name=names[roles.MAIN])
        _point("operator", name=names[roles.MAIN])
        _point("keyring", name=names[roles.KEYRING])
        _flush_unmanaged_tables_too()
    yield
    with django_db_blocker.unblock():
        from django.db import connections

        connections.close_all()


@pytest.fixture(scope="session")
def superuser_url() -> str:
    """Where a test may do what no role of the product can.  The database is `postgres`."""
    return os.environ[SUPERUSER_URL]


@pytest.fixture(scope="session")
def pgmq_url() -> str:
    """A real broker; tests otherwise use Celery's in-memory one."""
    return os.environ[BROKER_URL]


@contextmanager
def _superuser(database: str = "postgres") -> Iterator[roles.Psycopg]:
    url = os.environ[SUPERUSER_URL].rsplit("/", 1)[0] + f"/{database}"
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def _make_templates(superuser: roles.Psycopg) -> None:
    """Migrated once in a run, as owner, under another name until complete."""
    for database, template in TEMPLATES.items():
        if superuser.execute("select 1 from pg_database where datname = %s", [template]).fetchone():
            continue
        making = f"{template}_making"
        superuser.execute(SQL("drop database if exists {} with (force)").format(Identifier(making)))
        roles.create_database(superuser, making, may_connect=roles.MAY_CONNECT[database])
        with _superuser(making) as inside:
            prepare = roles.prepare_main if database == roles.MAIN else roles.prepare_keyring
            prepare(inside)
        _migrate("default" if database == roles.MAIN else "keyring", making)
        with psycopg.connect(_role_url(roles.OWNER, making)) as owner:
            if database == roles.MAIN:
                roles.grant_main(owner)
            else:
                roles.grant_keyring(owner)
            # Django empties tables between transactional tests with TRUNCATE, which no role has in production.
            reader = roles.APP if database == roles.MAIN else roles.KEYS
            owner.execute(SQL("grant truncate on all tables in schema public to {}").format(Identifier(reader)))
            if database == roles.MAIN:
                for table in KEPT_FROM_TRUNCATE:
                    owner.execute(SQL("alter table {} disable trigger keep").format(Identifier(table)))
        superuser.execute(SQL("alter database {} rename to {}").format(Identifier(making), Identifier(template)))


def _migrate(alias: str, name: str) -> None:
    from django.db import connections

    from memsync.migrating import migrate

    settings = connections[alias].settings_dict
    usual = {key: settings[key] for key in ("NAME", "USER", "PASSWORD")}
    _point(alias, name=name, user=roles.OWNER)
    migrate(alias)
    connections[alias].close()
    settings.update(usual)


def _point(alias: str, *, name: str, user: str | None = None) -> None:
    from django.db import connections

    connections[alias].close()
    connections[alias].settings_dict["NAME"] = name
    if user:
        connections[alias].settings_dict["USER"] = user
        connections[alias].settings_dict["PASSWORD"] = PASSWORD


def _flush_unmanaged_tables_too() -> None:
    """Between transactional tests Django empties the tables it manages; those that refer to them go along.

    For every connection: a test that drives a browser has others than those that are there now.
    """
    from django.db.backends.postgresql.operations import DatabaseOperations

    plain = DatabaseOperations.sql_flush

    def cascading(self: Any, *args: Any, **options: Any) -> Any:
        return plain(self, *args, **(options | {"allow_cascade": True}))

    DatabaseOperations.sql_flush = cascading  # type: ignore[method-assign]


def _role_url(role: str, database: str) -> str:
    address = os.environ[SUPERUSER_URL].rsplit("@", 1)[1].rsplit("/", 1)[0]
    return f"postgres://{role}:{PASSWORD}@{address}/{database}"
