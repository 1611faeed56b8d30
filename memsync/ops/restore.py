"""Restore backups so that shredded data stays shredded.

    check the files, mark the database, refuse while others are connected, empty and fill, migrate,
    replay the current keyring's erasure ledger, follow its keys, try to decrypt memories, grant, unmark

The mark blocks other connections from the first change to the last step.  A restore that was killed must be run again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from apps.core.queries import fetch_all, fetch_value
from apps.crypto.services import follow_keyring
from apps.erasure import ledger
from apps.erasure.models import ErasureEntry
from apps.erasure.replay import ReplayedErasures, resume
from apps.erasure.restore_inspection import Inspection, inspect
from apps.tenants.models import Tenant
from memsync.ops import dumps, manifest, restored_rows
from memsync.ops.backup import ALIASES
from memsync.ops.manifest import BackupRefused, Kind, Manifest

LEDGER: Final = ErasureEntry._meta.db_table
HELD: Final = {"data": Tenant._meta.db_table, "keyring": "crypto_tenantkey"}


class RestoreRefused(Exception):
    """The restore did not start and nothing was changed.  Says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    manifests: dict[Kind, Manifest]
    replayed: ReplayedErasures
    inspection: Inspection


def restore(
    files: dict[Kind, Path],
    *,
    replace: bool,
    accept_unshredding: bool,
    sample: int | None,
    now: datetime,
    say: Callable[[str], None] = lambda sentence: None,
) -> Restored:
    """Restore the data, the keyring, or both.  Raises RestoreRefused, BackupRefused or DumpFailed."""
    manifests = {kind: manifest.read(file, kind, deployment=settings.DEPLOYMENT_ID) for kind, file in files.items()}
    with restored_rows.as_restorer():  # also of a database that a killed restore has marked
        programs = {kind: dumps.find_programs(ALIASES[kind]) for kind in files}
        for kind, made in manifests.items():
            _refuse_newer(kind, made)
        is_unfinished = restored_rows.is_marked()
        restored_rows.mark()
        try:
            _refuse_company()
            for kind in files:
                if not (replace or is_unfinished) and _holds_rows(kind):
                    raise RestoreRefused(f"The {kind} database is not empty: pass --replace to overwrite it.")
            if "keyring" in files and not accept_unshredding:
                _refuse_unshredding(files["keyring"], programs["keyring"], manifests.get("data"))
        except BaseException:
            if not is_unfinished:
                restored_rows.unmark()
            raise
        for kind in sorted(files, reverse=True):  # the keyring first: it decides what can be decrypted
            say(f"Restoring the {kind}")
            dumps.empty(ALIASES[kind])
            dumps.fill(ALIASES[kind], files[kind], programs[kind])
        done = _make_fit(sample=sample, now=now, say=say)
        restored_rows.unmark()
    return Restored(manifests=manifests, replayed=done[0], inspection=done[1])


def _make_fit(*, sample: int | None, now: datetime, say: Callable[[str], None]) -> tuple[ReplayedErasures, Inspection]:
    from memsync.management.commands.prepare import grant
    from memsync.ops.migration import migrate

    for alias in ("keyring", "default"):
        migrate(alias)
    say("Replaying the erasure ledger")
    replayed = resume(now=now)
    for tenant in Tenant.objects.order_by("pk"):
        follow_keyring(tenant, now=now)
    say("Decrypting memories")
    found = inspect(sample=sample)
    grant()
    return replayed, found


def _refuse_newer(kind: Kind, made: Manifest) -> None:
    known = {f"{app}.{name}" for app, name in MigrationLoader(connections[ALIASES[kind]]).disk_migrations}
    if unknown := set(made.migrations) - known:
        raise BackupRefused(
            f"The {kind} was backed up by memsync {made.memsync}, which has migrations unknown to this version "
            f"({', '.join(sorted(unknown)[:3])}): install that version, or a newer one."
        )


def _refuse_company() -> None:
    """Refuse while others are connected: connections opened before the mark have not seen it."""
    for alias in ALIASES.values():
        others = fetch_all(
            "select coalesce(usename, '?'), count(*) from pg_stat_activity where datname = current_database() "
            "and backend_type = 'client backend' and pid <> pg_backend_pid() group by 1 order by 1",
            using=alias,
        )
        if others:
            who = ", ".join(f"{role} ({count})" for role, count in others)
            raise RestoreRefused(f"Others are connected: {who}. Stop web server, worker and beat first.")


def _holds_rows(kind: Kind) -> bool:
    alias, table = ALIASES[kind], HELD[kind]
    if fetch_value("select to_regclass(%s)", [f"public.{table}"], using=alias) is None:
        return False
    return bool(fetch_value(f"select exists (select from {table})", using=alias))  # noqa: S608  (a table of ours)


def _refuse_unshredding(file: Path, programs: dumps.Programs, data: Manifest | None) -> None:
    """Refuse an older keyring: it holds keys and salts destroyed since, and its ledger lacks those erasures."""
    in_file = {_target(row) for row in dumps.rows_in(file, LEDGER, programs)}
    at_hand = {_target_of(entry) for entry in _entries_at_hand()}
    missing = len(at_hand - in_file)
    if not missing and data is not None:
        missing = max(0, data.ledger_entries - len(in_file))
    if missing:
        raise RestoreRefused(
            f"This backup of the keyring does not know of {missing} erasures that were made after it. With it, erased "
            "data can be read again wherever a copy of the rows exists, and nothing would erase it after this "
            "restore. Use a newer backup of the keyring, or pass --accept-unshredding to accept this."
        )


def _entries_at_hand() -> Iterable[ErasureEntry]:
    table = fetch_value("select to_regclass(%s)", [f"public.{LEDGER}"], using="keyring")
    return ledger.entries() if table is not None else []


def _target(row: dict[str, str | None]) -> tuple[str, ...]:
    return (str(row["kind"]), str(row["tenant_uid"]), str(row["target_uid"] or row["target_id"]))


def _target_of(entry: ErasureEntry) -> tuple[str, ...]:
    return (entry.kind, str(entry.tenant_uid), str(entry.target_uid or entry.target_id))
