"""`memsync audit`: see, check and take away the audit trail."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DataError, transaction
from django.utils import timezone
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from apps.audit.chain import Entry, NotAnEntry
from apps.audit.checkpoint_statement import Head, NotACheckpoint, Proof, Signed
from apps.audit.selectors import AuditFilter, all_entries, all_heads, count_rows, list_events
from apps.core.admin import OPERATOR
from apps.core.queries import execute, fetch_value
from apps.tenants.selectors import get_tenant
from apps.transparency import checkpoints
from apps.transparency.self_check import export_lines
from apps.transparency.verify import VerificationFinding, VerificationReport, trusted, verify
from memsync.management.plain import PlainCommand, add_json, add_tenant, duration, scope_of

NOT_THE_OPERATOR = (
    "Only the operator can read every chain: set OPERATOR_DATABASE_URL to the role that reads across tenants."
)
UNREADABLE = "A row of the trail is invalid and cannot be read: it was changed."


class Command(PlainCommand):
    help = "List, verify and export the audit trail."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="verify|export|list|checkpoint|key")
        check = verbs.add_parser(
            "verify",
            help="verify that no row of the trail was changed, moved or removed",
            description="Recompute every hash and compare every chain with the signed checkpoints. Names the first bad "
            "row of each chain; exit code 1 if there is one.",
        )
        check.add_argument("--tenant", metavar="NAME", help="only this tenant's chain")
        source = check.add_mutually_exclusive_group()
        source.add_argument("--checkpoint", type=Path, metavar="FILE", help="a checkpoint stored elsewhere")
        source.add_argument(
            "--from-dir",
            type=Path,
            metavar="DIR",
            help="the checkpoints of a directory (default: AUDIT_CHECKPOINT_DIR)",
        )
        source.add_argument("--file", type=Path, metavar="FILE", help="an exported chain; needs no database, and --key")
        check.add_argument(
            "--key",
            type=_public_key,
            metavar="HEX",
            help="the public key that `memsync audit key` shows (default: this deployment's own)",
        )
        take = verbs.add_parser(
            "export",
            help="write a tenant's chain as lines of JSON",
            description="Write a tenant's whole chain as lines of JSON, and as the last line the proof that the newest "
            "checkpoint signs it. `memsync audit verify --file` verifies it without a database.",
        )
        show = verbs.add_parser("list", help="show a tenant's newest rows", description="Show a tenant's newest rows.")
        show.add_argument("--action", help="exact, or a prefix that ends with a dot: `memory.`")
        show.add_argument("--actor", help="for example api_key:7")
        show.add_argument("--outcome", help="ok or denied")
        show.add_argument("--since", type=duration, metavar="TIME", help="how far back: 90d, 12h, 30m")
        show.add_argument("--limit", type=int, default=50, help="at most this many (default: 50)")
        for verb in (take, show):
            add_tenant(verb)
        now = verbs.add_parser(
            "checkpoint",
            help="sign the current end of every chain",
            description="Sign the current end of every chain and write it to AUDIT_CHECKPOINT_DIR.",
        )
        key = verbs.add_parser(
            "key",
            help="show the public key of the checkpoints",
            description="Show the public key that verifies checkpoints: store it apart from the trail.",
        )
        key.add_argument("--version", dest="key_version", type=int, help="of an older key (default: the current one)")
        for verb in (check, show, now, key):
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {"verify": self.verify, "export": self.export, "list": self.list, "checkpoint": self.checkpoint,
                 "key": self.key}  # fmt: skip
        verbs[options["verb"]](options)

    # -- verify ------------------------------------------------------------------------------------------------------

    def verify(self, options: dict[str, Any]) -> None:
        report = self._verify_file(options) if options["file"] else self._verify_database(options)
        if options["json"]:
            self.say_json(_described(report))
        else:
            self._draw(report)
        if not report.is_whole:
            raise CommandError(f"The audit trail is not intact: {_sentence(report.findings[0])}", returncode=1)

    def _verify_database(self, options: dict[str, Any]) -> VerificationReport:
        # Read the checkpoint files first: what they cover is committed, so the snapshot opened next contains it.
        given = _checkpoints_of_files(options)
        chain = get_tenant(options["tenant"]).pk if options["tenant"] else None
        with _snapshot(), self._progress(options) as progress:
            stored = progress(checkpoints.stored(using=OPERATOR), "Checkpoints", None)
            good, findings = trusted(
                [*given, *stored],
                deployment=settings.DEPLOYMENT_ID,
                is_signed=lambda one: checkpoints.is_signed(one, options["key"]),
            )
            known = [head for one in good for head in one.heads]
            if given and (more := _heads_of_newest(given, good)) is not None:
                known += more
            elif given:
                findings.append(_unfounded(given))
            heads = {head.chain: head for head in all_heads(using=OPERATOR) if chain in (None, head.chain)}
            try:
                report = verify(
                    progress(all_entries(chain, using=OPERATOR), "Rows", count_rows(chain, using=OPERATOR)),
                    heads=heads,
                    known=(head for head in known if chain in (None, head.chain)),
                )
            except DataError as error:
                raise CommandError(UNREADABLE, returncode=1) from error
        report.findings = findings + report.findings
        return report

    def _verify_file(self, options: dict[str, Any]) -> VerificationReport:
        if options["key"] is None:
            raise CommandError("Name the signing key with --key; `memsync audit key` shows it.", returncode=2)
        try:
            with options["file"].open(encoding="utf-8") as lines:
                entries, proof = _read_export(lines)
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}", returncode=2) from error
        except (NotAnEntry, NotACheckpoint, ValueError) as error:
            raise CommandError("This is not an export, or it was changed and cannot be read.", returncode=1) from error
        wrong = _wrong_with(proof, options["key"])
        report = verify(entries, known=[proof.head] if proof and not wrong else [])
        if wrong:
            report.findings.insert(0, VerificationFinding(kind="checkpoint", chain=None, seq=0, detail=wrong))
        return report

    def _draw(self, report: VerificationReport) -> None:
        if report.findings:
            table = Table("chain", "row", "id", "what", "why", box=SIMPLE_HEAD)
            for one in report.findings:
                chain = "checkpoint" if one.chain is None else _name_of(one.chain)
                table.add_row(chain, str(one.seq), str(one.row_id or ""), f"[red]{one.kind}[/red]", one.detail)
            self.say(table)
        covered = sum(report.covered.values())
        self.say(f"{report.rows:,} rows in {report.chains:,} chains; checkpoints confirm the first {covered:,}.")
        if report.is_whole:
            self.say("[green]No row was changed, moved or removed.[/green]")

    # -- the others --------------------------------------------------------------------------------------------------

    def export(self, options: dict[str, Any]) -> None:
        for line in export_lines(scope_of(options["tenant"])):
            self.stdout.write(line.decode(), ending="")

    def list(self, options: dict[str, Any]) -> None:
        wanted = AuditFilter(
            action=options["action"],
            actor=options["actor"],
            outcome=options["outcome"],
            since=timezone.now() - options["since"] if options["since"] else None,
        )
        found = list_events(scope_of(options["tenant"]), wanted, limit=max(1, options["limit"]))
        if options["json"]:
            self.say_json([entry.to_json() for entry in found])
            return
        table = Table("row", "time", "actor", "action", "target", "outcome", "reason", "count", box=SIMPLE_HEAD)
        for one in found:
            cells = (f"{one.created_at:%Y-%m-%d %H:%M:%S}", one.actor, one.action, one.target, one.outcome, one.reason)
            table.add_row(str(one.seq), *map(escape, cells), str(one.count))
        self.say(table if found else "No rows match.")

    def checkpoint(self, options: dict[str, Any]) -> None:
        signed = checkpoints.take_checkpoint(now=datetime.now(UTC), at_once=True)
        if options["json"]:
            self.say_json(signed.to_json() if signed else None)
        elif signed is None:
            self.say("No rows were added since the last checkpoint.")
        else:
            said = signed.statement
            self.say(f"Checkpoint {said.number}: {said.rows:,} rows in {said.chains:,} chains.")

    def key(self, options: dict[str, Any]) -> None:
        public = checkpoints.public_key(options["key_version"]).hex()
        if options["json"]:
            self.say_json({"algorithm": "Ed25519", "public_key": public})
        else:
            self.say_whole(public)

    @contextmanager
    def _progress(self, options: dict[str, Any]) -> Iterator[Any]:
        """A progress bar on stderr, hidden with --json."""
        with Progress(console=Console(stderr=True), disable=options["json"], transient=True) as bar:

            def along(things: Iterable[Any], name: str, total: int | None) -> Iterable[Any]:
                return bar.track(things, description=name, total=total)

            yield along


def _checkpoints_of_files(options: dict[str, Any]) -> list[Signed]:
    """The checkpoints of the named file or directory, which must hold some; else of the default one, if it exists."""
    default = Path(settings.AUDIT_CHECKPOINT_DIR)
    named = options["checkpoint"] or options["from_dir"]
    path = named or (default if default.is_dir() else None)
    if path is None:
        return []
    if options["checkpoint"] and path.is_dir():
        raise CommandError(f"{path} is a directory: name it with --from-dir.", returncode=2)
    try:
        found = list(checkpoints.read(path))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}", returncode=2) from error
    except NotACheckpoint as error:
        raise CommandError(f"{path} holds a line that is no checkpoint.", returncode=1) from error
    if named and not found:
        raise CommandError(f"{path} holds no checkpoint.", returncode=2)
    return found


def _heads_of_newest(given: list[Signed], good: list[Signed]) -> list[Head] | None:
    """The heads of all chains according to a file's newest valid checkpoint, including those that it does not list."""
    hashes = {one.statement.hash for one in good}
    believed = [one.statement for one in given if one.statement.hash in hashes]
    newest = max(believed, key=lambda one: one.number, default=None)
    return checkpoints.heads_at(newest, using=OPERATOR) if newest else []


