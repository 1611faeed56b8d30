"""Tables of the app."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("projects", "0002_isolation"),
        ("tenants", "0002_isolation"),
    ]

    operations = [
        migrations.CreateModel(
            name="Connector",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("project_id", models.BigIntegerField(null=True)),
                ("actor", models.CharField(max_length=64)),
                (
                    "kind",
                    models.CharField(choices=[("folder", "Folder"), ("feed", "Feed"), ("s3", "S3")], max_length=8),
                ),
                ("is_paused", models.BooleanField(default=False)),
                ("every_seconds", models.IntegerField()),
                ("most_objects", models.IntegerField()),
                ("most_bytes", models.BigIntegerField()),
                ("revision", models.IntegerField(default=1)),
                ("key_version", models.IntegerField()),
                ("settings_ct", models.BinaryField(help_text="Its name, place and bucket.")),
                ("secret_ct", models.BinaryField(null=True)),
                ("validators_ct", models.BinaryField(null=True)),
                ("next_run_at", models.DateTimeField()),
                ("leased_until", models.DateTimeField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("never", "Never"),
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("partial", "Partial"),
                            ("failed", "Failed"),
                        ],
                        default="never",
                        max_length=8,
                    ),
                ),
                ("error", models.CharField(blank=True, max_length=48)),
                ("counts", models.JSONField(default=dict)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="projects.space",
                    ),
                ),
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
                    models.Index(fields=["tenant", "space", "-id"], name="connector_newest"),
                    models.Index(fields=["tenant", "next_run_at"], name="connector_due"),
                    models.Index(fields=["tenant", "key_version", "id"], name="connector_key_version"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["folder", "feed", "s3"])), name="connector_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["never", "waiting", "running", "done", "partial", "failed"])
                        ),
                        name="connector_status",
                    ),
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
    ]
