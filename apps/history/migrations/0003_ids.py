"""The sequence of the ids of turns."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("history", "0002_isolation")]

    operations: ClassVar = [run_sql_file("history", "ids")]
