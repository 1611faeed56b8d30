"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("ingest", "0001_tables"),
        ("memories", "0003_indexes"),
        ("projects", "0001_tables"),
        ("crypto", "0003_guards"),
    ]

    operations: ClassVar = [
        EnableTenantIsolation("Candidate", parents={"space_id": "projects_space"}),
        EnableTenantIsolation("ReviewItem", parents={"space_id": "projects_space"}),
        RequireActiveKeyVersion("ReviewItem"),
        EnableTenantIsolation("ModelUse"),
        EnableTenantIsolation("IngestReceipt", parents={"space_id": "projects_space"}),
        RequireActiveKeyVersion("IngestReceipt"),
        EnableTenantIsolation("TurnReceipt", parents={"space_id": "projects_space"}),
        EnableTenantIsolation("DerivedFact", parents={"space_id": "projects_space", "memory_id": "memories_memory"}),
    ]
