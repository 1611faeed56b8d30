"""The commands `memsync up`, `down` and `status`: their arguments, what they print and their exit codes."""

import argparse
import errno
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

from memsync import instance
from memsync.launcher.embedded.errors import DiskFull, EmbeddedError
from memsync.launcher.embedded.lock_file import holder
from memsync.launcher.supervisor import Supervisor
from memsync.ops import smoke_test


def up(options: argparse.Namespace) -> int:
    return Supervisor(options).run()


def down(options: argparse.Namespace) -> int:
    home = instance.home()
    pid = holder(home)
    if pid is None:
        print(f"memsync: nothing runs in {home}", file=sys.stderr)
        return 0
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + options.timeout
    while holder(home) == pid:
        if time.monotonic() > deadline:
            print(f"memsync: process {pid} has not stopped after {options.timeout} s", file=sys.stderr)
            return 1
        time.sleep(0.05)
    print("memsync: stopped", file=sys.stderr)
    return 0


def status(options: argparse.Namespace) -> int:
    """Exit code 0 if memsync runs and answers that all of its parts are healthy, else 1."""
    home = instance.home()
    pid = holder(home)
    found = instance.running() if pid else {}
    found.pop("environment", None)  # contains passwords
    unhealthy = smoke_test.unhealthy_parts(found["url"]) if found else None
    healthy = unhealthy == []
    state = {"running": pid is not None, "healthy": healthy, "unhealthy": unhealthy or [], "home": str(home)} | found
    if options.json:
        print(json.dumps(state))
    elif pid is None:
        print(f"Nothing runs in {home}.")
    else:
        said = "healthy" if healthy else f"unhealthy: {', '.join(unhealthy)}" if unhealthy else "not answering"
        print(f"{found.get('url', 'starting')} ({said}), process {pid}, {home}")
        for name, process in found.get("processes", {}).items():
            print(f"  {name}: process {process['pid']}, restarted {process['restarts']} times")
    return 0 if healthy else 1


def _whole(most: int) -> Callable[[str], int]:
    """An argparse type for a whole number from 1 to most."""

    def read(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {most}")
        return int(text)

    return read


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(prog="memsync")
    commands = whole.add_subparsers(dest="command", required=True)
    up_command = commands.add_parser(
        "up",
        help="start all services and keep them running",
        description="Start database, web server, worker and beat here, store and recall a test memory, print the "
        "address and, on the first run, the keys; then run until Ctrl-C. The data stays in MEMSYNC_HOME "
        "(default: ./.memsync).",
    )
    up_command.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    up_command.add_argument("--port", type=_whole(65535), default=8000, help="the port there (default: %(default)s)")
    up_command.add_argument(
        "--workers", type=_whole(64), default=2, help="processes of the web server (default: %(default)s)"
    )
    up_command.add_argument("--json", action="store_true", help="print one line of JSON when ready")
    up_command.add_argument("--reissue", action="store_true", help="create new keys and passwords")
    up_command.set_defaults(run=up)
    down_command = commands.add_parser("down", help="stop what `memsync up` runs in this home")
    down_command.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="how long to wait (default: %(default)g)"
    )
    down_command.set_defaults(run=down)
    status_command = commands.add_parser("status", help="show what runs in this home")
    status_command.add_argument("--json", action="store_true", help="print one line of JSON")
    status_command.set_defaults(run=status)
    return whole


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except EmbeddedError as error:
        print(f"memsync: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(f"memsync: the disk of {instance.home()} is full: free some space and start again.", file=sys.stderr)
        return DiskFull.exit_code
    return code
