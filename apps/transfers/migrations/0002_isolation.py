"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [("transfers", "0001_tables"), ("projects", "0001_tables"), ("crypto", "0003_guards")]

    operations: ClassVar = [
        EnableTenantIsolation("ExportJob", parents={"space_id": "projects_space"}),
        RequireActiveKeyVersion("ExportJob"),
        EnableTenantIsolation("ExportChunk", parents={"space_id": "projects_space", "job_id": "transfers_exportjob"}),
        RequireActiveKeyVersion("ExportChunk"),
        EnableTenantIsolation("ExportLink", parents={"job_id": "transfers_exportjob"}),
        EnableTenantIsolation("ImportJob", parents={"space_id": "projects_space"}),
        RequireActiveKeyVersion("ImportJob"),
        EnableTenantIsolation("ImportChunk", parents={"space_id": "projects_space", "job_id": "transfers_importjob"}),
        RequireActiveKeyVersion("ImportChunk"),
    ]
