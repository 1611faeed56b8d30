"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation


class Migration(migrations.Migration):
    dependencies: ClassVar = [("policies", "0001_tables"), ("projects", "0001_tables")]

    operations: ClassVar = [
        EnableTenantIsolation(
            "RetentionPolicy", parents={"project_id": "projects_project", "space_id": "projects_space"}
        )
    ]
