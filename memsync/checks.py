"""Django system checks of settings and databases.  memsync.E001 to E009 are errors, W001 to W009 warnings.

The database checks run with `memsync check --database default --database keyring` and with `memsync doctor`; a plain
`memsync check` opens no connection.
"""

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004  (Django's name)
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor

from apps.adapters.errors import AdapterError
from apps.core.queries import fetch_all, fetch_one, fetch_value
from apps.core.scoping import ScopedModel
from apps.crypto.inspection import first_foreign_key

SHORTEST_SECRET: Final = 32
OLDEST_PGVECTOR: Final = (0, 8, 4)
ENCRYPTED: Final = {"require", "verify-ca", "verify-full"}
LOCAL_NAMES: Final = {"localhost", "testserver", ""}
# Server settings that could write statement text or parameters into the log, each with the value that prevents it.
SILENT: Final = {
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_min_error_statement": "panic",
}
# Unique indexes without the tenant that are allowed: docs/scaling.md says what happens to them when tables are split.
UNDIVIDED: Final = {("apikeys_apikey", ("kid",)), ("memories_memoryvector", ("memory_id",))}
DATABASES: Final = ("default", "keyring")

Found = list[CheckMessage]


# -- settings: no connection is opened ---------------------------------------------------------------------------------


@register(Tags.security)
def check_secret_key(app_configs: Sequence[Any] | None, **kwargs: Any) -> Found:
    key: str = settings.SECRET_KEY
    if len(key) >= SHORTEST_SECRET and len(set(key)) >= 8 and not key.startswith("django-insecure"):
        return []
    return [
        Error(
            "SECRET_KEY is weak; anyone who guesses it can forge a session.",
            hint="Set it to 50 random characters; it can be changed at any time, which signs users out.",
            id="memsync.E001",
        )
    ]


@register(Tags.security)
def check_debug(app_configs: Sequence[Any] | None, **kwargs: Any) -> Found:
    if not settings.DEBUG or all(is_local(host) for host in settings.ALLOWED_HOSTS):
        return []
    return [
        Error(
            "DEBUG is on while ALLOWED_HOSTS names public hosts.",
            hint="Set DEBUG=0.",
            id="memsync.E002",
        )
    ]


@register(Tags.security)
def check_transport(app_configs: Sequence[Any] | None, **kwargs: Any) -> Found:
    bare = []
    for alias in connections:
        options = connections[alias].settings_dict
        if not is_local(options["HOST"]) and options["OPTIONS"].get("sslmode") not in ENCRYPTED:
            bare.append(alias)
    if not bare:
        return []
    return [
        Warning(
            f"The connection to another host may be unencrypted: {', '.join(bare)}.",
            hint="Add ?sslmode=verify-full to the address, or keep that network to yourself.",
            id="memsync.W001",
        )
    ]


def is_local(host: str) -> bool:
    """Whether a name or address from ALLOWED_HOSTS, or of a database host, belongs to this machine."""
    bare = host.strip("[]").lower()
    if bare in LOCAL_NAMES or bare.endswith(".localhost") or bare.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


@register(Tags.security)
def check_oauth(app_configs: Sequence[Any] | None, **kwargs: Any) -> Found:
    issuer: str = settings.OAUTH_ISSUER
    if not issuer:
        return []
    try:
        parts = urlsplit(issuer)
        is_origin = issuer == f"{parts.scheme}://{parts.netloc}" and bool(parts.hostname) and parts.username is None
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_local(parts.hostname or ""))
    except ValueError:
        is_origin = is_safe = False
    if is_origin and is_safe:
        return []
    return [
        Error(
            "OAUTH_ISSUER is no address of a server that clients can reach safely.",
            hint="Set it to https:// and the host name, without a path or a slash at the end; http:// only for this "
            "machine.",
            id="memsync.E009",
        )
    ]


# -- databases -------------------------------------------------------------------------------------------------------


@register(Tags.database)
def check_databases(app_configs: Sequence[Any] | None, databases: Iterable[str] | None = None, **kwargs: Any) -> Found:
    """Check the databases in turn.  An unreachable database is skipped: the code that needs it reports the error."""
    asked = set(databases or ())
    found: Found = []
    for alias in DATABASES:
        if alias in asked:
            for look in (_logging, _durability, _migrations):
                found += _looked(look, alias)
    if "default" in asked:
        for look in (_role, _walls, _divisible, _pgvector):
            found += _looked(look, "default")
    if asked >= set(DATABASES):
        for look in (_separation, _deployment):
            found += _looked(look, "keyring")
    return found


def _looked(look: Callable[[str], Found], alias: str) -> Found:
    try:
        return look(alias)
    except DatabaseError:
        return []


def _role(alias: str) -> Found:
    if settings.AS_OWNER:  # the migrating commands, which serve no requests
        return []
    [(role, is_super, bypasses, owns)] = fetch_all(
        "select rolname, rolsuper, rolbypassrls, exists (select from pg_class where relowner = r.oid"
        " and relkind in ('r', 'p') and relnamespace = 'public'::regnamespace)"
        " from pg_roles r where rolname = current_user",
        using=alias,
    )
    reasons = [
        said
        for said, holds in (
            ("is a superuser", is_super),
            ("bypasses row-level security", bypasses),
            ("owns tables", owns),
        )
        if holds
    ]
    if not reasons:
        return []
    return [
        Error(
            f"The role {role} of DATABASE_URL {' and '.join(reasons)}, so row-level security does not apply to it.",
            hint="Give DATABASE_URL a role of its own and the owner's address to DATABASE_OWNER_URL; then run `memsync "
            "prepare`.",
            id="memsync.E003",
        )
    ]


