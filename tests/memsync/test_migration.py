"""`memsync.ops.migration`: which databases are migrated, and which are refused with a reason."""

from typing import Any

import psycopg
import pytest
from django.core.management import CommandError
from django.db import connections, models
from django.db.migrations import AddConstraint, AlterField, CreateModel
from django.db.migrations.recorder import MigrationRecorder
from psycopg.sql import SQL, Identifier

from memsync.ops import migration
from memsync.ops.migration import BEFORE_SQUASH, LeanState, migrate

pytestmark = pytest.mark.django_db(databases="__all__")


@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_database_from_before_the_squash_is_refused_and_left_alone(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    earlier = {key: row for key, row in applied.items() if key[0] != "memories"}
    of_then: Any = lambda recorder: earlier | {BEFORE_SQUASH: None}  # noqa: E731
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", of_then)
    monkeypatch.setattr(migration, "_migrate_all", pytest.fail)
    monkeypatch.setattr(migration, "_migrate_few", pytest.fail)

    with pytest.raises(CommandError, match="Export the memories with that version"):
        migrate(alias)


@pytest.mark.django_db(transaction=True, databases="__all__")
@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_database_of_another_encoding_is_refused_and_left_alone(
    alias: str, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = connections[alias].settings_dict
    odd = f"odd_{settings['NAME']}"  # its own in each process of the tests
    password = psycopg.conninfo.conninfo_to_dict(superuser_url)["password"]
    with psycopg.connect(superuser_url, autocommit=True) as superuser:
        created = "create database {} encoding 'SQL_ASCII' locale 'C' template template0"
        superuser.execute(SQL(created).format(Identifier(odd)))
        connections[alias].close()
        try:
            for name, value in (("NAME", odd), ("USER", "postgres"), ("PASSWORD", password)):
                monkeypatch.setitem(settings, name, value)
            with pytest.raises(CommandError, match=f"The database {odd} has the encoding SQL_ASCII"):
                migrate(alias)
            assert connections[alias].introspection.table_names() == []
        finally:
            connections[alias].close()
            monkeypatch.undo()
            superuser.execute(SQL("drop database {}").format(Identifier(odd)))


@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_database_that_is_up_to_date_needs_nothing(alias: str) -> None:
    assert migrate(alias) is False


def state_of_a_child_and_its_changed_parent() -> LeanState:
    """Rendered, and the parent then rendered alone."""
    state = LeanState()
    state.apps  # noqa: B018  (renders, as the executor does first)
    key = models.BigAutoField(primary_key=True)
    to_parent = models.ForeignKey("shop.Parent", models.CASCADE)
    for operation in (
        CreateModel("Parent", [("id", key)]),
        CreateModel("Child", [("id", key), ("parent", to_parent)]),
        AddConstraint("parent", models.CheckConstraint(condition=models.Q(id__gt=0), name="positive")),
    ):
        operation.state_forwards("shop", state)
    return state


def test_change_that_concerns_no_relation_renders_its_model_alone() -> None:
    state = LeanState()
    state.apps  # noqa: B018
    CreateModel("Parent", [("id", models.BigAutoField(primary_key=True))]).state_forwards("shop", state)
    CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]).state_forwards("shop", state)
    other, parent = (state.apps.get_model("shop", name) for name in ("Other", "Parent"))

    condition = models.CheckConstraint(condition=models.Q(id__gt=0), name="positive")
    AddConstraint("parent", condition).state_forwards("shop", state)

    assert state.apps.get_model("shop", "Other") is other
    assert state.apps.get_model("shop", "Parent") is not parent
    assert [one.name for one in state.apps.get_model("shop", "Parent")._meta.constraints] == ["positive"]


def test_change_of_a_key_sees_the_models_that_refer_to_it() -> None:
    """Or their columns would keep the old type."""
    state = state_of_a_child_and_its_changed_parent()

    AlterField("parent", "id", models.UUIDField(primary_key=True)).state_forwards("shop", state)

    parent, child = (state.apps.get_model("shop", name) for name in ("Parent", "Child"))
    assert [one.related_model for one in parent._meta.related_objects] == [child]
    assert isinstance(child._meta.get_field("parent").target_field, models.UUIDField)


def test_code_of_a_migration_sees_every_relation() -> None:
    state = state_of_a_child_and_its_changed_parent()

    state.clear_delayed_apps_cache()  # as RunPython does before it calls the code

    parent, child = (state.apps.get_model("shop", name) for name in ("Parent", "Child"))
    assert [one.related_model for one in parent._meta.related_objects] == [child]
    assert child._meta.get_field("parent").related_model is parent
