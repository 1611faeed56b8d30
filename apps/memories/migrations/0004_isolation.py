"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion, run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("memories", "0003_indexes"), ("projects", "0001_tables"), ("crypto", "0003_guards")]

    operations: ClassVar = [
        run_sql_file("memories", "postings"),
        EnableTenantIsolation(
            "Memory",
            parents={"space_id": "projects_space"},
            optional_parents={"project_id": "projects_project", "superseded_by_id": "memories_memory"},
        ),
        RequireActiveKeyVersion("Memory"),
        EnableTenantIsolation("SummarySource", parents={"space_id": "projects_space", "summary_id": "memories_memory"}),
        EnableTenantIsolation("MemoryTransition"),
        RequireActiveKeyVersion("MemoryTransition"),
        EnableTenantIsolation("MemoryPeriod", parents={"space_id": "projects_space", "memory_id": "memories_memory"}),
        EnableTenantIsolation("MemoryClaim", parents={"space_id": "projects_space", "memory_id": "memories_memory"}),
        RequireActiveKeyVersion("MemoryClaim"),
        EnableTenantIsolation("MemoryFeedback", parents={"memory_id": "memories_memory"}),
        RequireActiveKeyVersion("MemoryFeedback"),
        EnableTenantIsolation("Tombstone", parents={"space_id": "projects_space"}),
        EnableTenantIsolation("QuarantinedRow"),
        EnableTenantIsolation("MemoryVector", parents={"memory_id": "memories_memory", "space_id": "projects_space"}),
        RequireActiveKeyVersion("MemoryVector"),
        EnableTenantIsolation("MemoryPosting", parents={"memory_id": "memories_memory"}),
        EnableTenantIsolation("OwnType"),
        EnableTenantIsolation("TypeRule"),
    ]
