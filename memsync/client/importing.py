"""`memsync import`: show what a file would add, and add it through imports of the server."""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from memsync.client.output import note, say, say_json, shortened
from memsync.client.server import MISUSED, CommandFailed, Server, add_address_options, address_of, require
from memsync.importers.files import FileUnreadable
from memsync.importers.previews import ImportPreview, preview
from memsync.importers.products import FORMATS
from memsync.importers.records import ConvertedRecord, Item

PART_BYTES: Final = 16 * 1024**2  # of one job; a server takes 64 MiB by default
FIRST_PAUSE: Final = 0.3  # seconds between two looks at a job; longer each time, as looks count for the key's limit
LONGEST_PAUSE: Final = 5.0
SHOWN_END_USERS: Final = 10
SHOWN_ERRORS: Final = 20
COUNTS: Final = ("created", "skipped", "already_imported", "pending_review", "rejected")


def add_parsers(commands: Any) -> None:
    command = commands.add_parser(
        "import",
        help="move in from another product, or from an export",
        description="Show what a file would add, and add it. The server decides what is worth keeping, as for any "
        "import; a repeated import stores nothing twice.",
        epilog="\n".join(f"{name + ':':<13}{one.expects}" for name, one in FORMATS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("file", help="the file; `-`: standard input")
    command.add_argument(
        "--from", dest="product", choices=FORMATS, default="memsync", metavar="PRODUCT", help=", ".join(FORMATS)
    )
    command.add_argument("--dry-run", action="store_true", help="only show what would be added")
    command.add_argument("--yes", action="store_true", help="do not ask")
    command.add_argument("--samples", type=int, default=5, metavar="N", help="records to show (default: %(default)s)")
    command.add_argument("--json", action="store_true", help="print one line of JSON")
    add_address_options(command)
    command.set_defaults(run=import_file)


def import_file(options: argparse.Namespace) -> int:
    address = address_of(options)
    with _opened(options.file) as file:
        try:
            found = preview(FORMATS[options.product].read(file), samples=max(0, options.samples))
        except FileUnreadable as error:
            raise CommandFailed(f"{options.file} cannot be read: {error}") from None
        if options.dry_run and options.json:
            say_json(found.body())
            return 0
        if not options.json:
            _show(found, options)
        if not found.records:
            raise CommandFailed(f"{options.file} holds nothing to import: expected {FORMATS[options.product].expects}")
        if options.dry_run:
            return 0
        require(address, end_user=bool(found.end_users[""]))
        if not options.yes:
            _ask(found.records)
        with Server(address) as server:
            outcome = ImportOutcomes()
            for part in parts(FORMATS[options.product].read(file)):
                outcome.add(part, _run(server, part, options))
    if options.json:
        say_json(found.body() | outcome.body())
    else:
        outcome.show()
    return 1 if outcome.counts["rejected"] or outcome.is_incomplete else 0


@dataclass(slots=True, kw_only=True)
class ImportPart:
    """Records of one job, a line each.  places: the place of each line among the records."""

    first: int
    count: int
    content: bytes
    have_references: bool


@dataclass(slots=True)
class ImportOutcomes:
    """The results of all jobs.  errors: with the places of the records in the whole file."""

    counts: Counter[str] = field(default_factory=Counter)
    jobs: list[str] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    is_incomplete: bool = False

    def add(self, part: ImportPart, job: Mapping[str, Any]) -> None:
        self.jobs.append(job["id"])
        self.counts.update({name: job[name] for name in COUNTS})
        self.is_incomplete |= job["status"] != "completed"
        self.errors += [{"record": part.first + one["line"] - 1, "reason": one["reason"]} for one in job["errors"]]

    def body(self) -> dict[str, Any]:
        return {"jobs": self.jobs, "errors": self.errors, "complete": not self.is_incomplete} | self.counts

    def show(self) -> None:
        say(
            f"{counted(self.counts['created'], 'record')} stored, {self.counts['skipped']} not worth keeping, "
            f"{self.counts['already_imported']} imported before, {self.counts['pending_review']} held for review, "
            f"{self.counts['rejected']} rejected."
        )
        for error in self.errors[:SHOWN_ERRORS]:
            say(f"  record {error['record']}: {error['reason']}")
        if self.is_incomplete:
            note("not all of it was imported: run the command again to go on")


def parts(items: Iterator[Item]) -> Iterator[ImportPart]:
    content, first, count, have_references = io.BytesIO(), 1, 0, True
    for item in items:
        if not isinstance(item, ConvertedRecord):
            continue
        content.write(json.dumps(item.fields).encode() + b"\n")
        count += 1
        have_references &= "client_ref" in item.fields or "extracted_type" in item.fields
        if content.tell() >= PART_BYTES:
            yield ImportPart(first=first, count=count, content=content.getvalue(), have_references=have_references)
            content, first, count, have_references = io.BytesIO(), first + count, 0, True
    if count:
        yield ImportPart(first=first, count=count, content=content.getvalue(), have_references=have_references)


def _run(server: Server, part: ImportPart, options: argparse.Namespace) -> dict[str, Any]:
    """The job of these records, once it has ended."""
    form = {"continue_on_error": "true"} | ({"resume": "true"} if part.have_references else {})
    if options.end_user:
        form["end_user_id"] = options.end_user
    file = (f"{options.product}.jsonl", part.content, "application/jsonl")
    job: dict[str, Any] = server.call("POST", "/imports", data=form, files={"file": file})
    pause = FIRST_PAUSE
    try:
        while job["progress_percentage"] < 100:
            if sys.stderr.isatty():
                done = part.first - 1 + job["processed_records"]
                print(f"\rmemsync: {done} records done", end="", file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, 1.5 * pause)
            job = server.call("GET", f"/imports/{job['id']}")
    except KeyboardInterrupt:
        raise CommandFailed(f"the server goes on with the import {job['id']}; what follows it was not sent") from None
    finally:
        if sys.stderr.isatty():
            print(file=sys.stderr)
    return job


@contextlib.contextmanager
def _opened(name: str) -> Iterator[io.BufferedReader]:
    """The file; standard input is copied first, because the file is read twice."""
    try:
        if name != "-":
            with Path(name).open("rb") as file:
                yield file
            return
        with tempfile.TemporaryFile(buffering=0) as copy:  # has no name, and goes with this process
            while piece := sys.stdin.buffer.read(1024 * 1024):
                copy.write(piece)
            yield io.BufferedReader(copy)
    except OSError as error:
        raise CommandFailed(f"{name} cannot be read: {error.strerror}") from None


def _show(found: ImportPreview, options: argparse.Namespace) -> None:
    say(counted(found.records, "record") + (f", from {found.first[:10]} to {found.last[:10]}" if found.first else ""))
    for kind, count in found.kinds.most_common():
        say(f"  {count} × {kind}")
    named = Counter({owner: count for owner, count in found.end_users.items() if owner})
    for owner, count in named.most_common(SHOWN_END_USERS):
        say(f"  {count} for the end user {owner}")
    if len(named) > SHOWN_END_USERS:
        say(f"  and for {len(named) - SHOWN_END_USERS} other end users")
    if count := found.end_users[""]:
        say(f"  {count} name no end user" + (f": they go to {options.end_user}" if options.end_user else ""))
    if found.skipped:
        say(f"{found.skipped.total()} left out")
        for reason, count in found.skipped.most_common():
            say(f"  {count} × {reason}")
    for number, fields in enumerate(found.shown, 1):
        say(f"sample {number}: {shortened(str(fields.get('text', '')), 100)}")


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _ask(count: int) -> None:
    if not sys.stdin.isatty():
        raise CommandFailed("add --yes to import without being asked, or --dry-run to only look", MISUSED)
    if input(f"Import {counted(count, 'record')}? [y/N] ").strip().lower() not in ("y", "yes"):
        raise CommandFailed("nothing was imported")
