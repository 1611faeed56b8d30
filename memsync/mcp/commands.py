"""`memsync mcp`: speak the Model Context Protocol on stdin and stdout; `memsync mcp install`: configure a client."""

import argparse
import sys
from collections.abc import Sequence

from memsync.client.server import CommandFailed, ServerAddress, add_address_options, address_of, require
from memsync.mcp import configurations

HELP = "Instead of options: MEMSYNC_URL, MEMSYNC_API_KEY and MEMSYNC_END_USER."


def main(arguments: Sequence[str]) -> int:
    """Return the exit code."""
    given = parser().parse_args(arguments)
    server = address_of(given)
    try:
        require(server, end_user=True)
    except CommandFailed as failure:
        print(f"memsync: {failure}", file=sys.stderr)
        return failure.code
    if given.action == "install":
        return _install(given, server)
    from memsync.mcp.stdio import bridge

    return bridge(_mcp(server), server.headers, sys.stdin.buffer, sys.stdout.buffer)


def _mcp(server: ServerAddress) -> str:
    return f"{server.url}/v1/mcp"


def _install(given: argparse.Namespace, server: ServerAddress) -> int:
    client = next(one for one in configurations.CLIENTS if getattr(given, one.name))
    text = client.configuration(_mcp(server), server.headers)
    if not given.write:
        print(f"# {client.path}\n{text}")
        return 0
    try:
        file = client.write(_mcp(server), server.headers)
    except configurations.NotWritable as refused:
        print(f"memsync: {refused}", file=sys.stderr)
        return 1
    print(f"memsync: written to {file}; it contains the key")
    return 0


def parser() -> argparse.ArgumentParser:
    server = argparse.ArgumentParser(add_help=False)
    add_address_options(server)
    whole = argparse.ArgumentParser(prog="memsync mcp", description=__doc__, epilog=HELP, parents=[server])
    actions = whole.add_subparsers(dest="action", metavar="install")
    install = actions.add_parser("install", parents=[server], help="print or write a client's configuration")
    clients = install.add_mutually_exclusive_group(required=True)
    for one in configurations.CLIENTS:
        clients.add_argument(f"--{one.name.replace('_', '-')}", dest=one.name, action="store_true", help=one.path)
    install.add_argument("--write", action="store_true", help="change the file, instead of printing what to add")
    return whole
