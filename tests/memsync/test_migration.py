"""`memsync.ops.migration`: which databases are migrated, and which are refused with a reason."""

import pytest
from django.core.management import CommandError
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from memsync.ops.migration import BEFORE_SQUASH, migrate


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_database_from_before_the_squash_is_refused_and_left_alone(alias: str) -> None:
    recorder = MigrationRecorder(connections[alias])
    recorder.record_applied(*BEFORE_SQUASH)
    applied = set(recorder.applied_migrations())

    with pytest.raises(CommandError, match="Export the memories with that version"):
        migrate(alias)

    assert set(recorder.applied_migrations()) == applied


@pytest.mark.django_db(databases="__all__")
@pytest.mark.parametrize("alias", ["default", "keyring"])
def test_database_that_is_up_to_date_needs_nothing(alias: str) -> None:
    assert migrate(alias) is False
