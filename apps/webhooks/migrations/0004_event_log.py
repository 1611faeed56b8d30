"""The log of events that listeners read."""

from typing import ClassVar

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.migration_operations import EnableTenantIsolation, run_sql_file


class Migration(migrations.Migration):
    dependencies: ClassVar = [("webhooks", "0003_events"), ("tenants", "0002_isolation")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="EventLog",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("position", models.BigIntegerField(default=0)),
                ("dropped", models.BigIntegerField(default=0)),
                ("is_recording", models.BooleanField(default=True)),
                ("listened_at", models.DateTimeField()),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.AddConstraint(
            model_name="eventlog",
            constraint=models.UniqueConstraint(fields=("tenant",), name="webhook_event_log_of_tenant"),
        ),
        EnableTenantIsolation("EventLog"),
        migrations.AddField(model_name="webhookevent", name="position", field=models.BigIntegerField(null=True)),
        migrations.AddConstraint(
            model_name="webhookevent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("position__isnull", False)),
                fields=("tenant", "position"),
                name="webhook_event_position",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(
                condition=models.Q(("position__isnull", True)),
                fields=["tenant", "id"],
                name="webhook_event_unnumbered",
            ),
        ),
        # Again, because a database may have the triggers of before the log.
        run_sql_file("webhooks", "events"),
    ]
