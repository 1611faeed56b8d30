"""Database roles, databases and grants.  Every function is idempotent.

memsync_owner     owns both databases; migrates and grants; sees every tenant, and never serves a request
memsync_app       serves requests, under row-level security; the main database only
memsync_operator  the admin's reads across tenants, without the columns that hold sealed or searchable content; never
                  writes
memsync_keyring   the keyring database only, where it is the only role besides the owner
memsync_broker    owns the queue's schema and nothing else
"""

import secrets
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from typing import Any, LiteralString

from pgmq.install import get_embedded_install_sql
from psycopg import Connection
from psycopg.sql import SQL, Composable, Identifier, Literal

MAIN, KEYRING = "memsync", "memsync_keyring"
OWNER, APP, OPERATOR, KEYS, BROKER = (
    "memsync_owner",
    "memsync_app",
    "memsync_operator",
    "memsync_keyring",
    "memsync_broker",
)
QUEUE = "celery"
QUEUES = (QUEUE, "files", "upkeep")  # see memsync/celery.py

# Every process that opens a queue enables notifications.  PGMQ's function drops and recreates the trigger, so the
# second of two concurrent callers fails because the trigger exists.  This wrapper calls it once a queue, under a lock.
NOTIFY_ONCE: LiteralString = """
do $do$
begin
    if to_regprocedure('pgmq.enable_notify_insert_anew(text, integer)') is null then
        alter function pgmq.enable_notify_insert(text, integer) rename to enable_notify_insert_anew;
        create function pgmq.enable_notify_insert(queue_name text, throttle_interval_ms integer default 250)
        returns void language plpgsql as $body$
        begin
            perform pg_advisory_xact_lock(hashtext('pgmq.enable_notify_insert'), hashtext(queue_name));
            if not exists (
                select from pg_trigger
                 where tgname = 'trigger_notify_queue_insert_listeners'
                   and tgrelid = format('pgmq.%I', pgmq.format_table_name(queue_name, 'q'))::regclass
            ) then
                perform pgmq.enable_notify_insert_anew(queue_name, throttle_interval_ms);
            end if;
        end
        $body$;
    end if;
end
$do$
"""

_PLAIN: LiteralString = "login nosuperuser nocreatedb nocreaterole noreplication"
ROLES: dict[str, LiteralString] = {
    OWNER: f"{_PLAIN} bypassrls",  # data migrations change rows of every tenant
    APP: f"{_PLAIN} nobypassrls",
    OPERATOR: f"{_PLAIN} bypassrls",  # reads across tenants; its grants are per column, see below
    KEYS: f"{_PLAIN} nobypassrls",
    BROKER: f"{_PLAIN} nobypassrls",
}
MAY_CONNECT = {MAIN: (OWNER, APP, OPERATOR, BROKER), KEYRING: (OWNER, KEYS)}

# -- grants of the operator -------------------------------------------------------------------------------------------
# Every column of every table may be read, except columns of these types (ciphertext, keyed hashes, vectors) ...
SEALED_TYPES = ("bytea", "vector", "halfvec", "sparsevec", "bit", "varbit")
# ... and except these tables, whose plain columns would reveal or permit too much.
CLOSED_TO_OPERATOR = (
    "memories_posting*",
    # These would let an operator impersonate a user: session keys, second factors, confirmations of deletion.
    "django_session",  # of an earlier version; a migration empties it
    "usersessions_*",  # the same
    "mfa_*",
    "account_*",
    "accounts_assertion",
    "accounts_browsersession",
    "accounts_enrolmentcode",
    "accounts_bearersession",
    "accounts_spentrefresh",
    "accounts_oauthcode",
    "accounts_oauthgrant",
    "accounts_spentoauthtoken",
    "allauth_idp_oidc_*",
)
# ... and except these columns: only the application may read password hashes.
CLOSED_COLUMNS = {"accounts_user": ("password",)}
# The application may only read these; migrations write them.
READ_ONLY_FOR_APP = ("django_migrations", "audit_auditevent", "audit_chainhead")
# The application may only insert into these.
ADD_ONLY_FOR_APP = ("audit_checkpoint*",)
# The application may run these functions, which act with their owner's rights.
RUN_BY_APP = ("audit_record",)

