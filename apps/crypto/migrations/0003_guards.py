"""What may change in keys, and under which key version rows are written."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("crypto", "0002_isolation")]

    operations: ClassVar = [
        run_sql_file("crypto", "key_guards", database="keyring"),
        run_sql_file("crypto", "key_versions"),
    ]
