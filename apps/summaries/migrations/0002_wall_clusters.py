"""Row-level security for clusters and their members; both belong to a space, a cluster and a memory of their tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("summaries", "0001_initial"), ("crypto", "0004_guard_key_versions")]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("summaries_cluster")),
        migrations.RunSQL(*isolation_sql("summaries_clustermember")),
        migrations.RunSQL(*guard_sql("summaries_cluster")),
        migrations.RunSQL(
            "alter table summaries_cluster add constraint cluster_in_tenant unique (tenant_id, id);",
            "alter table summaries_cluster drop constraint cluster_in_tenant;",
        ),
        migrations.RunSQL(*composite_key_sql("summaries_cluster", "space_id", "projects_space")),
        migrations.RunSQL(
            *composite_key_sql("summaries_cluster", "project_id", "projects_project", on_delete="set null")
        ),
        migrations.RunSQL(*composite_key_sql("summaries_clustermember", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("summaries_clustermember", "cluster_id", "summaries_cluster")),
        migrations.RunSQL(*composite_key_sql("summaries_clustermember", "memory_id", "memories_memory")),
    ]
