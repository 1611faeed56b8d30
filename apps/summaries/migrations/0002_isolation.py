"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("summaries", "0001_tables"),
        ("memories", "0003_indexes"),
        ("projects", "0001_tables"),
        ("crypto", "0003_guards"),
    ]

    operations: ClassVar = [
        EnableTenantIsolation(
            "Cluster", parents={"space_id": "projects_space"}, optional_parents={"project_id": "projects_project"}
        ),
        RequireActiveKeyVersion("Cluster"),
        EnableTenantIsolation(
            "ClusterMember",
            parents={"space_id": "projects_space", "cluster_id": "summaries_cluster", "memory_id": "memories_memory"},
        ),
    ]
