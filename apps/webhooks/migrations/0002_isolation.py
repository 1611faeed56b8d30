"""Row-level security of the app's tables, and foreign keys that contain the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.migration_operations import EnableTenantIsolation, RequireActiveKeyVersion


class Migration(migrations.Migration):
    dependencies: ClassVar = [("webhooks", "0001_tables"), ("projects", "0001_tables"), ("crypto", "0003_guards")]

    operations: ClassVar = [
        EnableTenantIsolation("WebhookEndpoint", parents={"project_id": "projects_project"}),
        RequireActiveKeyVersion("WebhookEndpoint"),
        EnableTenantIsolation("WebhookEvent", parents={"space_id": "projects_space"}),
        EnableTenantIsolation(
            "WebhookDelivery", parents={"space_id": "projects_space", "endpoint_id": "webhooks_webhookendpoint"}
        ),
        RequireActiveKeyVersion("WebhookDelivery"),
    ]
