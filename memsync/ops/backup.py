"""Backups of the two databases, each in a file of its own beside its manifest.

The keyring's backups live seven days, the data's thirty-five.  What was shredded is in older backups of the data, and
opens again with an older backup of the keyring: so the two are kept apart, and the keyring's go soon.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from apps.erasure import ledger
from memsync.ops import dumps, manifest
from memsync.ops.manifest import FORMAT, Kind, Manifest

ALIASES: Final[Mapping[Kind, str]] = {"data": "default", "keyring": "keyring"}
LIFETIMES: Final[Mapping[Kind, timedelta]] = {"data": timedelta(days=35), "keyring": timedelta(days=7)}


def back_up(kind: Kind, folder: Path, *, now: datetime) -> Manifest:
    """Write a backup and its manifest, mode 0600, each under its name only when complete.  Raises DumpFailed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    alias = ALIASES[kind]
    programs = dumps.find_programs(alias)
    reached, lsn = ledger.position(), _lsn(alias)  # before the dump, which may hold more and never less
    target = folder / manifest.name_of(kind, now)
    aside = folder / f".{target.name}.{secrets.token_hex(4)}"
    try:
        dumps.dump(alias, aside, programs)
        made = Manifest(
            format=FORMAT,
            kind=kind,
            deployment=settings.DEPLOYMENT_ID,
            made_at=now.isoformat(),
            file=target.name,
            bytes=aside.stat().st_size,
            sha256=manifest.sha256(aside),
            server=dumps.server_version(alias),
            program=programs.version,
            memsync=version("memsync"),
            database_lsn=lsn,
            migrations=applied(alias),
            ledger_last_id=reached.last_id,
            ledger_entries=reached.entries,
        )
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
    manifest.write(made, target)  # last: a dump without a manifest is no backup
    return made


def prune(kind: Kind, folder: Path, *, now: datetime) -> list[str]:
    """Delete the backups of this kind that are past their time, told by their names; the names of those deleted."""
    gone = []
    for dump in sorted(folder.glob(f"memsync-{kind}-*.dump")):
        made_at = manifest.made_at_of(dump, kind)
        if made_at is not None and made_at < now - LIFETIMES[kind]:
            manifest.path_of(dump).unlink(missing_ok=True)
            dump.unlink()
            gone.append(dump.name)
    return gone


def applied(alias: str) -> list[str]:
    """The migrations that a database has seen; none where there is nothing."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connections[alias]).applied_migrations())


def _lsn(alias: str) -> str:
    with connections[alias].cursor() as cursor:
        cursor.execute("select pg_current_wal_lsn()::text")
        row = cursor.fetchone()
    return str(row[0]) if row else ""
