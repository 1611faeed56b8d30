"""What an erasure says that it takes is what the database takes with a memory."""

from typing import Final

import pytest
from django.db import connections

from apps.erasure import rows
from apps.erasure.hard_delete import ALONG
from apps.erasure.planning import KINDS

# What goes with a memory and is counted elsewhere, or not.
COUNTED_ELSEWHERE: Final = {
    ("memories_summarysource", "summary_id"): "with the summaries that are erased, as derived",
    ("memory_types_typechangerow", "memory_id"): "names of types: which type the memory had",
}
_WITH_A_MEMORY: Final = """
    select k.conrelid::regclass::text, a.attname from pg_constraint k
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[array_length(k.conkey, 1)]
     where k.contype = 'f' and k.confrelid = 'memories_memory'::regclass and k.confdeltype = 'c'
"""


@pytest.mark.django_db
def test_what_is_counted_with_a_memory_is_what_goes_with_it() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(_WITH_A_MEMORY)
        gone = set(cursor.fetchall())

    counted = {(table, column) for _, table, columns in ALONG for column in columns}
    assert counted | COUNTED_ELSEWHERE.keys() == gone
    assert counted & COUNTED_ELSEWHERE.keys() == set()


@pytest.mark.django_db
def test_every_table_that_a_receipt_counts_is_one_of_a_space_or_a_tenant() -> None:
    there = {*rows.tables_of_a_space(), *rows.tables_of_a_tenant()}

    assert KINDS.keys() - there == set()