def _unfounded(given: list[Signed]) -> VerificationFinding:
    number = max(one.statement.number for one in given)
    detail = "what this database kept of it and of those before is not what it signs"
    return VerificationFinding(kind="checkpoint", chain=None, seq=number, detail=detail)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Read everything as the operator in one snapshot: events recorded meanwhile are left to the next run."""
    with transaction.atomic(using=OPERATOR):
        execute("set transaction isolation level repeatable read, read only", using=OPERATOR)
        if fetch_value("select row_security_active('audit_auditevent')", using=OPERATOR):
            raise CommandError(NOT_THE_OPERATOR)
        yield


def _read_export(lines: Iterable[str]) -> tuple[list[Entry], Proof | None]:
    entries: list[Entry] = []
    proof = None
    for line in lines:
        record = json.loads(line)
        if not isinstance(record, dict) or proof:
            raise NotAnEntry
        if "checkpoint" in record:
            proof = Proof.from_json(record["checkpoint"])
        else:
            entries.append(Entry.from_json(record))
    if len({entry.chain for entry in entries}) > 1:
        raise NotAnEntry
    return entries, proof


def _wrong_with(proof: Proof | None, key: bytes) -> str | None:
    if proof is None:
        return "the file has none: nothing says that its end is the chain's end"
    signed = Signed(statement=proof.statement, signature=proof.signature, heads=(proof.head,))
    if not checkpoints.is_signed(signed, key):
        return "the signature is not that of this key"
    return None if proof.holds else "the chain's head is not among those it was made over"


def _public_key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ArgumentTypeError("a public key is 64 hex digits, as `memsync audit key` shows them")
    return key


def _name_of(chain: int) -> str:
    return f"tenant {chain}" if chain else "deployment"


def _sentence(one: VerificationFinding) -> str:
    where = f"checkpoint {one.seq}" if one.chain is None else f"{_name_of(one.chain)}, row {one.seq}"
    return f"{where}: {one.kind}, {one.detail}."


def _described(report: VerificationReport) -> dict[str, Any]:
    return {
        "whole": report.is_whole,
        "rows": report.rows,
        "chains": report.chains,
        "confirmed": report.covered,
        "findings": [
            {"kind": one.kind, "chain": one.chain, "seq": one.seq, "row_id": one.row_id, "detail": one.detail}
            for one in report.findings
        ],
    }
