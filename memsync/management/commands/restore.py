"""`memsync restore`: bring backups back, without what was erased since they were made."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.table import Table

from apps.erasure.restore_inspection import SAMPLE
from memsync.management.plain import PlainCommand, add_json
from memsync.ops.dumps import DumpFailed
from memsync.ops.manifest import BackupRefused, Kind
from memsync.ops.restore import Restored, RestoreRefused, restore


class Command(PlainCommand):
    help = (
        "Restore the data, the keyring, or both, while the service is stopped. Data in the keyring's erasure ledger is "
        "deleted again before the service starts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, metavar="FILE", help="a backup of the data")
        parser.add_argument(
            "--keyring",
            type=Path,
            metavar="FILE",
            help="a backup of the keyring; omit it if the current keyring still exists, which is newer",
        )
        parser.add_argument("--replace", action="store_true", help="replace the current contents of the database")
        parser.add_argument(
            "--accept-unshredding",
            action="store_true",
            help="restore a keyring that lacks some erasures: data they erased becomes readable again",
        )
        parser.add_argument(
            "--open-all", action="store_true", help=f"decrypt every memory, not only the newest {SAMPLE} of each space"
        )
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        files: dict[Kind, Path] = {}
        if options["data"]:
            files["data"] = options["data"].resolve()
        if options["keyring"]:
            files["keyring"] = options["keyring"].resolve()
        if not files:
            raise CommandError("Name what to restore: --data FILE, --keyring FILE, or both.", returncode=2)
        try:
            done = restore(
                files,
                replace=options["replace"],
                accept_unshredding=options["accept_unshredding"],
                sample=None if options["open_all"] else SAMPLE,
                now=timezone.now(),
                say=lambda sentence: self.stderr.write(f"memsync: {sentence}"),
            )
        except (RestoreRefused, BackupRefused, DumpFailed) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.say_json(_described(done))
        else:
            self.say(_drawn(done))
        if not done.inspection.is_well:
            raise CommandError("Restored, but not all data can be decrypted: see above. The database accepts traffic.")


def _described(done: Restored) -> dict[str, Any]:
    return {
        "restored": {kind: asdict(made) for kind, made in done.manifests.items()},
        "erased_again": asdict(done.replayed),
        "inspection": asdict(done.inspection),
        "is_well": done.inspection.is_well,
    }


def _drawn(done: Restored) -> Table:
    table = Table("what", "how many")
    for kind, made in done.manifests.items():
        table.add_row(f"{kind} of {made.made_at[:19]}", f"{made.bytes:,} bytes")
    again, found = done.replayed, done.inspection
    table.add_row("erasures in the ledger", str(again.entries))
    table.add_row("erased again", f"{again.tenants} tenants, {again.spaces} spaces, {again.memories} memories")
    table.add_row("here now", f"{found.tenants} tenants, {found.spaces} spaces, {found.memories} memories")
    table.add_row("memories without a key", str(found.memories_without_key))
    table.add_row("spaces without a salt", str(found.spaces_without_salt))
    table.add_row("tried to open", f"{found.opened} of {found.opened + found.failed} opened")
    return table
