"""`memsync backup`: the data and the keyring, each into a file of its own."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.table import Table

from memsync.management.plain import PlainCommand, add_json
from memsync.ops.backup import LIFETIMES, back_up, prune
from memsync.ops.dumps import DumpFailed
from memsync.ops.manifest import Kind

WHY_APART = (
    "Backups of the data are kept 35 days, those of the keyring 7. Shredded data stays in older backups of the data "
    "until they expire, and can be read only with an older backup of the keyring: so store the two in different "
    "places with different lifetimes. Name a second directory with --keyring-to, create only one with --only, or pass "
    "--together."
)
NOT_IN_IT = "Neither contains kek.json, which unwraps the keyring, nor secrets.json. Store copies of both separately."


class Command(PlainCommand):
    help = f"Back up the data and the keyring. {WHY_APART} {NOT_IN_IT}"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="target; created if missing")
        parser.add_argument("--keyring-to", type=Path, metavar="DIR", help="separate directory for the keyring backup")
        parser.add_argument("--only", choices=list(LIFETIMES), help="create only one of the two")
        parser.add_argument("--together", action="store_true", help="write both to one directory")
        parser.add_argument(
            "--prune", action="store_true", help="then delete old backups there: data after 35 days, keyring after 7"
        )
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        folders = _folders(options)
        now = timezone.now()
        try:
            made = [(folder, back_up(kind, folder, now=now)) for kind, folder in folders.items()]
            gone = [name for kind, folder in folders.items() for name in _pruned(kind, folder, options, now)]
        except DumpFailed as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename or 'The directory'} cannot be written: {error.strerror}.") from error
        if options["json"]:
            self.say_json({"backups": [asdict(one) | {"folder": str(folder)} for folder, one in made], "pruned": gone})
            return
        table = Table("what", "file", "bytes", "erasures known")
        for folder, one in made:
            table.add_row(one.kind, str(folder / one.file), f"{one.bytes:,}", str(one.ledger_entries))
        self.say(table)
        self.say(NOT_IN_IT)
        if gone:
            self.say(f"Deleted {len(gone)} that were past their time.")


def _pruned(kind: Kind, folder: Path, options: dict[str, Any], now: Any) -> list[str]:
    return prune(kind, folder, now=now) if options["prune"] else []


def _folders(options: dict[str, Any]) -> dict[Kind, Path]:
    """Data first: the keyring's backup must contain every key that the data's backup uses."""
    to, keyring_to = options["to"].resolve(), options["keyring_to"]
    keyring_to = keyring_to.resolve() if keyring_to else to
    if options["only"]:
        return {options["only"]: keyring_to if options["only"] == "keyring" else to}
    if keyring_to == to and not options["together"]:
        raise CommandError(WHY_APART, returncode=2)
    return {"data": to, "keyring": keyring_to}
