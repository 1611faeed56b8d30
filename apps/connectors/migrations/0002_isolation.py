"""Row-level security of the app's table, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [("connectors", "0001_tables"), ("projects", "0001_tables"), ("crypto", "0003_guards")]

    operations: ClassVar = [
        EnableTenantIsolation("Connector", parents={"space_id": "projects_space"}),
        RequireActiveKeyVersion("Connector"),
    ]
