"""What may change in erasures, their ledger and receipts."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("erasure", "0002_isolation")]

    operations: ClassVar = [run_sql_file("erasure", "guards", database="keyring")]
