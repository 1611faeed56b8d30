"""Row-level security for memories and all that is derived from them, keys that hold the tenant, and the two indexes
that recall reads.

The postings table is made here by hand: its primary key covers the counts, so that BM25 is index-only.
"""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("memories", "0001_initial"),
        ("projects", "0002_wall_tenants"),
        ("crypto", "0004_guard_key_versions"),
    ]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("memories_memory")),
        migrations.RunSQL(*guard_sql("memories_memory")),
        migrations.RunSQL(*guard_sql("memories_memoryvector")),
        migrations.RunSQL(*isolation_sql("memories_memoryvector")),
        migrations.RunSQL(*isolation_sql("memories_memorytransition")),
        migrations.RunSQL(*isolation_sql("memories_quarantinedrow")),
        migrations.RunSQL(
            *(
                """create table memories_posting (tenant_id bigint not null, space_id bigint not null, token bigint not null, memory_id bigint not null, tf smallint not null, length smallint not null, primary key (tenant_id, space_id, token, memory_id) include (tf, length)); create index posting_of_memory on memories_posting (tenant_id, memory_id);""",
                "drop table memories_posting;",
            )
        ),
        migrations.RunSQL(*isolation_sql("memories_posting")),
        migrations.RunSQL(*composite_key_sql("memories_memory", "space_id", "projects_space")),
        migrations.RunSQL(
            *composite_key_sql("memories_memory", "project_id", "projects_project", on_delete="set null")
        ),
        migrations.RunSQL(
            *composite_key_sql("memories_memory", "superseded_by_id", "memories_memory", on_delete="set null")
        ),
        migrations.RunSQL(*composite_key_sql("memories_memoryvector", "memory_id", "memories_memory")),
        migrations.RunSQL(*composite_key_sql("memories_memoryvector", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("memories_posting", "memory_id", "memories_memory")),
        migrations.RunSQL(
            *(
                "create index vector_signs on memories_memoryvector (tenant_id, space_id, live) include (memory_id, key_version, embedder, project_id, expires_at, signs);",
                "drop index vector_signs;",
            )
        ),
        migrations.RunSQL(
            *(
                "alter table memories_posting set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05); alter table memories_memoryvector set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);",
                "",
            )
        ),
    ]
