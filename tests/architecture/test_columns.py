"""No column is added without saying what it holds at rest, and docs/security.md says it too."""

from pathlib import Path

import pytest
from django.apps import apps
from django.db import connections

from apps.core.fields import encrypted_fields
from benchmarks.columns import KEYRING, MAIN, Columns, markdown, unlike

ROOT = Path(__file__).resolve().parents[2]
_CATALOGUE = """
    select c.relname, array_agg(a.attname::text) from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     group by c.relname
"""
_NO_TEXT = """
    select c.relname || '.' || a.attname from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and a.atttypid not in ('bytea'::regtype) and a.attname = any(%s)
"""


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize(("alias", "decided"), [("default", MAIN), ("keyring", KEYRING)])
def test_every_column_is_sealed_keyed_or_plain(alias: str, decided: dict[str, Columns]) -> None:
    with connections[alias].cursor() as cursor:
        cursor.execute(_CATALOGUE)
        catalogue = dict(cursor.fetchall())

    assert unlike(decided, catalogue) == []


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize(("alias", "decided"), [("default", MAIN), ("keyring", KEYRING)])
def test_what_is_called_sealed_is_bytes(alias: str, decided: dict[str, Columns]) -> None:
    sealed = {f"{table}.{name}" for table, columns in decided.items() for name in columns.sealed.split()}
    with connections[alias].cursor() as cursor:
        cursor.execute(_NO_TEXT, [[name.split(".")[1] for name in sealed]])
        not_bytes = {name for (name,) in cursor.fetchall()}

    assert sealed & not_bytes == set()


def test_what_is_called_sealed_is_what_the_models_encrypt() -> None:
    declared = {model._meta.db_table: set(found) for model in apps.get_models() if (found := encrypted_fields(model))}

    assert {table: set(columns.sealed.split()) for table, columns in MAIN.items() if table in declared} == declared


def test_an_undecided_column_is_found() -> None:
    decided = {"memory": Columns(sealed="text", plain="id old")}

    assert unlike(decided, {"memory": ["id", "text", "mood"], "diary": ["page"]}) == [
        "diary.page: sealed, keyed or plain?",
        "memory.mood: sealed, keyed or plain?",
        "memory.old: no such column",
    ]


def test_the_documentation_has_the_table() -> None:
    assert markdown() in (ROOT / "docs/security.md").read_text(), (
        "run `python -m benchmarks columns` and paste it there"
    )
