"""The event of a session's summary."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("webhooks", "0003_events")]

    operations: ClassVar = [run_sql_file("webhooks", "session_events")]
