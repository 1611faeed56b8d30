"""The databases of a test run, with their fixtures.  Registered by ``memsync.testing.plugin``."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from memsync.launcher.embedded import roles

SUPERUSER_URL = "MEMSYNC_TEST_SUPERUSER_URL"  # also tells xdist workers that the server runs
BROKER_URL = "MEMSYNC_TEST_BROKER_URL"
PASSWORD = "test"  # noqa: S105
TEMPLATES = {roles.MAIN: "memsync_template", roles.KEYRING: "memsync_keyring_template"}
# Tables with rows from migrations; all other rows come from tests.
KEPT = ("django_migrations", "django_content_type", "auth_permission")
# TRUNCATE of all tables creates a thousand new files, so a test's few rows are deleted table by table.  Tables are
# truncated if there is much to delete, or if their statistics would mislead the planner from now on.
EMPTY = f"""
do $do$
declare
    tables text[];
    touched text[];
    worn boolean;
    one text;
begin
    select array_agg(oid::regclass),
           array_agg(oid::regclass order by oid) filter (where pg_relation_size(oid) > 0),
           coalesce(bool_or(reltuples >= 0 and pg_relation_size(oid) > 0 or pg_relation_size(oid) > 1e6), false)
      into tables, touched, worn
      from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> all ('{{{",".join(KEPT)}}}');
    if worn then
        execute 'truncate ' || array_to_string(tables, ', ');
        return;
    end if;
    foreach one in array coalesce(touched, '{{}}') loop
        execute format('lock table %s in exclusive mode', one);  -- wait for open writes
        execute format('delete from %s', one);
    end loop;
end
$do$
"""  # noqa: S608


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: Any) -> Iterator[None]:
    suffix = os.environ.get("PYTEST_XDIST_WORKER", "")
    names = {
        database: f"test_{database}" + (f"_{suffix}" if suffix else "") for database in (roles.MAIN, roles.KEYRING)
    }
    with django_db_blocker.unblock():
        with _superuser() as superuser:
            # One worker at a time: the first creates the templates, the others use them.
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
        _empty_after_transactional_tests()
    yield
    with django_db_blocker.unblock():
        from django.db import connections

        connections.close_all()


@pytest.fixture(scope="session")
def superuser_url() -> str:
    """Superuser URL of the server, database `postgres`, for what no role of the product may do."""
    return os.environ[SUPERUSER_URL]


@pytest.fixture(scope="session")
def pgmq_url() -> str:
    """URL of a real broker; other tests use Celery's in-memory one."""
    return os.environ[BROKER_URL]


@contextmanager
def _superuser(database: str = "postgres") -> Iterator[roles.Psycopg]:
    url = os.environ[SUPERUSER_URL].rsplit("/", 1)[0] + f"/{database}"
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def _make_templates(superuser: roles.Psycopg) -> None:
    """Create the template databases, migrated as owner, once per run.  Each is renamed when complete."""
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
        superuser.execute(SQL("alter database {} rename to {}").format(Identifier(making), Identifier(template)))


def _migrate(alias: str, name: str) -> None:
    from django.db import connections

    from memsync.ops.migration import migrate

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


def empty(alias: str) -> None:
    """Delete all rows of tests from the database of alias."""
    with superuser_in(alias) as superuser:
        superuser.execute("set session_replication_role = replica")  # disables foreign keys and audit triggers
        superuser.execute(EMPTY)


def superuser_in(alias: str) -> AbstractContextManager[roles.Psycopg]:
    from django.db import connections

    return _superuser(connections[alias].settings_dict["NAME"])


def _empty_after_transactional_tests() -> None:
    from django.test import TransactionTestCase

    def teardown(self: Any) -> None:
        for alias in sorted(self.databases & {"default", "keyring"}):  # ``operator`` is another role in ``default``
            empty(alias)

    TransactionTestCase._fixture_teardown = teardown  # type: ignore[attr-defined]  # stubs lack it


def _role_url(role: str, database: str) -> str:
    address = os.environ[SUPERUSER_URL].rsplit("@", 1)[1].rsplit("/", 1)[0]
    return f"postgres://{role}:{PASSWORD}@{address}/{database}"
