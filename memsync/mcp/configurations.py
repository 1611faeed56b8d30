"""Configurations of clients, each of which names the server, the key and the end user."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NAME: Final = "memsync"


class NotWritable(Exception):
    """A configuration that is not changed here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """path: of its file, in the working directory or (``~``) the user's home.  section: of its JSON.

    entry: the server's configuration there.
    """

    name: str
    path: str
    section: str
    entry: Callable[[str, Mapping[str, str]], dict[str, Any]]

    def configuration(self, address: str, headers: Mapping[str, str]) -> str:
        if self.path.endswith(".toml"):
            return _toml(address, headers)
        return json.dumps({self.section: {NAME: self.entry(address, headers)}}, indent=2)

    def write(self, address: str, headers: Mapping[str, str]) -> Path:
        """Add the server to the file, whose other settings stay, and return its path.  Raises NotWritable."""
        file = Path(self.path).expanduser()
        if self.path.endswith(".toml"):
            raise NotWritable(f"{file} is TOML: add what is printed without --write to it.")
        try:
            known = json.loads(file.read_text()) if file.exists() else {}
        except ValueError:
            raise NotWritable(f"{file} is not plain JSON: add what is printed without --write to it.") from None
        if not isinstance(known, dict) or not isinstance(known.get(self.section, {}), dict):
            raise NotWritable(f"{file} has another shape: add what is printed without --write to it.")
        known.setdefault(self.section, {})[NAME] = self.entry(address, headers)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(json.dumps(known, indent=2) + "\n")
        return file


def _typed(address: str, headers: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "http", "url": address, "headers": dict(headers)}


def _untyped(address: str, headers: Mapping[str, str]) -> dict[str, Any]:
    return {"url": address, "headers": dict(headers)}


def _toml(address: str, headers: Mapping[str, str]) -> str:
    pairs = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in headers.items())
    return f"[mcp_servers.{NAME}]\nurl = {json.dumps(address)}\nhttp_headers = {{ {pairs} }}"


CLIENTS: Final = (
    Client(name="claude_code", path=".mcp.json", section="mcpServers", entry=_typed),
    Client(name="cursor", path="~/.cursor/mcp.json", section="mcpServers", entry=_untyped),
    Client(name="codex", path="~/.codex/config.toml", section="", entry=_untyped),
    Client(name="vscode", path=".vscode/mcp.json", section="servers", entry=_typed),
)
