"""What row-level security costs the statements of recall: every one uses its index, and runs about as fast as without.

``ISOLATION_ROWS=100000 scripts/test tests/isolation/test_plans.py -s`` prints the figures of
the cost of policies, beside none.
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.projects.scope import Scope
from apps.recall import read_log
from apps.recall.results import Filters
from apps.recall.retrieval import RETRIEVERS
from apps.recall.services import recall
from benchmarks.isolation import sentences
from memsync.launcher.embedded import roles
from memsync.testing.databases import PASSWORD
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

ROWS = int(os.environ.get("ISOLATION_ROWS", "3000"))
TENANTS = 20
RUNS = 15
# The column by which a row belongs to a memory, if any.
FILLED = {
    "memories_memory": "id",
    "memories_memoryvector": "memory_id",
    "memories_posting": "memory_id",
    "memories_memoryclaim": "memory_id",
    "entities_entitymention": "memory_id",
    "entities_entity": "",
    "entities_entityalias": "",
}
# Sentences of several claims: those of a single claim hold their slot themselves, and have no row of claims.
CLAIMS = [
    f"In hall {at}: {name} lives in Riga and {name} works at Siemens."
    for at, name in enumerate(("Olga", "Petra", "Tomas", "Ines", "Bruno", "Clara", "Milan", "Greta", "Oskar", "Vera"))
]
QUESTION = "What did Hannah repair in Tallinn on 12 May 2026, and where do I live?"


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """is_prepared: planned once, whatever the values."""

    sql: str
    values: Any
    is_prepared: bool

    @property
    def name(self) -> str:
        words = self.sql.replace("(", " ").replace('"', " ").split()
        tables = [word for word in words if word.startswith(("memories_", "entities_"))]
        return f"{', '.join(dict.fromkeys(tables))} [{len(self.sql)} characters]"


@pytest.fixture
def scope(acme: OpenedTenant) -> Scope:
    found = make_scope(acme, project_id=acme.project.pk)
    said = [
        Proposal(text=Plaintext(text), importance=0.6, session_id="talk", speaker="Hannah")
        for text in (*sentences(50), *CLAIMS, "I live in Porto.", "Hannah Berg moved to Tallinn in May 2026.")
    ]
    remember(found, said, now=NOW)
    return found


def statements_of_recall(scope: Scope) -> list[Statement]:
    """Every statement that recall sends about memories, words, vectors, claims, times and entities."""
    with heard() as found:
        for filters in (Filters(), Filters(session_id="talk"), Filters(as_of=NOW, known_at=NOW)):
            for legs in (None, [*(one.name for one in RETRIEVERS), "graph"]):
                recall(scope, Plaintext(QUESTION), filters=filters, legs=legs, limit=10, now=NOW)
    read_log.flush()
    return list({one.sql: one for one in found}.values())


def statements_of_add(scope: Scope) -> list[Statement]:
    """Every statement by which an add looks at what is there, of a text that claims something of a known person."""
    said = Plaintext("I live in Braga now and Hannah Berg lives in Tallinn.")
    with heard() as found:
        remember(scope, [Proposal(text=said, session_id="talk", speaker="Hannah")], now=NOW)
    return [one for one in found if one.is_prepared]


@contextmanager
def heard() -> Iterator[list[Statement]]:
    """What is sent meanwhile about memories, words, vectors, claims, times and entities."""
    found: list[Statement] = []

    def listen(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if ("memories_" in sql or "entities_" in sql) and sql.lstrip().lower().startswith(("select", "with")):
            found.append(Statement(sql, params, not isinstance(context["cursor"].cursor, psycopg.ClientCursor)))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        yield found


def fill(superuser_url: str, tenant_id: int) -> None:
    """Many more memories, of this space and of other tenants' spaces, as large as real ones.  They do not open."""
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{name}", autocommit=True) as admin:
        admin.execute("set session_replication_role = replica")  # other tenants and their spaces need not exist
        last = _one(admin, "select max(id) from memories_memory")
        each = ROWS // TENANTS
        # Copy number c of the memory with this id; every TENANTS-th copy stays in the space, the others go elsewhere.
        admin.execute(
            "create temp table copies as select m.id as of, %s + row_number() over () as id, "
            "case when c %% %s = 0 then 0 else 1000000 + c %% %s end as away, c from memories_memory m, "
            "generate_series(1, %s) c where m.tenant_id = %s",
            [last, TENANTS, TENANTS, max(TENANTS, each * TENANTS // 50), tenant_id],
        )
        for table, key in FILLED.items():
            changed = {
                "tenant_id": "t.tenant_id + copies.away",
                "space_id": "t.space_id + copies.away",
                key or "id": "copies.id" if key else "copies.id * 1000 + t.id",
                "public_id": "md5(copies.id::text)",
                "vector_id": "gen_random_uuid()",
                "slot": "null",
                "token": "t.token + copies.c / 10",
                "event_at": "t.event_at - copies.c * interval '1 hour'",
                "created_at": "t.created_at - copies.c * interval '1 hour'",
                "subject_mac": "decode(md5(copies.id::text), 'hex')",
                "alias_mac": "decode(md5((copies.id * 1000 + t.id)::text), 'hex')",
                "is_user": "false",
            }
            if key == "memory_id" and table != "memories_posting":
                changed["id"] = "copies.id * 1000 + t.id"
            # What belongs to no one memory is there as often as one memory is.
            of = f"t.{key}" if key else "(select min(of) from copies)"
            columns = [
                column
                for (column,) in admin.execute(
                    "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 "
                    "and not attisdropped and attgenerated = ''",
                    [table],
                )
            ]
            values = ", ".join(changed.get(column, f't."{column}"') for column in columns)
            names = ", ".join(f'"{column}"' for column in columns)
            admin.execute(
                f"insert into {table} ({names}) select {values} from {table} t join copies on copies.of = {of} "  # noqa: S608
                f"on conflict do nothing".encode()
            )
            admin.execute(f"vacuum analyze {table}".encode())
        # Summaries that belong to no tenant: with none at all, one index is as good as the other.
        admin.execute(
            "insert into memories_summarysource (created_at, tenant_id, space_id, summary_id, source_id) "
            "select now(), %s + n %% 5, 0, 1000000000 + n / 8, 2000000000 + n from generate_series(1, 20000) n",
            [tenant_id],
        )
        admin.execute("vacuum analyze memories_summarysource")
        # The planner takes an empty table for one of unknown size until autovacuum has counted it: then it is scanned,
        # rightly, and no index is used.  Forget the counts, and the changes for which autovacuum would count again.
        admin.execute("truncate edges_memoryedge")  # a few rows are scanned as rightly
        admin.execute("update pg_class set reltuples = -1, relpages = 0 where relkind = 'r' and reltuples = 0")
        admin.execute("select pg_stat_reset()")


def _one(admin: Any, sql: str) -> int:
    return int(admin.execute(sql).fetchone()[0])


@contextmanager
def without_row_security() -> Iterator[None]:
    settings = connections["default"].settings_dict
    usual = settings["USER"], settings["PASSWORD"]
    connections["default"].close()
    settings["USER"], settings["PASSWORD"] = roles.OWNER, PASSWORD
    try:
        yield
    finally:
        connections["default"].close()
        settings["USER"], settings["PASSWORD"] = usual


def scans(plan: dict[str, Any]) -> Iterator[str]:
    """Each scan of a table in a plan."""
    if "Relation Name" in plan:
        yield f"{plan['Node Type']} on {plan['Relation Name']}"
    for part in plan.get("Plans", ()):
        yield from scans(part)


def plan(scope: Scope, statement: Statement) -> dict[str, Any]:
    with tenant_transaction(scope), connection.cursor() as cursor:
        cursor.execute(f"explain (format json) {statement.sql}", statement.values)
        (found,) = cursor.fetchone() or (None,)
    (whole,) = found if isinstance(found, list) else json.loads(str(found))
    return dict(whole["Plan"])


def milliseconds(scope: Scope, statement: Statement) -> float:
    took = []
    with tenant_transaction(scope), connection.cursor() as cursor:
        for _ in range(RUNS):
            started = time.perf_counter()
            cursor.execute(statement.sql, statement.values)
            cursor.fetchall()
            took.append((time.perf_counter() - started) * 1000)
    return statistics.median(took)


def test_recall_scans_no_table_under_row_level_security(
    scope: Scope, superuser_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    statements = statements_of_recall(scope)
    fill(superuser_url, scope.tenant_id)

    held = {one: (list(scans(plan(scope, one))), milliseconds(scope, one)) for one in statements}
    with without_row_security():
        free = {one: (list(scans(plan(scope, one))), milliseconds(scope, one)) for one in statements}

    with capsys.disabled():
        for one in statements:
            same = "the same plan" if held[one][0] == free[one][0] else f"{free[one][0]} -> {held[one][0]}"
            print(f"\n{one.name}: {free[one][1]:.2f} ms, {held[one][1]:.2f} ms under policies, {same}")  # noqa: T201
    assert len(statements) >= 4
    scanned = {
        scan.removeprefix("Seq Scan on ") for scans_, _ in held.values() for scan in scans_ if "Seq Scan" in scan
    }
    # Any other holds a page or two, and is scanned where statistics say so, rightly.
    assert scanned & FILLED.keys() == set()


def test_a_statement_that_scans_its_table_is_found_out(scope: Scope, superuser_url: str) -> None:
    fill(superuser_url, scope.tenant_id)

    every = Statement("select count(*) from memories_memory where importance > %s", [0.1], is_prepared=False)
    with without_row_security():
        found = list(scans(plan(scope, every)))

    assert found == ["Seq Scan on memories_memory"]
