"""Configurations of clients, each of which names the server, the key and the end user."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


class NotWritable(Exception):
    """A configuration that is not changed here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """The server in a client's configuration."""

    name: str
    url: str
    headers: Mapping[str, str]

    def plain(self) -> dict[str, Any]:
        return {"url": self.url, "headers": dict(self.headers)}

    def with_type(self) -> dict[str, Any]:
        return {"type": "http", **self.plain()}

    def toml(self) -> str:
        pairs = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in self.headers.items())
        return f"[mcp_servers.{self.name}]\nurl = {json.dumps(self.url)}\nhttp_headers = {{ {pairs} }}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """path: of its file, in the working directory or (``~``) the user's home.  section: of its JSON.

    shape: of the server there.
    """

    name: str
    path: str
    section: str
    shape: Callable[[ServerEntry], dict[str, Any]]

    def configuration(self, entry: ServerEntry) -> str:
        if self.path.endswith(".toml"):
            return entry.toml()
        return json.dumps({self.section: {entry.name: self.shape(entry)}}, indent=2)

    def write(self, entry: ServerEntry) -> Path:
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
        known.setdefault(self.section, {})[entry.name] = self.shape(entry)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(json.dumps(known, indent=2) + "\n")
        return file


CLIENTS: Final = (
    Client(name="claude_code", path=".mcp.json", section="mcpServers", shape=ServerEntry.with_type),
    Client(name="cursor", path="~/.cursor/mcp.json", section="mcpServers", shape=ServerEntry.plain),
    Client(name="codex", path="~/.codex/config.toml", section="", shape=ServerEntry.plain),
    Client(name="vscode", path=".vscode/mcp.json", section="servers", shape=ServerEntry.with_type),
)
