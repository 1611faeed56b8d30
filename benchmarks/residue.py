"""Residue of an erasure in the database files, after each step of the purge.

Before the erasure, every value of each sealed or keyed column of both databases is recorded.  Values that are in no
table afterwards were erased; their bytes are searched in the server's files, indexes and statistics included.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, LiteralString

import numpy as np
import psycopg
from psycopg.sql import SQL, Identifier

from benchmarks import instance
from benchmarks.instance import Instance

FOODS: Final = ("nuts", "shellfish", "sesame", "celery", "lupin", "mustard", "soy", "gluten")
PLACES: Final = ("Lisbon", "Porto", "Oslo", "Bergen", "Lyon", "Graz", "Gent", "Turin")
WAIT_SECONDS: Final = 60  # for vectors, and for transactions that can still see a table to purge
KEY: Final = 8  # bytes that identify a value: its last ones, which in a ciphertext belong to the tag

_COLUMNS: Final = """
    select c.relname, a.attname, t.typname from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and (t.typname in ('bytea', 'bit', '_bytea', '_int8') or (c.relname, a.attname) in
            (('memories_posting', 'token'), ('memories_memory', 'public_id'), ('memories_memory', 'actor_token'),
             ('memories_memory', 'session_token')))
       and (c.relname, a.attname) not in  -- plain ids, as in the rows that outlast what they tell of
           (('transfers_exportchunk', 'memory_ids'), ('transfers_exportchunk', 'space_ids'))
     order by 1, 2
