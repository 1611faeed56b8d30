"""Base of the commands for people: errors as one line with an exit code, and tables or one line of JSON.

Exit codes: 0 done; 1 refused, with the reason on stderr; 2 invalid arguments, with the usage.
"""

import json
import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from apps.adapters.errors import AdapterError
from apps.core.errors import DomainError
from apps.core.retries import retried, was_given_up
from apps.projects.scope import Environment, Principal, Scope
from apps.projects.selectors import scope_in
from apps.tenants.models import Tenant
from apps.tenants.selectors import get_tenant, list_tenants
from memsync import instance

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}

UNLIMITED = 100_000  # columns
LONGEST_DURATION = timedelta(days=36_500)

UNREACHABLE = "The database cannot be reached. Is `memsync up` running with the same MEMSYNC_HOME?"

CROWDED = "Concurrent changes conflicted repeatedly. Nothing was done; try again."


def _with_reason(error: DomainError) -> str:
    """The message, its details, and what an adapter said, such as which file of keys is damaged."""
    details = "; ".join(", ".join(f"{name} {value}" for name, value in one.items()) for one in error.details)
    reason = str(error.__cause__) if isinstance(error.__cause__, AdapterError) else ""
    return " ".join(part for part in (error.message, f"Details: {details}." if details else "", reason) if part)


class PlainCommand(BaseCommand):
    requires_system_checks = ()
    # Django's own options work but are hidden in the help: these commands are for people who run memsync.
    suppressed_base_arguments = {  # noqa: RUF012  (declared so by Django)
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return retried(super().execute)(*args, **options)
        except CommandError as error:
            refusal = error
        except DomainError as error:
            refusal = CommandError(_with_reason(error))
        except AdapterError as error:
            refusal = CommandError(str(error))
        except OperationalError as error:
            refusal = CommandError(CROWDED if was_given_up(error) else UNREACHABLE)
        except ProgrammingError as error:
            if "does not exist" not in str(error):
                raise
            refusal = CommandError("The database is not prepared yet: run `memsync up` or `memsync prepare`.")
        if not getattr(self, "_called_from_command_line", False):
            raise refusal
        self.stderr.write(f"memsync: {refusal}")
        sys.exit(refusal.returncode)

    def say(self, thing: Any) -> None:
        """Print text, or anything that rich can draw, for a person.  In a file or a pipe nothing is wrapped or cut."""
        is_narrow = self.stdout.isatty() or "COLUMNS" in os.environ
        Console(file=cast("IO[str]", self.stdout), width=None if is_narrow else UNLIMITED).print(thing)

    def say_whole(self, text: str) -> None:
        """Print text that a person will copy: never wrapped, however narrow the terminal."""
        Console(file=cast("IO[str]", self.stdout)).print(text, soft_wrap=True)

    def bar(self, options: dict[str, Any]) -> Progress:
        """A progress bar on stderr, so that stdout stays readable by programs."""
        return Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
            console=Console(stderr=True), disable=options["json"], transient=True,
        )  # fmt: skip

    def say_json(self, answer: Any) -> None:
        self.stdout.write(json.dumps(answer))


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead of a table")


def add_tenant(parser: ArgumentParser) -> None:
    parser.add_argument("--tenant", metavar="NAME", help="the tenant (optional if there is only one tenant)")


def add_space(parser: ArgumentParser) -> None:
    """``--space``, or ``--user`` with ``--environment``."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--space", type=int, metavar="ID", help="the space's id, as `memsync space list` shows")
    which.add_argument("--user", metavar="ID", help="the tenant's own id of the end user whose space it is")
    parser.add_argument(
        "--environment",
        choices=[environment.value for environment in Environment],
        default="production",
        help="of the end user's space (default: production)",
    )


def duration(text: str) -> timedelta:
    """``90d``, ``12h``, ``30m``, ``10s``, or ``0``; at most LONGEST_DURATION, so that no date leaves the calendar."""
    found = re.fullmatch(r"(\d{1,6})([dhms])", "0s" if text == "0" else text)
    span = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None
    if span is None or span > LONGEST_DURATION:
        raise ArgumentTypeError(
            f"{text!r} is not a duration; write 90d, 12h, 30m or 0, and at most {LONGEST_DURATION.days}d"
        )
    return span


def chosen_tenant(name: str | None) -> Tenant:
    """The tenant of this name, or the only one that is open.  Raises TenantNotFound or CommandError."""
    if name:
        return get_tenant(name)
    found = [tenant for tenant in list_tenants() if tenant.closed_at is None]
    if len(found) != 1:
        there = ", ".join(tenant.name for tenant in found[:10]) or "none yet"
        raise CommandError(f"Name the tenant with --tenant NAME. There are: {there}.", returncode=2)
    return found[0]


def scope_of(name: str | None) -> Scope:
    """The scope of the tenant that ``chosen_tenant`` returns."""
    return scope_in(chosen_tenant(name), principal=operator())


def operator() -> Principal:
    """The actor name in the audit trail: ``command:`` and the user id that runs the command on this host."""
    return Principal(kind="command", id=os.getuid())


def url() -> str | None:
    """URL of the embedded instance; None while it does not run."""
    found = instance.running().get("url")
    return str(found) if found else None
