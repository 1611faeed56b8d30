"""Row-level security for exports; a job, its pieces, its links and the space that they are of are of one tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("crypto", "0004_guard_key_versions"),
        ("exports", "0001_initial"),
        ("projects", "0002_wall_tenants"),
    ]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("exports_exportjob")),
        migrations.RunSQL(*isolation_sql("exports_exportchunk")),
        migrations.RunSQL(*isolation_sql("exports_exportlink")),
        migrations.RunSQL(*guard_sql("exports_exportjob")),
        migrations.RunSQL(*guard_sql("exports_exportchunk")),
        migrations.RunSQL(*composite_key_sql("exports_exportjob", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("exports_exportchunk", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("exports_exportchunk", "job_id", "exports_exportjob")),
        migrations.RunSQL(*composite_key_sql("exports_exportlink", "job_id", "exports_exportjob")),
    ]
