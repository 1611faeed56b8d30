"""All that an instance keeps or says, as bytes: where canaries are looked for, and where a control is planted."""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.canaries.canary import Family
from tests.canaries.doors import Visitor, pages, sign_in
from tests.canaries.script import script

PIECE = 4 << 20
OVERLAP = 16 << 10
OF_THE_BROKER = ("pgmq.",)
OF_THE_BROWSER = ("public.django_session", "public.django_admin_log", "public.accounts_", "public.auth_")
OF_THE_TRAIL = ("public.audit_", "public.outbox_", "public.key_management_", "public.memory_types_")


@dataclass
class Sink:
    """read: all of it, in pieces.  plant: put bytes there the way others get there.  is_hex: it shows bytes as hex."""

    name: str
    read: Callable[[], Iterable[bytes]]
    plant: Callable[[bytes], None]
    is_hex: bool = False
    size: int = 0
    hits: set[tuple[str, str]] = field(default_factory=set)

    def search(self, family: Family) -> set[tuple[str, str]]:
        self.size, found, tail = 0, set(), b""
        for piece in self.read():
            self.size += len(piece)
            if piece.strip(b"\0"):
                found |= family.found(tail + piece)
            tail = piece[-OVERLAP:]
        return found


class Sinks:
    """Of one running instance."""

    def __init__(self, visitor: Visitor, temporary: Path, printed: Path) -> None:
        self.visitor = visitor
        self.home = visitor.home
        self.instance = script.Instance(self.home)
        data = self.home / "postgres" / "data"
        logs = self.home / "logs"
        self.all = [
            self._files("heap and indexes", data, lambda path: data / "pg_wal" not in path.parents, self._into_heap),
            self._files("WAL", data / "pg_wal", None, self._into_heap),
            self._tables("columns of the data", "DATABASE_URL", ("",), "public"),
            self._tables("columns of the keyring", "KEYRING_URL", ("",), "public"),
            self._dump("dump of the data", "DATABASE_URL"),
            self._dump("dump of the keyring", "KEYRING_URL"),
            self._tables("broker", "DATABASE_URL", OF_THE_BROKER, "pgmq"),
            self._tables("sessions and accounts", "DATABASE_URL", OF_THE_BROWSER, "public", "accounts_control"),
            self._tables("audit trail", "DATABASE_URL", OF_THE_TRAIL, "public", "audit_control"),
            self._files("PostgreSQL's log", self.home / "postgres" / "log", None),
            self._files("log of the web server", logs, lambda path: path.name.startswith("web")),
            self._files("logs of worker and beat", logs, lambda path: path.name.startswith(("worker", "beat"))),
            self._files("what `memsync up` printed", printed, None),
            self._files("cache", self.home / "cache", None),
            self._files("temporary files", temporary, None),
            self._files("other files", self.home, self._is_other),
            self._said("refusals and error pages", lambda: self.visitor.refusals),
            self._said("headers of the console's answers", lambda: self.visitor.headers),
            self._said("what webhooks told", lambda: self.visitor.told),
            self._said("pages of the admin", self._pages, once=True),
        ]

    def _is_other(self, path: Path) -> bool:
        taken = {self.home / name for name in ("logs", "cache", "models")} | {self.home / "postgres" / "data"}
        return not taken & set(path.parents) and self.home / "postgres" / "log" not in path.parents

    # -- kinds of sinks ------------------------------------------------------------------------------------------------

    def _files(self, name: str, folder: Path, belongs: Callable[[Path], bool] | None, plant: Any = None) -> Sink:
        def read() -> Iterator[bytes]:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and (belongs is None or belongs(path)):
                    yield str(path.relative_to(folder)).encode()
                    with path.open("rb") as file:
                        while piece := file.read(PIECE):
                            yield piece

        def append(raw: bytes) -> None:
            folder.mkdir(parents=True, exist_ok=True)
            existing = [path for path in folder.rglob("*") if path.is_file() and (belongs is None or belongs(path))]
            target = existing[0] if existing and folder.name in ("logs", "log") else folder / "control"
            with target.open("ab") as file:
                file.write(raw + b"\n")

        return Sink(name, read, plant or append)

    def _tables(self, name: str, setting: str, prefixes: tuple[str, ...], schema: str, table: str = "") -> Sink:
        planted = f"{schema}.{table or 'control'}"

        def read() -> Iterator[bytes]:
            with self._superuser(setting) as superuser:
                for one in script.tables(superuser):
                    if one.startswith(prefixes):
                        yield b"\n\n".join(script.cells(superuser, one))

        return Sink(name, read, lambda raw: self._insert(setting, planted, raw))

    def _dump(self, name: str, setting: str) -> Sink:
        def read() -> Iterator[bytes]:
            url, _ = self.instance.database(setting)
            with subprocess.Popen([str(script._pg_dump()), "--dbname", url], stdout=subprocess.PIPE) as dump:
                assert dump.stdout
                while piece := dump.stdout.read(PIECE):
                    yield piece
            assert dump.returncode == 0

        return Sink(name, read, lambda raw: self._insert(setting, "public.control", raw), is_hex=True)

    def _said(self, name: str, gather: Callable[[], list[bytes]], *, once: bool = False) -> Sink:
        held: list[bytes] = []
        planted: list[bytes] = []

        def read() -> list[bytes]:
            if not held or not once:
                held[:] = gather()
            return held + planted

        return Sink(name, read, planted.append)

    def _pages(self) -> list[bytes]:
        with sign_in(self.visitor) as browser:
            return [page.content + repr(page.headers.multi_items()).encode() for page in pages(browser)]

    # -- planting ------------------------------------------------------------------------------------------------------

    def _superuser(self, setting: str) -> Any:
        return psycopg.connect(self.instance.database(setting)[0], autocommit=True)

    def _into_heap(self, raw: bytes) -> None:
        self._insert("DATABASE_URL", "public.control", raw)

    def _insert(self, setting: str, table: str, raw: bytes) -> None:
        with self._superuser(setting) as superuser:
            superuser.execute(f"create table if not exists {table} (raw bytea)".encode())
            superuser.execute(f"insert into {table} values (%s)".encode(), [raw])  # noqa: S608

    def checkpoint(self) -> None:
        """Or the newest pages are in memory only."""
        with self._superuser("DATABASE_URL") as superuser:
            superuser.execute("checkpoint")


def read_environment(home: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((home / "instance.json").read_text())["environment"]
    return found
