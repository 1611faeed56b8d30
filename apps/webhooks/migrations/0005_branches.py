"""No events of branches."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("webhooks", "0004_event_log"), ("projects", "0004_branches")]

    operations: ClassVar = [run_sql_file("webhooks", "events")]
