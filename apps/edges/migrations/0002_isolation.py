"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("edges", "0001_tables"),
        ("memories", "0003_indexes"),
        ("projects", "0001_tables"),
        ("crypto", "0003_guards"),
    ]

    operations: ClassVar = [
        EnableTenantIsolation(
            "MemoryEdge",
            parents={"space_id": "projects_space"},
            space_parents={"from_memory_id": "memories_memory", "to_memory_id": "memories_memory"},
        ),
        RequireActiveKeyVersion("MemoryEdge"),
        EnableTenantIsolation("Ontology"),
    ]
