"""Row-level security for edges and vocabularies; both ends of an edge are memories of its own tenant and space."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


def end_sql(column: str) -> tuple[str, str]:
    """SQL, and its reverse, for the key that holds an end in the edge's own space."""
    name = f"edges_memoryedge_{column}_in_space"
    return (
        f"alter table edges_memoryedge add constraint {name} foreign key (tenant_id, space_id, {column}) "
        "references memories_memory (tenant_id, space_id, id) on delete cascade deferrable initially deferred;",
        f"alter table edges_memoryedge drop constraint {name};",
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("edges", "0001_initial"), ("memories", "0002_wall_tenants")]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("edges_memoryedge")),
        migrations.RunSQL(*guard_sql("edges_memoryedge")),
        migrations.RunSQL(*isolation_sql("edges_ontology")),
        migrations.RunSQL(*composite_key_sql("edges_memoryedge", "space_id", "projects_space")),
        # What the two keys below refer to.
        migrations.RunSQL(
            "alter table memories_memory add constraint memory_in_space unique (tenant_id, space_id, id);",
            "alter table memories_memory drop constraint memory_in_space;",
        ),
        migrations.RunSQL(*end_sql("from_memory_id")),
        migrations.RunSQL(*end_sql("to_memory_id")),
    ]
