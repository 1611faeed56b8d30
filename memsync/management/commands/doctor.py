import sys
from argparse import ArgumentParser
from collections import Counter
from dataclasses import asdict
from typing import Any, Final

from django.utils import timezone
from rich.table import Table
from rich.text import Text

from memsync.management.plain import PlainCommand, add_json
from memsync.ops.doctor.examination import PATIENCE, examine
from memsync.ops.doctor.findings import DoctorFinding, State

COLOURS: Final = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}


class Command(PlainCommand):
    help = "Check every part and report problems and remedies. Exit code 1 if a check fails."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json(parser)
        parser.add_argument(
            "--patience",
            type=float,
            default=PATIENCE,
            metavar="SECONDS",
            help="seconds to wait for beat, and again for a worker (default: %(default)g)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        findings = list(examine(now=timezone.now(), patience=options["patience"]))
        if options["json"]:
            self.say_json({"healthy": not _fails(findings), "findings": [asdict(finding) for finding in findings]})
        else:
            self._show(findings)
        if _fails(findings):
            sys.exit(1)

    def _show(self, findings: list[DoctorFinding]) -> None:
        table = Table(box=None, show_header=False, padding=(0, 1))
        for finding in findings:
            colour = COLOURS[finding.state]
            said = finding.said + (f"\n→ {finding.hint}" if finding.hint else "")
            table.add_row(Text(finding.state, style=colour), finding.part, Text(said))
        self.say(table)
        counts = Counter(finding.state for finding in findings)
        self.say("  ".join(f"{counts[state]} {state}" for state in State))


def _fails(findings: list[DoctorFinding]) -> bool:
    return any(finding.state is State.FAIL for finding in findings)
