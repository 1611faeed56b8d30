"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("memory_types", "0001_tables"),
        ("memories", "0003_indexes"),
        ("projects", "0001_tables"),
    ]

    operations: ClassVar = [
        EnableTenantIsolation("TypeChangeRow", parents={"space_id": "projects_space", "memory_id": "memories_memory"})
    ]