def _walls(alias: str) -> Found:
    tables = tenant_tables()
    rows = fetch_all(
        "select relname from pg_class where relname = any(%s) and relnamespace = 'public'::regnamespace"
        " and not (relrowsecurity and relforcerowsecurity) order by relname",
        [tables],
        using=alias,
    )
    if not rows:
        return []
    return [
        Error(
            f"Row-level security is not forced on {', '.join(name for (name,) in rows)}.",
            hint="Run `memsync prepare`; if that does not help, the schema was changed by hand.",
            id="memsync.E006",
        )
    ]


def _divisible(alias: str) -> Found:
    """Whether every unique index contains the tenant, so that tables could be partitioned by it (docs/scaling.md)."""
    rows = fetch_all(
        "select t.relname, array_agg(a.attname::text order by a.attnum) from pg_index i"
        " join pg_class t on t.oid = i.indrelid"
        " join pg_attribute a on a.attrelid = t.oid and a.attnum = any(i.indkey::int2[])"
        " where t.relname = any(%s) and t.relnamespace = 'public'::regnamespace and i.indisunique"
        " group by t.relname, i.indexrelid order by 1, 2",
        [tenant_tables()],
        using=alias,
    )
    whole = [
        (table, tuple(columns))
        for table, columns in rows
        if "tenant_id" not in columns and columns != ["id"] and (table, tuple(columns)) not in UNDIVIDED
    ]
    if not whole:
        return []
    named = ", ".join(f"{table} ({', '.join(columns)})" for table, columns in whole)
    return [
        Warning(
            f"Unique indexes without the tenant prevent partitioning of these tables: {named}.",
            hint="Add tenant_id to each, or drop it: the schema was changed by hand.",
            id="memsync.W006",
        )
    ]


def tenant_tables() -> list[str]:
    return sorted(model._meta.db_table for model in apps.get_models() if issubclass(model, ScopedModel))


def _pgvector(alias: str) -> Found:
    version = fetch_value("select extversion from pg_extension where extname = 'vector'", using=alias, default="none")
    numbers = tuple(int(part) for part in version.split(".") if part.isdecimal())
    if numbers >= OLDEST_PGVECTOR:
        return []
    return [
        Error(
            f"The extension pgvector is too old ({version}).",
            hint=f"Install {'.'.join(map(str, OLDEST_PGVECTOR))} or later, then `alter extension vector update`.",
            id="memsync.E007",
        )
    ]


def _separation(alias: str) -> Found:
    here = "select inet_server_addr()::text, inet_server_port(), current_database()"
    if fetch_one(here) == fetch_one(here, using="keyring"):
        return [
            Error(
                "KEYRING_URL names the database that holds the data: a backup of one is a backup of both.",
                hint="Make a database of its own for the keyring, better on another server, and move the keys there.",
                id="memsync.E004",
            )
        ]
    app = fetch_value("select current_user::text")
    opens = fetch_all(
        "select 1 from pg_roles where rolname = %s and has_database_privilege(oid, current_database(), 'connect')",
        [app],
        using="keyring",
    )
    if not opens or settings.AS_OWNER:
        return []
    return [
        Error(
            f"The role {app}, which serves requests, may open the keyring's database.",
            hint="Give KEYRING_URL a role of its own, and revoke connect on its database from public.",
            id="memsync.E005",
        )
    ]


def _deployment(alias: str) -> Found:
    try:
        foreign = first_foreign_key()
    except AdapterError:  # the key provider is unreachable, so the check has no result
        return []
    return [foreign_key_error(foreign)] if foreign is not None else []


def foreign_key_error(name: str) -> Error:
    return Error(
        f"{name} was not created by this deployment: it cannot be unwrapped.",
        hint="Set DEPLOYMENT_ID and the key provider (KMS_OPTIONS, kek.json) back to what they were. Nothing is "
        "lost as long as no new keys are created.",
        id="memsync.E008",
    )


def _logging(alias: str) -> Found:
    rows = fetch_all(
        "select name, setting from pg_settings where name = any(%s) order by name", [list(SILENT)], using=alias
    )
    loud = [name for name, setting in rows if setting != SILENT[name]]
    if not loud:
        return []
    quiet = " ".join(f"-c {name}={SILENT[name]}" for name in loud)
    return [
        Warning(
            f"The server of {alias} may log statement parameters: {', '.join(loud)}.",
            hint=f"Start it with {quiet}. Contents are encrypted before they get there; labels and times are not.",
            id="memsync.W002",
        )
    ]


def _durability(alias: str) -> Found:
    found: Found = []
    rows = fetch_all("select name, setting from pg_settings where name in ('data_checksums', 'fsync')", using=alias)
    if ("data_checksums", "off") in rows:
        found.append(
            Warning(
                f"The server of {alias} has no data checksums: a failing disk goes unnoticed until decryption fails.",
                hint="Stop it and run `pg_checksums --enable`.",
                id="memsync.W003",
            )
        )
    if ("fsync", "off") in rows:
        found.append(
            Warning(
                f"The server of {alias} does not wait for the disk: acknowledged writes are lost in a power failure.",
                hint="Set fsync = on.",
                id="memsync.W004",
            )
        )
    return found


def _migrations(alias: str) -> Found:
    # A warning only: `migrate` runs these checks first, and an error would stop it.
    executor = MigrationExecutor(connections[alias])
    waiting = [
        migration
        for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())
        if not settings.AS_OWNER
    ]
    if not waiting:
        return []
    return [
        Warning(
            f"{len(waiting)} migrations have not been applied to {alias}, the first being {waiting[0]}.",
            hint="Run `memsync prepare`.",
            id="memsync.W005",
        )
    ]
