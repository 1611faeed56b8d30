"""Checks of the settings and of the databases: reachable, tenants isolated, connections free, clocks equal."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.core.checks import ERROR, Tags, run_checks

from apps.core.clock import database_time
from apps.core.queries import fetch_all
from memsync import checks
from memsync.ops.doctor.findings import GIB, HINTS, DoctorFinding, Visit, fail, ok, warn

SKEW_WARN, SKEW_FAIL = timedelta(seconds=1), timedelta(seconds=30)
ROOM: Final = 0.8  # share of the server's connections in use


def check_settings(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether Django's system checks find errors in the settings."""
    yield from _checked("settings", run_checks(), "as they should be")


def check_walls(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether row-level security, roles and grants isolate tenants."""
    messages = run_checks(tags=[Tags.database], databases=list(checks.DATABASES))
    tables = len(checks.tenant_tables())
    yield from _checked("walls", messages, f"row-level security is forced on {tables} tables; roles and logs are right")


def _checked(part: str, messages: list[Any], well: str) -> Iterator[DoctorFinding]:
    loud = [message for message in messages if not message.is_silenced()]
    for message in loud:
        make = fail if message.level >= ERROR else warn
        yield make(part, f"{message.msg} ({message.id})", message.hint or "")
    if not loud:
        yield ok(part, well)


def check_database(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the main database answers, with its version."""
    [(server, role, size, pgvector)] = fetch_all(
        "select current_setting('server_version'), current_user::text, pg_database_size(current_database()),"
        " (select extversion from pg_extension where extname = 'vector')"
    )
    yield ok("database", f"PostgreSQL {server}, pgvector {pgvector}, as {role}, {size / GIB:.2f} GiB")


def check_keyring_database(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the keyring database answers, with its version."""
    [(server, role)] = fetch_all("select current_setting('server_version'), current_user::text", using="keyring")
    yield ok("keyring", f"PostgreSQL {server}, as {role}")


def check_free_connections(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the main database's server has connections left."""
    [(used, most)] = fetch_all(
        "select count(*), current_setting('max_connections')::int"
        " - current_setting('superuser_reserved_connections')::int - current_setting('reserved_connections')::int"
        " from pg_stat_activity where backend_type = 'client backend'"
    )
    said = f"{used} of {most} are open"
    if used > ROOM * most:
        yield warn("connections", said, HINTS["connections"])
    else:
        yield ok("connections", said)


def check_clock(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the clocks of this machine and of the database agree."""
    before = datetime.now(UTC)
    there = database_time()
    skew = abs(there - (before + (datetime.now(UTC) - before) / 2))
    said = f"{skew.total_seconds():.3f} s between this machine and the database"
    hint = "Keep both by NTP: keys, sessions and expiry go by the clock."
    if skew > SKEW_FAIL:
        yield fail("clock", said, hint)
    elif skew > SKEW_WARN:
        yield warn("clock", said, hint)
    else:
        yield ok("clock", said)
