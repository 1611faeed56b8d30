"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("entities", "0001_tables"),
        ("memories", "0003_indexes"),
        ("projects", "0001_tables"),
        ("crypto", "0003_guards"),
    ]

    operations: ClassVar = [
        EnableTenantIsolation(
            "Entity", parents={"space_id": "projects_space"}, space_parents={"merged_into_id": "entities_entity"}
        ),
        EnableTenantIsolation(
            "EntityAlias",
            parents={"space_id": "projects_space", "parent_id": "entities_entityalias"},
            space_parents={"entity_id": "entities_entity"},
        ),
        RequireActiveKeyVersion("EntityAlias"),
        EnableTenantIsolation(
            "EntityMention",
            parents={"space_id": "projects_space"},
            optional_parents={"alias_id": "entities_entityalias"},
            space_parents={"entity_id": "entities_entity", "memory_id": "memories_memory"},
        ),
        EnableTenantIsolation(
            "EntityClaim",
            parents={"space_id": "projects_space"},
            space_parents={
                "memory_id": "memories_memory",
                "subject_id": "entities_entity",
                "object_id": "entities_entity",
            },
        ),
        RequireActiveKeyVersion("EntityClaim"),
    ]
