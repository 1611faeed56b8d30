"""What recall's statements touch: rows of the space that is asked and no more, however many others there are, and each
index that makes it so is missed where it is gone."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import pytest
from django.db import connection, connections

from apps.projects.scope import Scope
from memsync.launcher.embedded import roles
from tests.isolation.test_plans import (
    ROWS,
    TENANTS,
    Statement,
    fill,
    scans,
    scope,
    statements_of_add,
    statements_of_recall,
)

__all__ = ["scope"]  # the fixture
pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

Plan = dict[str, Any]
OWN: Final = ROWS // TENANTS + 60  # rows of the space that is asked, about
MOST: Final = 3  # times all of them that one statement may touch in one table

# What recall's statements go by.  One that is used no more is either missed, or this and docs/adr/0005 are out of date.
PINNED: Final = frozenset(
    {
        "claim_about", "edge_in", "edge_out", "entity_by_alias", "memories_memoryvector_memory_id_key",
        "memories_posting_pkey", "memory_in_space", "memory_in_tenant", "memory_said_at", "memory_session",
        "memory_stretch", "mentions_of_entity", "period_of_memory", "summary_source_once", "vector_signs",
    }
)  # fmt: skip

# And what an add's look at what is there goes by.
PINNED_BY_ADDS: Final = frozenset(
    {
        "memory_in_tenant", "memory_said", "memory_session", "memory_slot", "memory_text", "tombstone_once",
        "vector_one_per_memory", "vector_signs",
    }
)  # fmt: skip


@contextmanager
def superuser(url: str) -> Iterator[psycopg.Cursor[Any]]:
    """What it changes is taken back."""
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{url.rsplit('/', 1)[0]}/{name}") as admin, admin.cursor() as cursor:
        yield cursor
        admin.rollback()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A statement of recall with its values in it.  preparation: what comes before one planned for all values."""

    sql: str
    preparation: str = ""


def explain(cursor: psycopg.Cursor[Any], scope: Scope, asked: Asked) -> Plan:
    """How it was run for the application, with what it touched."""
    cursor.execute("select set_config('app.tenant_id', %s, true)", [str(scope.tenant_id)])
    cursor.execute(f"set local role {roles.APP}".encode())
    cursor.execute("set local plan_cache_mode = force_generic_plan")
    if asked.preparation:
        cursor.execute(asked.preparation.encode())
    cursor.execute(f"explain (analyze, timing off, format json) {asked.sql}".encode())
    (found,) = cursor.fetchone() or (None,)
    if asked.preparation:
        cursor.execute("deallocate recalled")
    cursor.execute("reset role")
    (whole,) = found if isinstance(found, list) else json.loads(str(found))
    return dict(whole["Plan"])


def parts(plan: Plan) -> Iterator[Plan]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from parts(part)


def touched(plan: Plan) -> Counter[str]:
    """Rows of each table that were looked at, whether they were kept or not."""
    rows: Counter[str] = Counter()
    for part in parts(plan):
        if "Relation Name" in part:
            looked = part["Actual Rows"] + part.get("Rows Removed by Filter", 0)
            looked += part.get("Rows Removed by Index Recheck", 0)
            rows[part["Relation Name"]] += round(looked * part["Actual Loops"])
    return rows


def faults(plans: Iterable[Plan], pinned: Set[str] = PINNED) -> list[str]:
    """What must not be: a table that is scanned, far more rows looked at than the space has, an index not used."""
    found, used = [], set()
    for plan in plans:
        found += [scan for scan in scans(plan) if scan.startswith("Seq Scan")]
        found += [f"{rows} rows of {table}" for table, rows in touched(plan).items() if rows > MOST * OWN]
        used |= {part["Index Name"] for part in parts(plan) if "Index Name" in part}
    return found + [f"{index} is not used" for index in sorted(pinned - used)]


def asked_of(statement: Statement) -> Asked:
    """As the application sends it: with its values in it, or prepared, with types as they were there."""
    with connection.cursor() as cursor:
        if not statement.is_prepared:
            return Asked(sql=str(cursor.mogrify(statement.sql, statement.values)))
        cursor.execute("select statement, parameter_types::text[] from pg_prepared_statements")
        types = dict(cursor.fetchall())
        numbers = itertools.count(1)
        text = re.sub("%s", lambda _: f"${next(numbers)}", statement.sql).replace("%%", "%")
        values = ", ".join(str(cursor.mogrify("%s", [value])) for value in statement.values)
    return Asked(
        sql=f"execute recalled ({values})", preparation=f"prepare recalled ({', '.join(types[text])}) as {text}"
    )


@pytest.fixture
def statements(scope: Scope, superuser_url: str) -> list[Asked]:
    found = [asked_of(one) for one in statements_of_recall(scope)]
    fill(superuser_url, scope.tenant_id)
    return found


def test_recall_goes_by_its_indexes_and_touches_the_rows_of_its_space(
    statements: list[Asked], scope: Scope, superuser_url: str
) -> None:
    with superuser(superuser_url) as cursor:
        assert faults(explain(cursor, scope, one) for one in statements) == []


def test_an_add_looks_at_no_more_than_what_it_may_meet(scope: Scope, superuser_url: str) -> None:
    statements = [asked_of(one) for one in statements_of_add(scope)]
    fill(superuser_url, scope.tenant_id)

    with superuser(superuser_url) as cursor:
        assert faults((explain(cursor, scope, one) for one in statements), PINNED_BY_ADDS) == []


def test_an_index_that_is_gone_is_missed(statements: list[Asked], scope: Scope, superuser_url: str) -> None:
    with superuser(superuser_url) as cursor:
        for index in sorted(PINNED):
            cursor.execute("savepoint before")
            # As good as dropped, also where a constraint is held by it.
            cursor.execute("update pg_index set indisvalid = false where indexrelid = %s::regclass", [index])

            assert f"{index} is not used" in faults(explain(cursor, scope, one) for one in statements)

            cursor.execute("rollback to savepoint before")


def test_no_workers_are_started_for_one_space(statements: list[Asked], scope: Scope, superuser_url: str) -> None:
    with superuser(superuser_url) as cursor:
        for setting in ("min_parallel_index_scan_size", "parallel_setup_cost", "parallel_tuple_cost"):
            cursor.execute(f"set local {setting} = 0".encode())
        plans = [explain(cursor, scope, one) for one in statements]

    scanned = {part["Relation Name"] for plan in plans for part in parts(plan) if part.get("Parallel Aware")}
    assert scanned & {"memories_memoryvector", "memories_posting"} == set()
