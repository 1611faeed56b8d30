"""`memsync.ops.migration`: which databases are migrated, and which are refused with a reason."""

from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from memsync.ops import migration
from memsync.ops.migration import BEFORE_SQUASH, migrate

pytestmark = pytest.mark.django_db(databases="__all__")


@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_database_from_before_the_squash_is_refused_and_left_alone(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    earlier = {key: row for key, row in applied.items() if key[0] != "memories"}
    of_then: Any = lambda recorder: earlier | {BEFORE_SQUASH: None}  # noqa: E731
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", of_then)
    monkeypatch.setattr(migration, "call_command", pytest.fail)
    monkeypatch.setattr(migration, "_migrate_few", pytest.fail)

    with pytest.raises(CommandError, match="Export the memories with that version"):
        migrate(alias)


@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_database_that_is_up_to_date_needs_nothing(alias: str) -> None:
    assert migrate(alias) is False
