"""`memsync export`: all memories of one end user, in one file."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import IO, Any, Final

from memsync.client.output import note, say_json
from memsync.client.server import CommandFailed, Server, add_address_options, address_of, require

COUNT: Final = b'"count":'  # begins what ends a complete export
END_BYTES: Final = 200


def add_parsers(commands: Any) -> None:
    command = commands.add_parser(
        "export",
        help="write all memories of an end user to a file",
        description="Write every readable memory of an end user, with its relations, as JSON. `memsync import` "
        "takes the file.",
    )
    command.add_argument("--to", metavar="FILE", type=Path, help="a new file (default: standard output)")
    command.add_argument("--force", action="store_true", help="replace the file if it exists")
    command.add_argument("--json", action="store_true", help="with --to: print the counts as one line of JSON")
    add_address_options(command)
    command.set_defaults(run=export)


def export(options: argparse.Namespace) -> int:
    address = address_of(options)
    require(address, end_user=True)
    with Server(address) as server:
        if options.to is None:
            _copy(server, sys.stdout.buffer)
            return 0
        aside = options.to.with_name(f".{options.to.name}.{os.getpid()}")
        try:
            if options.to.exists() and not options.force:
                raise CommandFailed(f"{options.to} exists: name another file, or add --force")
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                count, unreadable = _copy(server, file)
            aside.replace(options.to)
        except OSError as error:
            raise CommandFailed(f"{options.to} cannot be written: {error.strerror}") from None
        finally:
            aside.unlink(missing_ok=True)
    if options.json:
        say_json({"file": str(options.to), "count": count, "unreadable": unreadable})
        return 0
    note(f"{count} memories written to {options.to}")
    if unreadable:
        note(f"{unreadable} memories could not be decrypted and are not in it")
    return 0


def _copy(server: Server, to: IO[bytes]) -> tuple[int, int]:
    """Write the export, and return how many memories it has and how many it lacks.  Raises CommandFailed if it is
    incomplete."""
    tail = b""
    with server.stream("/memory/export") as response:
        for piece in response.iter_bytes():
            to.write(piece)
            tail = (tail + piece)[-END_BYTES:]
    to.flush()
    _, _, end = tail.rpartition(COUNT)
    try:
        counts = json.loads(b"{" + COUNT + end)
        return counts["count"], counts["unreadable"]
    except (ValueError, KeyError):
        raise CommandFailed("the export ended too early: run the command again") from None
