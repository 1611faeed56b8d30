"""Which changes of other apps make webhook events."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("webhooks", "0002_isolation"),
        ("apikeys", "0001_tables"),
        ("audit", "0003_chain"),
        ("memories", "0004_isolation"),
        ("outbox", "0001_tables"),
    ]

    operations: ClassVar = [run_sql_file("webhooks", "events")]
