"""Taking what was erased out of the files of the database as well.

A deleted row's bytes stay in its table until it is vacuumed, in holes of its pages even then, in every index that it
was in, and in the planner's statistics; a destroyed salt or key, likewise in the keyring's.  So a purge takes each
table of tenants in turn, and those of salts and keys:

1. ``vacuum``, until it has seen that no transaction can still see what was deleted before the purge began;
2. a small table is rewritten with all of its indexes (``vacuum full``), which locks everyone out for that moment;
   of a large one the indexes are rebuilt concurrently, and a hole may keep bytes until it is filled;
3. ``analyze``, and then the table of statistics itself, once no transaction can still see what that replaced.

One purge serves all erasures that were done when it began.  One at a time, by a lock that ends with the connection of
its holder; a purge that was stopped goes on with the tables that are left.  See docs/adr/0016.
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

from django.conf import settings
from django.db import OperationalError, connection, connections, transaction
from psycopg.errors import DeadlockDetected, LockNotAvailable, QueryCanceled
from psycopg.sql import SQL, Identifier

from apps.core.errors import Conflict, Unavailable
from apps.erasure import receipt_log
from apps.erasure.models import Erasure, ErasureState, Phase, Purge
from apps.erasure.receipt_log import KEYRING, written
from apps.erasure.rows import tables_of_a_tenant

logger = logging.getLogger(__name__)

MAIN: Final = "default"
OF_THE_KEYRING: Final = ("crypto_spacesecret", "crypto_tenantkey")
LOCK: Final = 72_116  # for the whole deployment
STATISTICS: Final = "pg_statistic"
PATIENCE: Final = timedelta(seconds=2)  # for a lock that keeps everybody out: longer, and all of them wait behind it
NEEDED_VERSION: Final = 170_000  # of the server: before it, only its owner could vacuum a table
CLEARING_VERSION: Final = 180_000  # before it, statistics of a table that is empty now stay until it has rows again
# Of an empty table ``analyze`` leaves the statistics as they were when it had rows.
_CLEAR_OF_EMPTY: Final = """
select count(pg_clear_attribute_stats(of.nspname, emptied.relname, field.attname, false)::text)
from pg_class emptied
join pg_namespace of on of.oid = emptied.relnamespace
join pg_attribute field on field.attrelid = emptied.oid and field.attnum > 0 and not field.attisdropped
where emptied.oid = %s::regclass and emptied.reltuples = 0
"""
_CUTOFF: Final = re.compile(r"removable cutoff: (\d+)")


class PurgeUnderWay(Conflict):
    """A purge is running already; one at a time."""

    code = "PURGE_UNDER_WAY"


class PurgeNotAllowed(Unavailable):
    """The role of DATABASE_URL may not vacuum: run `memsync prepare`, on PostgreSQL 17 or later."""

    code = "PURGE_NOT_ALLOWED"


@dataclass(slots=True, kw_only=True)
class Purged:
    """rewritten, reindexed: how many tables of each.  waits: those that could not be done yet; the next call goes on.

    erasures: how many are purged with it, once nothing waits.
    """

    rewritten: int = 0
    reindexed: int = 0
    waits: list[str] = field(default_factory=list)
    erasures: int = 0

    @property
    def is_done(self) -> bool:
        return not self.waits


Told = Callable[[str], None]


def rewrite_tables(*, rewrite: bool = False, told: Told = lambda table: None, now: datetime) -> Purged:
    """Purge what was erased until now; nothing where nothing was.

    rewrite: rewrite large tables too, which locks everyone out of each for as long as that takes.  told: hears the
    table that is next.  Outside a transaction.  Raises PurgeUnderWay, PurgeNotAllowed.
    """
    with _alone():
        run = _begin(now=now)
        done = Purged()
        if run is None:
            return done
        for alias, table in _tables():
            if table in run.tables.get(alias, {}):
                continue
            told(table)
            method = None
            if table != STATISTICS:
                method = _purge(alias, table, run.horizons[alias], rewrite=rewrite)
            elif not done.waits:  # a table that is done later replaces statistics once more
                method = _purge(alias, table, _horizon(alias), rewrite=rewrite)
            if method is None:
                done.waits.append(table)
                continue
            run.tables.setdefault(alias, {})[table] = method
            run.save(update_fields=["tables"])
        methods = _methods(run)
        done.rewritten, done.reindexed = methods.count("rewritten"), methods.count("reindexed")
        if done.is_done:
            done.erasures = _finish(run, now=now)
        return done


def expire_backups(*, now: datetime) -> int:
    """Issue the last receipt of erasures whose backups are past their time; how many."""
    count = 0
    for erasure in Erasure.objects.filter(state=ErasureState.PURGED).order_by("requested_at", "uid"):
        if erasure.deleted_at is None or now < erasure.deleted_at + receipt_log.DATA_BACKUPS_LAST:
            continue
        with transaction.atomic(using=KEYRING):
            row = Erasure.objects.select_for_update().get(pk=erasure.pk)
            if row.state != ErasureState.PURGED:
                continue
            row.state, row.finished_at = ErasureState.FINISHED, now
            row.save(update_fields=["state", "finished_at"])
            receipt_log.append(row, Phase.BACKUPS_EXPIRED, {"backups_expired": {"at": written(now)}}, now=now)
        count += 1
    return count


# -- one purge at a time ----------------------------------------------------------------------------------------------


@contextmanager
def _alone() -> Iterator[None]:
    if connection.in_atomic_block:
        raise transaction.TransactionManagementError("a table is not vacuumed inside a transaction")
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_lock(%s)", [LOCK])
        if cursor.fetchone() != (True,):
            raise PurgeUnderWay
        try:
            yield
        finally:
            cursor.execute("select pg_advisory_unlock(%s)", [LOCK])


def _begin(*, now: datetime) -> Purge | None:
    """The purge that was stopped, or a new one; None where there is nothing to purge."""
    run = Purge.objects.filter(finished_at=None).order_by("pk").first()
    if run is not None:
        return run
    if not Erasure.objects.filter(state=ErasureState.DELETED).exists():
        return None
    _check_rights()
    run = Purge(started_at=now, horizons={alias: _horizon(alias) for alias in (MAIN, KEYRING)}, tables={})
    run.save(force_insert=True)
    return run


def _horizon(alias: str) -> int:
    """What was deleted by a transaction before this one may be looked at by none that begins after it."""
    return int(_ask(alias, "select pg_current_xact_id()::text::bigint"))


def _finish(run: Purge, *, now: datetime) -> int:
    methods = _methods(run)
    said = {
        "purged": {
            "at": written(now),
            "tables_rewritten": methods.count("rewritten"),
            "tables_reindexed": methods.count("reindexed"),
            "db_lsn": _ask(MAIN, "select pg_current_wal_lsn()::text"),
        }
    }
    count = 0
    for erasure in Erasure.objects.filter(state=ErasureState.DELETED, deleted_at__lte=run.started_at).order_by("uid"):
        with transaction.atomic(using=KEYRING):
            row = Erasure.objects.select_for_update().get(pk=erasure.pk)
            if row.state == ErasureState.DELETED:
                row.state, row.purged_at = ErasureState.PURGED, now
                row.save(update_fields=["state", "purged_at"])
                receipt_log.append(row, Phase.PURGED, said, now=now)
                count += 1
    run.finished_at = now
    run.save(update_fields=["finished_at"])
    return count


def _methods(run: Purge) -> list[str]:
    return [method for tables in run.tables.values() for method in tables.values()]


def _check_rights() -> None:
    for alias, table in ((MAIN, "memories_memory"), (KEYRING, OF_THE_KEYRING[0])):
        is_new = _ask(alias, "select current_setting('server_version_num')::int") >= NEEDED_VERSION
        if not (is_new and _may(alias, table)):
            raise PurgeNotAllowed


def _tables() -> Iterator[tuple[str, str]]:
    """By database; that of the statistics last, where it may be touched."""
    for alias, tables in ((MAIN, sorted(tables_of_a_tenant())), (KEYRING, OF_THE_KEYRING)):
        yield from ((alias, table) for table in tables)
        if _may(alias, STATISTICS):
            yield alias, STATISTICS


def _may(alias: str, table: str) -> bool:
    return bool(_ask(alias, "select has_table_privilege(%s, 'MAINTAIN')", table))


# -- a table ----------------------------------------------------------------------------------------------------------


def _purge(alias: str, table: str, horizon: int, *, rewrite: bool) -> str | None:
    """How it was done; None where a transaction could still see what was deleted, or held a lock."""
    if not _is_vacuumed(alias, table, horizon):
        return None
    is_small = _ask(alias, "select pg_table_size(%s::regclass)", table) <= settings.PURGE_REWRITE_MB * 2**20
    try:
        if rewrite or is_small or table == STATISTICS:  # that one is never large
            with _patience(alias):
                _run(alias, "vacuum (full) {}", table)
            method = "rewritten"
        else:
            _run(alias, "reindex table concurrently {}", table)
            method = "reindexed"
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected | QueryCanceled):
            raise
        return None
    if table != STATISTICS:
        _run(alias, "analyze {}", table)
        if _ask(alias, "select current_setting('server_version_num')::int") >= CLEARING_VERSION:
            _ask(alias, _CLEAR_OF_EMPTY, table)
    return method


def _is_vacuumed(alias: str, table: str, horizon: int) -> bool:
    """Vacuum; whether all that was dead before the horizon could be removed."""
    said: list[str] = []

    def hear(diagnostic: Any) -> None:
        said.append(diagnostic.message_primary or "")

    connections[alias].ensure_connection()
    raw = connections[alias].connection
    raw.add_notice_handler(hear)
    try:
        _run(alias, "vacuum (verbose, index_cleanup on, process_toast on) {}", table)
    finally:
        raw.remove_notice_handler(hear)
    cutoffs = [int(found) for text in said for found in _CUTOFF.findall(text)]
    # Numbers of 32 bits that wrap around; the horizon has the epochs too.
    return bool(cutoffs) and all((cutoff - horizon) % 2**32 < 2**31 for cutoff in cutoffs)


@contextmanager
def _patience(alias: str) -> Iterator[None]:
    with connections[alias].cursor() as cursor:
        cursor.execute("select set_config('lock_timeout', %s, false)", [str(int(PATIENCE.total_seconds() * 1000))])
        try:
            yield
        finally:
            cursor.execute("reset lock_timeout")


def _run(alias: str, statement: LiteralString, table: str) -> None:
    with connections[alias].cursor() as cursor:
        cursor.execute(SQL(statement).format(Identifier(table)))


def _ask(alias: str, question: str, *parameters: str) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(question, parameters)
        row = cursor.fetchone()
    return row[0] if row else None
