"""`memsync receipt`: what was erased, signed; and whether such a receipt is genuine."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from apps.erasure import receipt_log
from apps.transparency.receipts import Genuine, ReceiptVerdict, Refuted, name_of, read_keys, verify
from memsync.management.plain import PlainCommand, add_json, add_tenant, scope_of

UNREADABLE = 2


class Command(PlainCommand):
    help = "List, download and verify erasure receipts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|download|verify|keys|checkpoint")
        every = verbs.add_parser("list", help="show a tenant's newest receipts", description="Newest first.")
        every.add_argument("--limit", type=int, default=50, help="at most this many (default: 50)")
        one = verbs.add_parser("show", help="show a receipt", description="Show a receipt.")
        take = verbs.add_parser(
            "download",
            help="write a receipt's self-contained file",
            description="Write a receipt with its proof and, for its holder, its subject.",
        )
        take.add_argument("--to", type=Path, metavar="FILE", help="target file (default: standard output)")
        take.add_argument(
            "--since", type=int, metavar="SIZE", help="prove that the log only grew since a checkpoint of this size"
        )
        for verb in (one, take):
            verb.add_argument("receipt", metavar="ID", help="as `memsync receipt list` shows it: rcp_...")
        for verb in (every, one, take):
            add_tenant(verb)
        check = verbs.add_parser(
            "verify",
            help="verify a receipt's file; needs only the file and the public keys",
            description="Check a receipt's file: its signature, that the log holds it, and what it is about. Neither a "
            "database nor a setting is read. Ends with 0, or with " + _codes() + ".",
        )
        check.add_argument("file", type=Path, metavar="FILE")
        check.add_argument(
            "--keys", type=Path, required=True, metavar="FILE", help="output of `memsync receipt keys`, stored apart"
        )
        check.add_argument("--target", metavar="WHAT", help="the expected subject: memories:41,42 or space:0b5c...")
        check.add_argument(
            "--checkpoint", type=Path, metavar="FILE", help="an older checkpoint that the log must extend"
        )
        keys = verbs.add_parser("keys", help="show the public keys that verify receipts", description="JSON.")
        point = verbs.add_parser(
            "checkpoint",
            help="show the newest checkpoint of the log of receipts",
            description="Show the newest signed checkpoint of the log: store it apart from the log.",
        )
        for verb in (every, one, take, check, keys, point):
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {"list": self.list, "show": self.show, "download": self.download, "verify": self.verify,
                 "keys": self.keys, "checkpoint": self.checkpoint}  # fmt: skip
        verbs[options["verb"]](options)

    def list(self, options: dict[str, Any]) -> None:
        found = receipt_log.receipts_of(scope_of(options["tenant"]), limit=max(1, options["limit"]))
        if options["json"]:
            self.say_json([_line(one) for one in found])
            return
        table = Table(
            Column("receipt", no_wrap=True, min_width=36), "issued", "phase", "of", "memories", box=SIMPLE_HEAD
        )
        for one in found:
            memories = str(one.counts.get("memories", 0))
            table.add_row(one.id, f"{one.issued_at:%Y-%m-%d %H:%M}", one.phase, one.kind, memories)
        self.say(table if found else "Nothing was erased.")

    def show(self, options: dict[str, Any]) -> None:
        found = receipt_log.get_receipt(scope_of(options["tenant"]), options["receipt"])
        if options["json"]:
            self.say_json(_line(found))
            return
        receipt = found.file["receipt"]
        self.say(f"{found.id}: {found.phase}, {name_of(found.file['disclosure']['target'])}")
        self.say(f"issued {receipt['issued_at']}, entry {receipt['log_index']} of the log")
        for name, number in sorted(found.counts.items()):
            self.say(f"  {name}: {number}")
        for name, said in receipt["phases"].items():
            self.say(f"  {name}: {', '.join(f'{key} {value}' for key, value in said.items())}")

    def download(self, options: dict[str, Any]) -> None:
        found = receipt_log.get_receipt(scope_of(options["tenant"]), options["receipt"], since=options["since"])
        if options["to"] is None:
            self.say_json(dict(found.file))
            return
        options["to"].write_bytes(found.to_json())
        self.say(f"{options['to']}: {found.id}")

    def verify(self, options: dict[str, Any]) -> None:
        keys, file = _read(options["keys"]), _read(options["file"])
        older = _read(options["checkpoint"]).decode(errors="replace") if options["checkpoint"] else None
        try:
            genuine = verify(file, read_keys(keys), target=options["target"], older=older)
        except Refuted as refuted:
            if options["json"]:
                self.say_json({"verdict": refuted.verdict.name.lower(), "why": refuted.why})
                sys.exit(refuted.verdict)
            raise CommandError(
                f"{refuted.verdict.name.lower()}: {refuted.why}.", returncode=refuted.verdict
            ) from refuted
        if options["json"]:
            self.say_json({"verdict": "genuine", **_described(genuine)})
            return
        receipt = genuine.receipt
        about = name_of(genuine.target) if genuine.target is not None else "(not said in this file)"
        self.say(f"Genuine: {receipt['receipt']}, {receipt['phase']} at {receipt['issued_at']}.")
        self.say(f"What was erased: {about}")
        self.say(f"It is entry {receipt['log_index']} of a log of {genuine.checkpoint.splitlines()[1]} receipts.")

    def keys(self, options: dict[str, Any]) -> None:
        self.say_json(receipt_log.public_keys().to_json())

    def checkpoint(self, options: dict[str, Any]) -> None:
        note = receipt_log.newest_checkpoint()
        if options["json"]:
            self.say_json(note)
        elif note is None:
            self.say("Nothing was erased.")
        else:
            self.stdout.write(note, ending="")


def _codes() -> str:
    return ", ".join(f"{one.value} ({one.name.lower().replace('_', ' ')})" for one in ReceiptVerdict if one.value)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}", returncode=UNREADABLE) from error


def _line(one: receipt_log.ReceiptFile) -> dict[str, Any]:
    return {
        "receipt": one.id,
        "erasure": one.erasure_id,
        "phase": one.phase.value,
        "kind": one.kind,
        "issued_at": one.issued_at.isoformat(),
        "counts": dict(one.counts),
    }


def _described(genuine: Genuine) -> dict[str, Any]:
    return {
        "receipt": dict(genuine.receipt),
        "target": dict(genuine.target) if genuine.target is not None else None,
        "checkpoint": genuine.checkpoint,
    }
