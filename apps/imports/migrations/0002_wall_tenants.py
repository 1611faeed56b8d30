"""Row-level security for imports; a job, its chunks and the space that they are for are of one tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("crypto", "0004_guard_key_versions"),
        ("imports", "0001_initial"),
        ("projects", "0002_wall_tenants"),
    ]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("imports_importjob")),
        migrations.RunSQL(*isolation_sql("imports_importchunk")),
        migrations.RunSQL(*guard_sql("imports_importjob")),
        migrations.RunSQL(*guard_sql("imports_importchunk")),
        migrations.RunSQL(*composite_key_sql("imports_importjob", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("imports_importchunk", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("imports_importchunk", "job_id", "imports_importjob")),
    ]
