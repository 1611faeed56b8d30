"""Legal holds and runs of the retention, walled like all that belongs to a tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("retention", "0003_ask_to_forget"),
        ("tenants", "0004_say_who_may_read"),
    ]

    operations = [
        migrations.CreateModel(
            name="Hold",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("tenant", "Tenant"),
                            ("project", "Project"),
                            ("space", "Space"),
                            ("memory", "Memory"),
                        ],
                        max_length=8,
                    ),
                ),
                ("project_id", models.BigIntegerField(null=True)),
                ("space_id", models.BigIntegerField(null=True)),
                ("memory_id", models.BigIntegerField(null=True)),
                ("case", models.CharField(max_length=64)),
                ("set_by", models.CharField(max_length=64)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_by", models.CharField(blank=True, max_length=64)),
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
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [
                    models.Index(
                        condition=models.Q(("lifted_at__isnull", True)), fields=["tenant", "id"], name="holds_in_force"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["tenant", "project", "space", "memory"])), name="hold_level"
                    )
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="RetentionRun",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("token", models.UUIDField()),
                ("leased_until", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("times_resumed", models.IntegerField(default=0)),
                ("archived", models.BigIntegerField(default=0)),
                ("deleted", models.BigIntegerField(default=0)),
                ("purged", models.BigIntegerField(default=0)),
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
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [models.Index(fields=["tenant", "-id"], name="retention_runs")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("finished_at__isnull", True)), fields=("tenant",), name="retention_one_run"
                    )
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("retention_hold")),
        migrations.RunSQL(*isolation_sql("retention_retentionrun")),
    ]
