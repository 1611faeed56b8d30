"""Backups of the two databases, each in its own file with a manifest.

Backups of the keyring are kept for seven days, those of the data for thirty-five.  An older backup of the data still
holds shredded rows, which an older backup of the keyring could decrypt: so the two are stored apart, and the keyring's
are deleted early.
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

from apps.core.queries import fetch_value
from apps.erasure import ledger
from memsync.ops import dumps, manifest
from memsync.ops.manifest import FORMAT, Kind, Manifest

ALIASES: Final[Mapping[Kind, str]] = {"data": "default", "keyring": "keyring"}
LIFETIMES: Final[Mapping[Kind, timedelta]] = {"data": timedelta(days=35), "keyring": timedelta(days=7)}


def back_up(kind: Kind, folder: Path, *, now: datetime) -> Manifest:
    """Write a backup and its manifest, mode 0600, each renamed into place when complete.  Raises DumpFailed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    alias = ALIASES[kind]
    programs = dumps.find_programs(alias)
    reached, lsn = ledger.position(), _lsn(alias)  # before the dump, which may contain more but never less
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
    """Delete expired backups of this kind, by the time in their names.  Returns the names of the deleted files."""
    gone = []
    for dump in sorted(folder.glob(f"memsync-{kind}-*.dump")):
        made_at = manifest.made_at_of(dump, kind)
        if made_at is not None and made_at < now - LIFETIMES[kind]:
            manifest.path_of(dump).unlink(missing_ok=True)
            dump.unlink()
            gone.append(dump.name)
    return gone


def applied(alias: str) -> list[str]:
    """The migrations applied to a database; empty for an empty database."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connections[alias]).applied_migrations())


def _lsn(alias: str) -> str:
    return str(fetch_value("select pg_current_wal_lsn()::text", using=alias))