MAINTAIN_SINCE = 170_000  # first server version with the MAINTAIN privilege

Psycopg = Connection[tuple[Any, ...]]


def new_passwords() -> dict[str, str]:
    return {role: secrets.token_urlsafe(32) for role in ROLES}


def create_roles(superuser: Psycopg, passwords: Mapping[str, str]) -> None:
    """Create or update all roles.  superuser: a superuser's connection to any database of the server."""
    with superuser.transaction():
        for role, attributes in ROLES.items():
            exists = superuser.execute("select 1 from pg_roles where rolname = %s", [role]).fetchone()
            statement = SQL("{verb} role {role} with {attributes} password {password}").format(
                verb=SQL("alter" if exists else "create"),
                role=Identifier(role),
                attributes=SQL(attributes),
                password=Literal(passwords[role]),
            )
            superuser.execute(statement)


def create_database(superuser: Psycopg, name: str, *, may_connect: Iterable[str], template: str = "template1") -> None:
    """Create the database if it is missing.  Only may_connect may connect: grants are not copied from a template.

    superuser: a connection in autocommit mode.
    """
    if not superuser.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
        statement = SQL("create database {} owner {} template {}")
        superuser.execute(statement.format(Identifier(name), Identifier(OWNER), Identifier(template)))
    superuser.execute(SQL("revoke all on database {} from public").format(Identifier(name)))
    superuser.execute(SQL("grant connect on database {} to {}").format(Identifier(name), _names(may_connect)))


def prepare_main(superuser: Psycopg) -> None:
    """Create what migrations and broker need but may not create.  superuser: a connection to the main database."""
    with superuser.transaction():
        superuser.execute("create extension if not exists vector")
        _lend_statistics(superuser, APP)
        database = Identifier(superuser.info.dbname)
        superuser.execute(SQL("grant create on database {} to {}").format(database, Identifier(BROKER)))
        superuser.execute(SQL("set local role {}").format(Identifier(BROKER)))
        install_queue(superuser)
        superuser.execute("reset role")
        superuser.execute(SQL("revoke create on database {} from {}").format(database, Identifier(BROKER)))


def prepare_keyring(superuser: Psycopg) -> None:
    """superuser: a connection to the keyring's database."""
    with superuser.transaction():
        _lend_statistics(superuser, KEYS)


def _lend_statistics(superuser: Psycopg, role: str) -> None:
    """Let the role rewrite pg_statistic, whose file keeps values of rows, even replaced ones."""
    if superuser.info.server_version >= MAINTAIN_SINCE:
        superuser.execute(SQL("grant maintain on pg_catalog.pg_statistic to {}").format(Identifier(role)))


def install_queue(broker: Psycopg) -> None:
    """Install PGMQ and the queues.  broker: a connection that may create a schema; its role must own the queues."""
    with broker.transaction():
        found = broker.execute("select to_regprocedure('pgmq.create(text)')").fetchone()
        if not found or found[0] is None:
            broker.execute(get_embedded_install_sql().encode())
        broker.execute(NOTIFY_ONCE)
        for queue in QUEUES:
            broker.execute("select pgmq.create(%s)", [queue])


def release_queue(superuser: Psycopg) -> int:
    """Make messages taken by dead workers visible at once.  Call it only if no worker runs."""
    made_visible = SQL("update pgmq.{} set vt = clock_timestamp() where vt > clock_timestamp()")
    return sum(superuser.execute(made_visible.format(Identifier(f"q_{queue}"))).rowcount for queue in QUEUES)


