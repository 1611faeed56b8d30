"""`memsync mcp`: speak the Model Context Protocol on stdin and stdout; `memsync mcp install`: configure a client."""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from memsync.client.server import CommandFailed, ServerAddress, add_address_options, address_of, require
from memsync.mcp import configurations

HELP = "Instead of options: MEMSYNC_URL, MEMSYNC_API_KEY and MEMSYNC_END_USER."
NAME: Final = "memsync"  # of the server in a client's configuration
MEMORIES: Final = "memories"
TYPED: Final = "typed"  # its tools name the profile themselves
PATHS: Final = {MEMORIES: "/v1/mcp", TYPED: "/v1/mcp/typed", "graph": "/v1/mcp/graph"}


def main(arguments: Sequence[str]) -> int:
    """Return the exit code."""
    given = parser().parse_args(arguments)
    server = address_of(given)
    try:
        require(server, end_user=given.tools != TYPED)
    except CommandFailed as failure:
        print(f"memsync: {failure}", file=sys.stderr)
        return failure.code
    if given.action == "install":
        return _install(given, server)
    from memsync.mcp.stdio import bridge

    return bridge(f"{server.url}{PATHS[given.tools]}", server.headers, sys.stdin.buffer, sys.stdout.buffer)


def _install(given: argparse.Namespace, server: ServerAddress) -> int:
    client = next(one for one in configurations.CLIENTS if getattr(given, one.name))
    name = NAME if given.tools == MEMORIES else f"{NAME}-{given.tools}"
    entry = configurations.ServerEntry(name=name, url=f"{server.url}{PATHS[given.tools]}", headers=server.headers)
    if not given.write:
        print(f"# {client.path}\n{client.configuration(entry)}")
        return 0
    try:
        file = client.write(entry)
    except configurations.NotWritable as refused:
        print(f"memsync: {refused}", file=sys.stderr)
        return 1
    print(f"memsync: written to {file}; it contains the key")
    return 0


def parser() -> argparse.ArgumentParser:
    server, again = _options(), _options()
    for option in again._actions:
        option.default = argparse.SUPPRESS  # what is given before `install` counts there too
    whole = argparse.ArgumentParser(prog="memsync mcp", description=__doc__, epilog=HELP, parents=[server])
    actions = whole.add_subparsers(dest="action", metavar="install")
    install = actions.add_parser("install", parents=[again], help="print or write a client's configuration")
    clients = install.add_mutually_exclusive_group(required=True)
    for one in configurations.CLIENTS:
        clients.add_argument(f"--{one.name.replace('_', '-')}", dest=one.name, action="store_true", help=one.path)
    install.add_argument("--write", action="store_true", help="change the file, instead of printing what to add")
    return whole


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    add_address_options(options)
    options.add_argument("--tools", choices=PATHS, default=MEMORIES, help=f"which ones ({MEMORIES})")
    return options
