"""How vectors and postings are stored."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("memories", "0004_isolation")]

    operations: ClassVar = [run_sql_file("memories", "search_storage")]
