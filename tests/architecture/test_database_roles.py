"""Tests connect as the roles of production do; otherwise every test of row-level security would prove nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import ProgrammingError, connections
from django.test import TransactionTestCase
from psycopg.sql import SQL, Identifier

from apps.apikeys.onboarding import OpenedTenant
from memsync.launcher.embedded import roles
from memsync.testing import databases
from memsync.testing.databases import PASSWORD
from tests.makers import make_scope
from tests.webhooks.conftest import remember


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize(
    ("alias", "role", "bypasses"),
    [("default", roles.APP, False), ("operator", roles.OPERATOR, True), ("keyring", roles.KEYS, False)],
)
def test_each_database_is_used_by_its_own_unprivileged_role(alias: str, role: str, bypasses: bool) -> None:
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "select rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole from pg_roles"
            " where rolname = current_user"
        )
        found = cursor.fetchone()

    assert found == (role, False, bypasses, False, False)


@pytest.mark.django_db(databases="__all__")
def test_nobody_who_serves_requests_owns_a_table() -> None:
    for alias in connections:
        with connections[alias].cursor() as cursor:
            cursor.execute("select count(*) from pg_tables where schemaname = 'public' and tableowner = current_user")
            assert cursor.fetchone() == (0,), alias


@pytest.mark.django_db(databases=["operator"])
def test_operator_can_read_no_sealed_column() -> None:
    with connections["operator"].cursor() as cursor:
        cursor.execute(
            """
            select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
              join pg_type t on t.oid = a.atttypid
             where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0
               and t.typname = any(%s) and has_column_privilege(c.oid, a.attnum, 'select')
            """,
            [list(roles.SEALED_TYPES)],
        )
        assert cursor.fetchall() == []


@pytest.mark.django_db(databases=["operator"])
def test_operator_writes_nothing() -> None:
    """Or it could say yes for a tenant, and make itself a second operator."""
    with connections["operator"].cursor() as cursor:
        cursor.execute(
            "select relname, a_right from pg_class,"
            " unnest(array['insert', 'update', 'delete', 'truncate']) as a_right"
            " where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
            " and (case when a_right in ('insert', 'update') then has_any_column_privilege(oid, a_right)"
            " else has_table_privilege(oid, a_right) end)"
        )
        assert cursor.fetchall() == []


@pytest.mark.django_db(transaction=True)
def test_application_cannot_write_what_belongs_to_migrations() -> None:
    with connections["default"].cursor() as cursor, pytest.raises(ProgrammingError, match="permission denied"):
        cursor.execute("delete from django_migrations")


@pytest.mark.django_db(databases="__all__")
def test_nobody_who_serves_requests_empties_a_table() -> None:
    for alias in connections:
        with connections[alias].cursor() as cursor:
            cursor.execute(
                "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
                " and has_table_privilege(oid, 'truncate')"
            )
            assert cursor.fetchall() == [], alias


def _filled_tables() -> set[str]:
    """Of both databases, those that hold a row."""
    found = set()
    for alias in ("default", "keyring"):
        with databases.superuser_in(alias) as superuser:
            names = superuser.execute(
                "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
            ).fetchall()
            found |= {
                name
                for (name,) in names
                if superuser.execute(SQL("select from {} limit 1").format(Identifier(name))).rowcount
            }
    return found


@pytest.mark.django_db(transaction=True, databases="__all__")
@pytest.mark.parametrize("how", ["a few rows", "with statistics", "many rows"])
def test_nothing_is_left_by_a_transactional_test(how: str, acme: OpenedTenant) -> None:
    remember(make_scope(acme), "Carol lives in Lisbon.")
    with databases.superuser_in("default") as superuser:
        if how == "with statistics":
            superuser.execute("analyze")
        if how == "many rows":
            superuser.execute(
                "insert into outbox_outboxevent (tenant_id, kind, subject_id, run_after, created_at, attempts, error) "
                "select 1, 'test', n, now(), now(), 0, repeat('x', 60) from generate_series(1, 15000) n"
            )
    before = _filled_tables()

    for alias in ("default", "keyring"):
        databases.empty(alias)

    assert {
        "tenants_tenant",
        "memories_memory",
        "memories_posting",
        "audit_auditevent",
        "crypto_spacesecret",
    } <= before
    assert _filled_tables() == before & set(databases.KEPT)
    assert TransactionTestCase._fixture_teardown.__module__ == databases.__name__  # type: ignore[attr-defined]


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize(
    ("role", "alias"),
    [
        (roles.APP, "keyring"),
        (roles.OPERATOR, "keyring"),
        (roles.BROKER, "keyring"),
        (roles.KEYS, "default"),
    ],
)
def test_no_role_can_open_the_other_database(role: str, alias: str) -> None:
    settings = connections[alias].settings_dict

    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(
            host=settings["HOST"], port=settings["PORT"], dbname=settings["NAME"], user=role, password=PASSWORD
        )


@pytest.mark.django_db
def test_the_queue_s_owner_can_read_no_table_of_the_product() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
            " and has_table_privilege(%s, oid, 'select')",
            [roles.BROKER],
        )
        assert cursor.fetchone() == (0,)


def test_processes_that_start_together_may_all_ask_for_notifications(pgmq_url: str) -> None:
    """Worker, beat and web server each do, at their first message; one that was refused would end."""
    together = threading.Barrier(4)

    def ask_again_and_again() -> None:
        with psycopg.connect(pgmq_url.replace("pgmq", "postgresql", 1), autocommit=True) as connection:
            together.wait()
            for _ in range(25):
                connection.execute("select pgmq.enable_notify_insert(%s, 250)", [roles.QUEUE])

    with ThreadPoolExecutor(4) as processes:
        asked = [processes.submit(ask_again_and_again) for _ in range(4)]

    assert [one.exception() for one in asked] == [None] * 4


def test_notifications_are_on_once_one_process_has_asked(pgmq_url: str) -> None:
    with psycopg.connect(pgmq_url.replace("pgmq", "postgresql", 1)) as connection:
        connection.execute("select pgmq.disable_notify_insert(%s)", [roles.QUEUE])
        connection.execute("select pgmq.enable_notify_insert(%s, 250)", [roles.QUEUE])
        roles.install_queue(connection)

        found = connection.execute(
            "select count(*) from pg_trigger "
            "where tgname = 'trigger_notify_queue_insert_listeners' and tgrelid = %s::regclass",
            [f"pgmq.q_{roles.QUEUE}"],
        ).fetchone()

        assert found == (1,)
        connection.rollback()


@pytest.mark.django_db
def test_a_column_that_becomes_sealed_is_closed_by_the_next_grant(superuser_url: str) -> None:
    name = connections["default"].settings_dict["NAME"]
    address = superuser_url.rsplit("/", 1)[0]
    readable = "select has_column_privilege('memsync_operator', 'later', 'note', 'select')"
    with psycopg.connect(f"{address}/{name}") as connection:
        connection.execute("create table later (id bigint, note text)")
        roles.grant_main(connection)
        before = connection.execute(readable).fetchone()

        connection.execute("alter table later alter note type bytea using note::bytea")
        roles.grant_main(connection)

        assert (before, connection.execute(readable).fetchone()) == ((True,), (False,))
        connection.rollback()
