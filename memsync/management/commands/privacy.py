"""`memsync privacy`: requests of people about all that is kept of them."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.box import SIMPLE_HEAD
from rich.table import Table

from apps.erasure.workflow import COMMAND_LINE, Authorisation
from apps.projects.scope import Scope
from apps.retention.subject_requests import SubjectRequestInfo, delete_person, hand_over, list_requests
from memsync.management.plain import PlainCommand, add_json, add_tenant, scope_of


class Command(PlainCommand):
    help = "List and carry out privacy requests of end users."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|delete|export")
        every = verbs.add_parser("list", help="show requests, newest first", description="Show requests, newest first.")
        every.add_argument("--overdue", action="store_true", help="only those past their deadline")
        delete = verbs.add_parser(
            "delete",
            help="carry out a deletion request",
            description="Erase the end user permanently in every environment; the request keeps the receipts.",
        )
        delete.add_argument("--yes", action="store_true", help="do not ask")
        export = verbs.add_parser(
            "export",
            help="carry out a request for access or export",
            description="Write all data stored about the end user, one line of JSON per row.",
        )
        export.add_argument("--to", type=Path, required=True, metavar="FILE", help="a new file, private to its owner")
        for verb in (delete, export):
            verb.add_argument("request", type=int, metavar="ID", help="as `memsync privacy list` shows it")
        for verb in (every, delete, export):
            add_tenant(verb)
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {"list": self.list, "delete": self.delete, "export": self.export}
        verbs[options["verb"]](scope_of(options["tenant"]), options)

    def list(self, scope: Scope, options: dict[str, Any]) -> None:
        found = list_requests(scope, overdue=options["overdue"], now=timezone.now())
        if options["json"]:
            self.say_json([_line(one) for one in found])
            return
        table = Table("request", "person", "kind", "state", "due", "", box=SIMPLE_HEAD)
        for one in found:
            late = "[red]overdue[/red]" if one.is_overdue else one.error
            table.add_row(str(one.id), str(one.end_user_id), one.kind, one.state, f"{one.due_at:%Y-%m-%d}", late)
        self.say(table if found else "There are no requests.")

    def delete(self, scope: Scope, options: dict[str, Any]) -> None:
        if not options["yes"]:
            if options["json"]:
                raise CommandError("With --json pass --yes too: there is no prompt.", returncode=2)
            try:
                said = input(f"Type the request's number ({options['request']}) to erase the end user permanently: ")
            except EOFError:
                said = ""
            if said.strip() != str(options["request"]):
                raise CommandError("Nothing was erased.")
        by = Authorisation(principal=scope.principal, method=COMMAND_LINE)
        self.tell(delete_person(scope, options["request"], authorised=by, now=timezone.now()), options)

    def export(self, scope: Scope, options: dict[str, Any]) -> None:
        file: Path = options["to"]
        try:  # before the request is begun
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError as error:
            raise CommandError(f"{file} exists: name a new file. Nothing was done.", returncode=2) from error
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}", returncode=2) from error
        count = 0
        try:
            with os.fdopen(descriptor, "wb") as target:
                for piece in hand_over(scope, options["request"], now=timezone.now()):
                    target.write(piece)
                    count += piece.count(b"\n")
        except BaseException:
            file.unlink()  # a part of it is no answer to the request
            raise
        if options["json"]:
            self.say_json({"request": options["request"], "records": count})
        else:
            self.say(f"{count} lines in {file}.")

    def tell(self, one: SubjectRequestInfo, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json(_line(one))
        else:
            receipts = f"Receipts: {', '.join(one.evidence)}" if one.evidence else "They had been erased before."
            self.say(f"Erased {one.records} memories. {receipts}")


def _line(one: SubjectRequestInfo) -> dict[str, Any]:
    return {
        "request": one.id,
        "person": one.end_user_id,
        "kind": one.kind.value,
        "state": one.state.value,
        "due_at": one.due_at.isoformat(),
        "overdue": one.is_overdue,
        "error": one.error,
        "records": one.records,
        "receipts": [*one.evidence],
    }
