"""Tables of tenants can be split by tenant: PostgreSQL takes a partitioned twin of each, with its unique indexes."""

from typing import Any

import psycopg
import pytest
from django.db import connections

from memsync import checks

pytestmark = pytest.mark.django_db

_UNIQUE = """
    select pg_get_indexdef(i.indexrelid), i.indisprimary,
        array(select a.attname::text from pg_attribute a
               where a.attrelid = i.indrelid and a.attnum = any(i.indkey::int2[]) order by a.attnum)
      from pg_index i where i.indrelid = %s::regclass and i.indisunique
"""


def split(cursor: psycopg.Cursor[Any], table: str) -> list[str]:
    """Make the twin; the columns of each unique index that it got."""
    cursor.execute(_UNIQUE, [table])
    indexes = cursor.fetchall()
    cursor.execute(f"create table twin (like {table} including defaults) partition by hash (tenant_id)")
    for number in range(2):
        cursor.execute(f"create table twin_{number} partition of twin for values with (modulus 2, remainder {number})")
    made = []
    for definition, is_primary, columns in indexes:
        if columns == ["id"] or (table, tuple(columns)) in checks.UNDIVIDED:
            columns = ["tenant_id", *columns]
            cursor.execute(f"create unique index on twin ({', '.join(columns)})")
        elif is_primary:
            cursor.execute(f"alter table twin add primary key ({', '.join(columns)})")
        else:
            before, _, after = definition.partition(" ON ")
            assert before.startswith("CREATE UNIQUE INDEX")
            cursor.execute(f"create unique index on twin {after.split(' ', 1)[1]}")
        made.append(", ".join(columns))
    return made


@pytest.mark.parametrize("table", checks.tenant_tables())
def test_a_table_of_tenants_can_be_split_by_tenant(table: str, superuser_url: str) -> None:
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{name}") as admin, admin.cursor() as cursor:
        made = split(cursor, table)
        assert made
        cursor.execute("explain (costs off) select 1 from twin where tenant_id = 7")
        plan = "\n".join(line for (line,) in cursor.fetchall())
        admin.rollback()

    assert ("twin_0" in plan) != ("twin_1" in plan)  # one of the two is looked at
