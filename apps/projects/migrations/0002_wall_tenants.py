"""Row-level security for projects and spaces."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("projects", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("projects_project")),
        migrations.RunSQL(*isolation_sql("projects_space")),
    ]
