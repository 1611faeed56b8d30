"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("sources", "0001_tables"),
        ("memories", "0003_indexes"),
        ("projects", "0001_tables"),
        ("crypto", "0003_guards"),
    ]

    operations: ClassVar = [
        EnableTenantIsolation("ExternalObject", parents={"space_id": "projects_space"}),
        RequireActiveKeyVersion("ExternalObject"),
        EnableTenantIsolation(
            "ObjectMemory",
            parents={"space_id": "projects_space"},
            space_parents={"object_id": "sources_externalobject", "memory_id": "memories_memory"},
        ),
    ]
