"""Purge: removes erased data from the database's files.

The bytes of a deleted row stay in its table until it is vacuumed, and after that in free space of its pages, in
indexes and in the planner's statistics.  The same holds for destroyed salts and keys in the keyring database.  So a
purge processes every tenant table, and the tables of salts and keys:

1. ``vacuum``, until no transaction can see rows that were deleted before the purge began;
2. a small table is rewritten with its indexes (``vacuum full``), under a short exclusive lock; for a large table only
   the indexes are rebuilt, concurrently, and bytes may stay in free space until it is reused;
3. ``analyze``, and at the end the same for the statistics table, once no transaction can see the old statistics.

One purge covers all erasures that were done when it began.  An advisory lock, released with its connection, allows one
purge at a time.  An interrupted purge continues with the remaining tables.  See docs/adr/0016.
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
from apps.core.queries import execute, fetch_value
from apps.erasure import receipt_log
from apps.erasure.models import Erasure, ErasureState, Phase, Purge
from apps.erasure.receipt_log import KEYRING, written
from apps.erasure.rows import tables_of_a_tenant

logger = logging.getLogger(__name__)

MAIN: Final = "default"
OF_THE_KEYRING: Final = ("crypto_spacesecret", "crypto_tenantkey")
LOCK: Final = 72_116  # for the whole deployment
STATISTICS: Final = "pg_statistic"
PATIENCE: Final = timedelta(seconds=2)  # lock timeout for the exclusive lock, because all other queries queue behind it
NEEDED_VERSION: Final = 170_000  # server version; before it, only a table's owner could vacuum it
CLEARING_VERSION: Final = 180_000  # before it, an empty table keeps its old statistics until it has rows again
# ``analyze`` does not replace the old statistics of a table that is now empty.
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
    """Result of a purge.

    rewritten, reindexed: numbers of tables.  waits: tables that could not be done yet; the next call continues.
    erasures: number of erasures purged; 0 while a table waits.
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
    """Purge everything erased until now; do nothing if there is nothing to purge.  Call it outside a transaction.

    rewrite: rewrite large tables too; each is locked exclusively while it is rewritten.  told: called with the name
    of the next table.  Raises PurgeUnderWay, PurgeNotAllowed.
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
            elif not done.waits:  # a table that is done later changes the statistics again
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
    """Issue the last receipt of erasures whose backups have expired, and return their number."""
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
    """Return the interrupted purge, or a new one; None if there is nothing to purge."""
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
    """Return the current transaction id: rows deleted by earlier transactions are invisible to later ones."""
    return int(fetch_value("select pg_current_xact_id()::text::bigint", using=alias))


def _finish(run: Purge, *, now: datetime) -> int:
    methods = _methods(run)
    said = {
        "purged": {
            "at": written(now),
            "tables_rewritten": methods.count("rewritten"),
            "tables_reindexed": methods.count("reindexed"),
            "db_lsn": fetch_value("select pg_current_wal_lsn()::text", using=MAIN),
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
        is_new = fetch_value("select current_setting('server_version_num')::int", using=alias) >= NEEDED_VERSION
        if not (is_new and _may(alias, table)):
            raise PurgeNotAllowed


def _tables() -> Iterator[tuple[str, str]]:
    """Yield (database alias, table), with each database's statistics table last if the role may vacuum it."""
    for alias, tables in ((MAIN, sorted(tables_of_a_tenant())), (KEYRING, OF_THE_KEYRING)):
        yield from ((alias, table) for table in tables)
        if _may(alias, STATISTICS):
            yield alias, STATISTICS


def _may(alias: str, table: str) -> bool:
    return bool(fetch_value("select has_table_privilege(%s, 'MAINTAIN')", [table], using=alias))


# -- a table ----------------------------------------------------------------------------------------------------------


def _purge(alias: str, table: str, horizon: int, *, rewrite: bool) -> str | None:
    """Purge a table and return the method; None if a transaction could still see deleted rows or held a lock."""
    if not _is_vacuumed(alias, table, horizon):
        return None
    size = fetch_value("select pg_table_size(%s::regclass)", [table], using=alias)
    is_small = size <= settings.PURGE_REWRITE_MB * 2**20
    try:
        if rewrite or is_small or table == STATISTICS:  # the statistics table is never large
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
        if fetch_value("select current_setting('server_version_num')::int", using=alias) >= CLEARING_VERSION:
            execute(_CLEAR_OF_EMPTY, [table], using=alias)
    return method


def _is_vacuumed(alias: str, table: str, horizon: int) -> bool:
    """Vacuum the table.  Return whether all rows dead before the horizon could be removed."""
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
    # Cutoffs are 32-bit transaction ids that wrap around; the horizon also contains the epoch.
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
    execute(SQL(statement).format(Identifier(table)), using=alias)