def grant_main(owner: Psycopg, *, app: str = APP, operator: str = OPERATOR) -> None:
    """Grant rights on the main database; run after every migration.  owner: a connection of the tables' owner."""
    me = owner.info.user
    with owner.transaction():
        tables = _tables(owner)
        if app != me:
            _revoke_all(owner, app)
            _grant_everything(owner, app)
            for table in _matching(tables, READ_ONLY_FOR_APP):
                owner.execute(
                    SQL("revoke insert, update, delete on {} from {}").format(_public(table), Identifier(app))
                )
            for table in _matching(tables, ADD_ONLY_FOR_APP):
                owner.execute(SQL("revoke update, delete on {} from {}").format(_public(table), Identifier(app)))
            _let_maintain(owner, app)
            for function in RUN_BY_APP:
                owner.execute(SQL("grant execute on function {} to {}").format(_public(function), Identifier(app)))
        if operator not in (me, app):
            _revoke_all(owner, operator)
            closed = set(_matching(tables, CLOSED_TO_OPERATOR))
            for table, columns in tables.items():
                open_columns = [name for name in columns if name not in CLOSED_COLUMNS.get(table, ())]
                if open_columns and table not in closed:
                    _grant_columns(owner, operator, table, open_columns)


def grant_keyring(owner: Psycopg, *, keys: str = KEYS) -> None:
    """Grant rights on the keyring database; run after every migration.  owner: a connection of the tables' owner."""
    if keys != owner.info.user:
        with owner.transaction():
            _revoke_all(owner, keys)
            _grant_everything(owner, keys)
            _let_maintain(owner, keys)


def _tables(connection: Psycopg) -> dict[str, list[str]]:
    """Every table of schema public, with its columns that are not sealed."""
    rows = connection.execute(
        """
        select c.relname, array_agg(a.attname order by a.attnum)
                          filter (where not coalesce(element.typname, type.typname) = any(%s))
          from pg_class c
          join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          join pg_type type on type.oid = a.atttypid
          left join pg_type element on element.oid = type.typelem and type.typcategory = 'A'
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
         group by c.relname order by c.relname
        """,
        [list(SEALED_TYPES)],
    ).fetchall()
    return {table: columns or [] for table, columns in rows}


def _matching(tables: Iterable[str], patterns: Iterable[str]) -> list[str]:
    return [table for table in tables if any(fnmatch(table, pattern) for pattern in patterns)]


def _grant_everything(connection: Psycopg, role: str) -> None:
    for statement in (
        SQL("grant usage on schema public to {}"),
        SQL("grant select, insert, update, delete on all tables in schema public to {}"),
        SQL("grant usage, select on all sequences in schema public to {}"),
    ):
        connection.execute(statement.format(Identifier(role)))


def _let_maintain(connection: Psycopg, role: str) -> None:
    """Allow maintenance that removes erased rows from the files.  It permits no reads or changes (docs/adr/0016)."""
    if connection.info.server_version >= MAINTAIN_SINCE:
        connection.execute(SQL("grant maintain on all tables in schema public to {}").format(Identifier(role)))


def _revoke_all(connection: Psycopg, role: str) -> None:
    """Revoke everything, so that a column that became sealed is closed again.  Invisible outside the transaction."""
    for statement in (
        SQL("revoke all on all tables in schema public from {}"),
        SQL("revoke all on all sequences in schema public from {}"),
    ):
        connection.execute(statement.format(Identifier(role)))


def _grant_columns(connection: Psycopg, role: str, table: str, columns: list[str]) -> None:
    """Grant SELECT only: what operators change, services write as the application role."""
    statement = SQL("grant select ({}) on {} to {}").format(_names(columns), _public(table), Identifier(role))
    connection.execute(statement)


def _names(names: Iterable[str]) -> Composable:
    return SQL(", ").join(map(Identifier, names))


def _public(table: str) -> Identifier:
    return Identifier("public", table)
