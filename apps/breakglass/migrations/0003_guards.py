"""What may change in a grant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("breakglass", "0002_isolation")]

    operations: ClassVar = [run_sql_file("breakglass", "grant_guard")]
