"""Row-level security for the audit trail; rows of no tenant are for transactions of none."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("audit_auditevent", nullable=True)),
    ]
