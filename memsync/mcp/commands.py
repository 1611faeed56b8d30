"""`memsync mcp`: speak the Model Context Protocol on stdin and stdout; `memsync mcp install`: configure a client."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from memsync.mcp import configurations

HELP = "Instead of options: MEMSYNC_URL (http://127.0.0.1:8000 by default), MEMSYNC_API_KEY and MEMSYNC_END_USER."


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAddress:
    """Where the memory is, and whose."""

    url: str
    key: str
    end_user: str

    @property
    def address(self) -> str:
        return f"{self.url.rstrip('/')}/v1/mcp"

    @property
    def headers(self) -> dict[str, str]:
        return {"X-API-Key": self.key, "X-End-User-ID": self.end_user}


def main(arguments: Sequence[str]) -> int:
    """Return the exit code."""
    given = _parser().parse_args(arguments)
    memory = MemoryAddress(url=given.url, key=given.key, end_user=given.end_user)
    missing = [
        name
        for name, value in (("--key or MEMSYNC_API_KEY", given.key), ("--end-user or MEMSYNC_END_USER", given.end_user))
        if not value
    ]
    if missing:
        print(f"memsync: missing {' and '.join(missing)}", file=sys.stderr)
        return 2
    if given.action == "install":
        return _install(given, memory)
    from memsync.mcp.stdio import bridge

    return bridge(memory.address, memory.headers, sys.stdin.buffer, sys.stdout.buffer)


def _install(given: argparse.Namespace, memory: MemoryAddress) -> int:
    client = next(one for one in configurations.CLIENTS if getattr(given, one.name))
    text = client.configuration(memory.address, memory.headers)
    if not given.write:
        print(f"# {client.path}\n{text}")
        return 0
    try:
        file = client.write(memory.address, memory.headers)
    except configurations.NotWritable as refused:
        print(f"memsync: {refused}", file=sys.stderr)
        return 1
    print(f"memsync: written to {file}; it contains the key")
    return 0


def _parser() -> argparse.ArgumentParser:
    server = argparse.ArgumentParser(add_help=False)
    default = os.environ.get
    server.add_argument("--url", default=default("MEMSYNC_URL", "http://127.0.0.1:8000"), help="of the server")
    server.add_argument("--key", default=default("MEMSYNC_API_KEY", ""), help="an API key with memory:read")
    server.add_argument("--end-user", default=default("MEMSYNC_END_USER", ""), help="whose memory it is")
    parser = argparse.ArgumentParser(prog="memsync mcp", description=__doc__, epilog=HELP, parents=[server])
    actions = parser.add_subparsers(dest="action", metavar="install")
    install = actions.add_parser("install", parents=[server], help="print or write a client's configuration")
    clients = install.add_mutually_exclusive_group(required=True)
    for one in configurations.CLIENTS:
        clients.add_argument(f"--{one.name.replace('_', '-')}", dest=one.name, action="store_true", help=one.path)
    install.add_argument("--write", action="store_true", help="change the file, instead of printing what to add")
    return parser
