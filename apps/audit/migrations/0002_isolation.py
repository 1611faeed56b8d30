"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0001_tables")]

    operations: ClassVar = [EnableTenantIsolation("AuditEvent", allow_no_tenant=True)]
