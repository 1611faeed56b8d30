"""`memsync open` and `memsync logs`: the console and the logs of the instance that runs here."""

import argparse
import json
import os
import sys
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from memsync import instance
from memsync.client.output import note, say
from memsync.client.server import DEFAULT_URL, CommandFailed

PAGES: Final = {"console": "app/", "admin": "admin/", "api": "docs"}
COMPONENTS: Final = ("web", "worker", "beat", "prepare")
LEVELS: Final = ("debug", "info", "warning", "error", "critical")
ALWAYS_SHOWN: Final = ("component", "time", "level", "logger", "message")
PAUSE: Final = 0.2  # seconds between two looks at a growing file


def add_parsers(commands: Any) -> None:
    open_command = commands.add_parser(
        "open", help="open the console in a browser", description="Print the address of a page, and open it."
    )
    open_command.add_argument("page", nargs="?", choices=PAGES, default="console", help="(default: %(default)s)")
    open_command.add_argument("--print", action="store_true", dest="only_print", help="print it, and open nothing")
    open_command.add_argument("--url", default=os.environ.get("MEMSYNC_URL", ""), help="of the server")
    open_command.set_defaults(run=open_page)
    logs_command = commands.add_parser(
        "logs",
        help="show the logs of the instance that runs here",
        description="Print the latest lines of the logs in MEMSYNC_HOME, oldest first. They hold no memory texts.",
    )
    logs_command.add_argument("component", nargs="?", choices=COMPONENTS, help="only of this part")
    logs_command.add_argument("-n", "--lines", type=_lines, default=50, metavar="N", help="(default: %(default)s)")
    logs_command.add_argument("-f", "--follow", action="store_true", help="go on with new lines until Ctrl-C")
    logs_command.add_argument("--level", choices=LEVELS, default="debug", help="and more serious ones")
    logs_command.add_argument("--json", action="store_true", help="print the lines as they are stored")
    logs_command.set_defaults(run=show_logs)


def open_page(options: argparse.Namespace) -> int:
    url = options.url or str(instance.running().get("url", "")) or DEFAULT_URL
    parts = urlsplit(url)
    if parts.hostname == "127.0.0.1":  # browsers allow no passkeys on IP addresses
        url = parts._replace(netloc=parts.netloc.replace("127.0.0.1", "localhost")).geturl()
    address = f"{url.rstrip('/')}/{PAGES[options.page]}"
    say(address)
    if not options.only_print and sys.stdout.isatty() and not webbrowser.open(address):
        note("no browser was found here: open the address yourself")
    return 0


def show_logs(options: argparse.Namespace) -> int:
    folder = instance.home() / "logs"
    names = [options.component] if options.component else list(COMPONENTS)
    files = {name: LogFile(folder / f"{name}.log") for name in names}
    if not any(file.path.exists() for file in files.values()):
        raise CommandFailed(f"{folder} holds no logs of {' or '.join(names)}: `memsync up` writes them")
    found = [line for file in files.values() for line in file.last(options.lines, options.level)]
    found.sort(key=lambda line: str(line.get("time", "")))
    for line in found[-options.lines :]:
        _show(line, options)
    while options.follow:
        for file in files.values():
            for line in file.new(options.level):
                _show(line, options)
        sys.stdout.flush()
        time.sleep(PAUSE)
    return 0


class LogFile:
    """A file of JSON lines that another process appends to, and replaces when it is full."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_to = 0
        self._inode = 0

    def last(self, count: int, level: str) -> list[dict[str, Any]]:
        """The latest lines of the level or a more serious one; `new` goes on behind them."""
        return list(self.new(level))[-count:]

    def new(self, level: str) -> Iterator[dict[str, Any]]:
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            state = os.fstat(file.fileno())
            if state.st_ino != self._inode or state.st_size < self._read_to:
                self._inode, self._read_to = state.st_ino, 0
            file.seek(self._read_to)
            for raw in file:
                if not raw.endswith(b"\n"):  # it is being written
                    break
                self._read_to += len(raw)
                line = _parsed(raw)
                if LEVELS.index(line["level"]) >= LEVELS.index(level):
                    yield line


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except ValueError:
        line = None
    if not isinstance(line, dict):
        line = {"message": raw.decode(errors="replace").rstrip("\n")}
    return line | {"level": line["level"] if line.get("level") in LEVELS else "info"}


def _show(line: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(line))
        return
    fields = " ".join(f"{name}={value}" for name, value in line.items() if name not in ALWAYS_SHOWN)
    head = f"{str(line.get('time', ''))[:23]} {line.get('component', ''):<7} {line['level']:<8}"
    say(f"{head} {line.get('message', '')} {fields}".rstrip())


def _lines(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 1000000")
    return int(text)
