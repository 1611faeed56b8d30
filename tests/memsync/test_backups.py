"""Backups and restores: whole, apart, checked, and unable to bring back what was shredded."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from apps.apikeys.onboarding import OpenedTenant
from memsync.ops import backup, dumps, manifest, restored_rows
from memsync.ops.backup import back_up, prune
from memsync.ops.manifest import BackupRefused
from memsync.ops.restore import RestoreRefused, restore
from memsync.ops.restored_rows import RestoreUnderWay
from tests.makers import NOW

ROOT = Path(__file__).resolve().parents[2]


def test_the_image_has_the_programs_of_the_server_that_compose_runs() -> None:
    """They are refused if they are older than the server."""
    compose, image = ((ROOT / "docker" / name).read_text() for name in ("compose.yaml", "Dockerfile"))
    served = re.findall(r"image: pgvector/pgvector:pg(\d+)", compose)

    assert len(served) == 1
    assert re.findall(r"postgresql-client-(\d+)", image) == served
    assert f":/usr/lib/postgresql/{served[0]}/bin:" in image


@pytest.mark.e2e
def test_drill_opens_nothing_that_was_shredded_and_everything_else() -> None:
    command = [sys.executable, "scripts/restore-drill", "--tenants", "2", "--spaces", "2", "--memories", "2", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "MEMSYNC"))}

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    said = json.loads(done.stdout)
    alone, restored, control = said["legs"]
    assert (alone["shredded"], restored["shredded"]) == ({"there": 6, "opened": 0}, {"there": 0, "opened": 0})
    assert control["shredded"] == {"there": 6, "opened": 6}  # or the drill could not fail
    assert [leg["others"] for leg in said["legs"]] == [{"there": 2, "opened": 2}] * 3
    assert (said["remanence"]["looked_for"], said["remanence"]["opened"]) == (6, 0)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As the owner of the databases, whom a backup needs."""
    from memsync.testing.databases import PASSWORD

    usual = {alias: dict(connections[alias].settings_dict) for alias in ("default", "keyring")}
    for alias in usual:
        connections[alias].close()
        connections[alias].settings_dict |= {"USER": "memsync_owner", "PASSWORD": PASSWORD}
    yield
    for alias, before in usual.items():
        connections[alias].close()
        connections[alias].settings_dict.update(before)


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_the_two_are_apart_for_their_owner_alone_and_told_of(
    acme: OpenedTenant, programs: None, tmp_path: Path
) -> None:
    data, keyring = back_up("data", tmp_path / "data", now=NOW), back_up("keyring", tmp_path / "keyring", now=NOW)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    dump = tmp_path / "data" / data.file
    assert manifest.read(dump, "data", deployment="memsync-tests") == data
    assert data.sha256 != keyring.sha256
    assert "crypto.0003_guards" in keyring.migrations
    found = dumps.find_programs("default")
    assert [row["name"] for row in dumps.rows_in(dump, "tenants_tenant", found)] == ["acme"]
    # Neither holds the other's rows: a thief of one has no key, a thief of the other no text.
    assert list(dumps.rows_in(dump, "crypto_tenantkey", found)) == []
    assert list(dumps.rows_in(tmp_path / "keyring" / keyring.file, "memories_memory", found)) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"deployment": "another"}, "DEPLOYMENT_ID"),
        ({"kind": "keyring"}, "not of the data"),
        ({"format": 2}, "format 2"),
        ({"sha256": "0" * 64}, "SHA-256"),
        ({"surprise": 1}, "not a backup manifest"),
    ],
)
def test_a_file_that_is_not_what_its_manifest_says_is_refused(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    dump = tmp_path / "memsync-data-20261121T120000Z.dump"
    dump.write_bytes(b"a dump")
    said = {
        "format": 1, "kind": "data", "deployment": "mine", "made_at": NOW.isoformat(), "file": dump.name, "bytes": 6,
        "sha256": manifest.sha256(dump), "server": "18.4", "program": "18.4", "memsync": "0.1.0", "database_lsn": "0/0",
        "migrations": [], "ledger_last_id": 0, "ledger_entries": 0,
    }  # fmt: skip
    manifest.path_of(dump).write_text(json.dumps(said))
    assert manifest.read(dump, "data", deployment="mine").file == dump.name

    manifest.path_of(dump).write_text(json.dumps(said | change))
    with pytest.raises(BackupRefused, match=reason):
        manifest.read(dump, "data", deployment="mine")


def test_only_what_is_past_its_time_is_deleted(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
    for kind, days in (("data", 34), ("data", 36), ("keyring", 6), ("keyring", 8)):
        dump = tmp_path / manifest.name_of(kind, now - timedelta(days=days))
        dump.touch()
        manifest.path_of(dump).touch()
    (tmp_path / "memsync-data-of-mine.dump").touch()

    gone = [*prune("data", tmp_path, now=now), *prune("keyring", tmp_path, now=now)]

    assert gone == ["memsync-data-20261016T030000Z.dump", "memsync-keyring-20261113T030000Z.dump"]
    assert len(list(tmp_path.iterdir())) == 5


def test_both_in_one_directory_only_when_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="store the two in different places"):
        call_command("backup", "--to", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_data_outlives_the_keyring() -> None:
    """Shredding reaches old backups of the data as soon as the keyring's from before are gone."""
    assert backup.LIFETIMES["keyring"] < backup.LIFETIMES["data"]


# -- the mark ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_nobody_connects_while_a_restore_is_under_way(acme: OpenedTenant, programs: None) -> None:
    """The attack: kill the restore between the rows and the replay, and be served what was erased."""
    with restored_rows.as_restorer():
        restored_rows.mark()
    connections["default"].close()
    try:
        for _ in range(2):  # and the refused connection is not left open for the next statement
            with pytest.raises(RestoreUnderWay), connections["default"].cursor() as cursor:
                cursor.execute("select 1")
    finally:
        with restored_rows.as_restorer():
            restored_rows.unmark()
        connections["default"].close()
    with connections["default"].cursor() as cursor:
        cursor.execute("select count(*) from tenants_tenant")
        assert cursor.fetchone() == (1,)


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_restore_that_was_killed_can_be_run_again(
    acme: OpenedTenant, programs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def find_programs(alias: str) -> None:  # it asks the server for its version
        with connections[alias].cursor() as cursor:
            cursor.execute("select 1")

    def refuse_company() -> None:
        raise RestoreRefused("It gets as far as the other connections.")

    made = SimpleNamespace(memsync="0.1.0", migrations=[])
    monkeypatch.setattr("memsync.ops.manifest.read", lambda *_, **__: made)
    monkeypatch.setattr("memsync.ops.dumps.find_programs", find_programs)
    monkeypatch.setattr("memsync.ops.restore._refuse_company", refuse_company)
    with restored_rows.as_restorer():
        restored_rows.mark()
    connections["default"].close()
    try:
        with pytest.raises(RestoreRefused, match="as far as"):
            restore({"data": tmp_path}, replace=False, accept_unshredding=False, sample=None, now=NOW)
    finally:
        with restored_rows.as_restorer():
            restored_rows.unmark()
        connections["default"].close()
