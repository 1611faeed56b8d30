"""The manifest beside a backup: deployment, time, source, and a hash of the dump."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from memsync import instance

FORMAT: Final = 1
Kind = Literal["data", "keyring"]


class BackupRefused(Exception):
    """The file is not a backup of memsync, is incomplete, or belongs to another deployment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """ledger_last_id, ledger_entries: position of the erasure ledger when the backup began."""

    format: int
    kind: Kind
    deployment: str
    made_at: str
    file: str
    bytes: int
    sha256: str
    server: str
    program: str
    memsync: str
    database_lsn: str
    migrations: list[str]
    ledger_last_id: int
    ledger_entries: int


def path_of(dump: Path) -> Path:
    return dump.with_suffix(".json")


def write(manifest: Manifest, dump: Path) -> None:
    instance.write(path_of(dump), asdict(manifest))


def read(dump: Path, kind: Kind, *, deployment: str) -> Manifest:
    """Read and verify the manifest of a dump: kind, deployment, and hash of the file.  Raises BackupRefused."""
    try:
        said = json.loads(path_of(dump).read_text())
        manifest = Manifest(**said)
    except (OSError, ValueError, TypeError) as error:
        raise BackupRefused(f"{path_of(dump)} is missing or is not a backup manifest.") from error
    if manifest.format != FORMAT:
        raise BackupRefused(f"{dump} is of format {manifest.format}, which this version of memsync does not know.")
    if manifest.kind != kind:
        raise BackupRefused(f"{dump} is a backup of the {manifest.kind}, not of the {kind}.")
    if manifest.deployment != deployment:
        raise BackupRefused(
            f"{dump} is of the deployment {manifest.deployment}; this is {deployment}. Its data can be decrypted only "
            "with its own DEPLOYMENT_ID."
        )
    try:
        found = sha256(dump)
    except OSError as error:
        raise BackupRefused(f"{dump} cannot be read: {error.strerror}.") from error
    if found != manifest.sha256:
        raise BackupRefused(f"{dump} is not the file named in its manifest: its SHA-256 differs.")
    return manifest


def sha256(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def name_of(kind: Kind, made_at: datetime) -> str:
    return f"memsync-{kind}-{made_at:%Y%m%dT%H%M%SZ}.dump"


def made_at_of(dump: Path, kind: Kind) -> datetime | None:
    """The backup time in a file name; None for any other file."""
    found = re.fullmatch(rf"memsync-{kind}-(\d{{8}}T\d{{6}})Z\.dump", dump.name)
    return datetime.strptime(f"{found[1]}+0000", "%Y%m%dT%H%M%S%z") if found else None
