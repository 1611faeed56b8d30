"""Entities go with the last memory that mentions them."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("entities", "0002_isolation")]

    operations: ClassVar = [run_sql_file("entities", "orphans")]
