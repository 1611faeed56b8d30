"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation


class Migration(migrations.Migration):
    dependencies: ClassVar = [("apikeys", "0001_tables"), ("projects", "0001_tables")]

    operations: ClassVar = [
        # Counts of requests are lost in a crash, and cost no log.
        migrations.RunSQL("alter table apikeys_ratewindow set unlogged", "alter table apikeys_ratewindow set logged"),
        EnableTenantIsolation(
            "ApiKey",
            parents={"project_id": "projects_project"},
            or_readable="kid = nullif(current_setting('app.api_key_kid', true), '')",
        ),
        EnableTenantIsolation("TenantQuota"),
        EnableTenantIsolation("QuotaUse"),
        EnableTenantIsolation("KeyOffer", parents={"project_id": "projects_project"}),
    ]
