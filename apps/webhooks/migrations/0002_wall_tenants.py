"""Row-level security for webhooks; an endpoint, its deliveries and the spaces that they are about are of one tenant."""

from typing import ClassVar

from django.db import migrations

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("crypto", "0004_guard_key_versions"),
        ("projects", "0002_wall_tenants"),
        ("webhooks", "0001_initial"),
    ]

    operations: ClassVar = [
        migrations.RunSQL(*isolation_sql("webhooks_webhookendpoint")),
        migrations.RunSQL(*isolation_sql("webhooks_webhookevent")),
        migrations.RunSQL(*isolation_sql("webhooks_webhookdelivery")),
        migrations.RunSQL(*guard_sql("webhooks_webhookendpoint")),
        migrations.RunSQL(*guard_sql("webhooks_webhookdelivery")),
        migrations.RunSQL(*composite_key_sql("webhooks_webhookendpoint", "project_id", "projects_project")),
        migrations.RunSQL(*composite_key_sql("webhooks_webhookevent", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("webhooks_webhookdelivery", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("webhooks_webhookdelivery", "endpoint_id", "webhooks_webhookendpoint")),
    ]
