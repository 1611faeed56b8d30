"""How rows of the audit trail are inserted, chained and protected."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0002_isolation")]

    operations: ClassVar = [run_sql_file("audit", "chain")]