"""


def run(running: Instance, *, people: int) -> dict[str, Any]:
    """Erase half of the people; after each step, count the erased values that are still in the files."""
    from apps.erasure.targets import Target
    from apps.erasure.workflow import Authorisation, start_erasure
    from apps.projects.scope import Environment, Principal
    from apps.projects.system import find_tenant_scope

    names = [f"person {number}" for number in range(people)]
    for name in names:
        _live(running, name, random.Random(name))
    scope = replace(find_tenant_scope(running.tenant), environment=Environment.DEVELOPMENT)
    word = Authorisation(principal=Principal(kind="account", id=1), method="benchmark", step_up_age_s=0)
    with instance.superuser(autocommit=True) as main, instance.superuser(autocommit=True, alias="keyring") as keys:
        both = (main.connection, keys.connection)

        def on_both(statement: LiteralString) -> None:
            for one in both:
                one.execute(statement)

        _wait_for_vectors(main.connection)
        on_both("analyze")  # as autovacuum does, so that the planner's statistics contain values of rows
        before = take(*both)
        for name in names[::2]:
            start_erasure(scope, Target.space(_space_uid(scope, name)), authorised=word, now=datetime.now(UTC))
        living = take(*both)
        erased = gone(before, living)
        left = {"of so many values": sum(map(len, erased.values()))}
        steps: dict[str, Callable[[], object]] = {
            "the erasure": lambda: None,
            "vacuum": lambda: on_both("vacuum (index_cleanup on)"),
            "a purge that rebuilds indexes": _purge,
            "tables rewritten": lambda: on_both("vacuum full"),
        }
        for name, do in steps.items():
            do()
            left[f"in files after {name}"] = sum(in_files(erased, *both, living=living).values())
    return left


def _live(running: Instance, name: str, chance: random.Random) -> None:
    """Add memories of one person, some of which replace earlier ones."""
    from benchmarks.latency import Caller

    with closing(Caller(running, end_user=name)) as caller:
        for food in chance.sample(FOODS, 4):
            caller.post("/memory/add", {"text": f"I am allergic to {food}."})
        for place in chance.sample(PLACES, 3):
            caller.post("/memory/add", {"text": f"I moved to {place} {chance.randrange(10**6)} days ago."})
        caller.post("/memory/query", {"query": "What am I allergic to?"})


def _space_uid(scope: Any, name: str) -> Any:
    from apps.memories.spaces import find_end_user

    space = find_end_user(scope, name)
    assert space is not None, "the adds over HTTP made it"
    return space.uid


def _wait_for_vectors(main: psycopg.Connection[Any]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while main.execute("select 1 from outbox_outboxevent limit 1").fetchone() and time.monotonic() < deadline:
        time.sleep(0.5)


def _purge() -> None:
    """Purge until no table waits for a transaction that can see it."""
    from django.test import override_settings

    from apps.erasure.disk_purge import rewrite_tables

    deadline = time.monotonic() + WAIT_SECONDS
    with override_settings(PURGE_REWRITE_MB=0):
        while rewrite_tables(now=datetime.now(UTC)).waits and time.monotonic() < deadline:
            time.sleep(0.5)


@dataclass(frozen=True)
class Kept:
    """Values by database and column, as stored on disk."""

    values: Mapping[tuple[str, str], frozenset[bytes]] = field(default_factory=dict)

    def all(self) -> set[bytes]:
        return {value for values in self.values.values() for value in values}


def take(*superusers: psycopg.Connection[Any]) -> Kept:
    """The values of all columns.  superusers: one connection to each database."""
    found: dict[tuple[str, str], frozenset[bytes]] = {}
    for superuser in superusers:
        for table, column, kind in superuser.execute(_COLUMNS).fetchall():
            rows = superuser.execute(SQL("select {} from {}").format(Identifier(column), Identifier(table))).fetchall()
            values = {raw for (value,) in rows for raw in _on_disk(value, kind) if len(raw) >= KEY}
            found[superuser.info.dbname, f"{table}.{column}"] = frozenset(values)
    return Kept(found)


def gone(before: Kept, after: Kept) -> dict[str, set[bytes]]:
    """Values that are no longer in any table, by column."""
    left = after.all()
    found = {column: set(values) - left for (_, column), values in before.values.items()}
    return {column: values for column, values in found.items() if values}


def in_files(
    values: Mapping[str, Iterable[bytes]], *superusers: psycopg.Connection[Any], living: Kept | None = None
) -> dict[str, int]:
    """Number of values found in files of these databases, by column; columns without any are omitted.

    living: values in the tables.  Signs of similar texts may end alike, so a value with the same end as a living one is
    searched as a whole.
    """
    ends = {raw[-KEY:] for raw in living.all()} if living else set()
    by_key = {raw[-KEY:]: column for column, raws in values.items() for raw in raws if raw[-KEY:] not in ends}
    alike = {raw: column for column, raws in values.items() for raw in raws if raw[-KEY:] in ends}
    wanted = np.frombuffer(b"".join(sorted(by_key)), dtype="<u8")
    wanted = np.sort(wanted)
    hits: set[bytes] = set()
    whole: set[bytes] = set()
    for superuser in superusers:
        superuser.execute("checkpoint")
        (folder,) = superuser.execute("show data_directory").fetchone() or ("",)
        (oid,) = superuser.execute("select oid from pg_database where datname = current_database()").fetchone() or (0,)
        for path in sorted((Path(folder) / "base" / str(oid)).iterdir()):
            content = path.read_bytes()
            hits |= _found(content, wanted)
            whole |= {raw for raw in alike if raw in content}
    return dict(Counter([by_key[key] for key in hits] + [alike[raw] for raw in whole]))


def _found(content: bytes, wanted: "np.ndarray[Any, np.dtype[np.uint64]]") -> set[bytes]:
    hits: set[bytes] = set()
    for start in range(KEY):
        end = start + (len(content) - start) // KEY * KEY
        if end <= start:
            continue
        here = np.frombuffer(content[start:end], dtype="<u8")
        places = np.minimum(np.searchsorted(wanted, here), len(wanted) - 1)
        hits |= {int(one).to_bytes(KEY, "little") for one in here[wanted[places] == here]}
    return hits


def _on_disk(value: Any, kind: str) -> list[bytes]:
    if value is None:
        return []
    if kind in ("_bytea", "_int8"):
        return [raw for one in value for raw in _on_disk(one, kind[1:])]
    if kind in ("int8",):
        return [int(value).to_bytes(8, "little", signed=True)]
    if kind == "bit":
        bits = str(value)
        return [int(bits, 2).to_bytes(len(bits) // 8, "big")]
    return [bytes(value) if kind == "bytea" else str(value).encode()]
