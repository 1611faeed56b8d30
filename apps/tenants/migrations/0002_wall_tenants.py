"""Row-level security: an end user is seen only by a transaction of their tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("tenants", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("tenants_enduser")),
    ]
