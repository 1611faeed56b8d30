"""Row-level security for decisions; a decision is about a space of its own tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("ingest", "0001_initial"),
        ("projects", "0002_wall_tenants"),
        ("crypto", "0004_guard_key_versions"),
    ]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("ingest_candidate")),
        migrations.RunSQL(*isolation_sql("ingest_ingestreceipt")),
        migrations.RunSQL(*guard_sql("ingest_ingestreceipt")),
        migrations.RunSQL(*composite_key_sql("ingest_ingestreceipt", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("ingest_candidate", "space_id", "projects_space")),
    ]
