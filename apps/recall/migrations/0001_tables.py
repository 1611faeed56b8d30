"""Tables of the app."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="RecallPace",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("hour", models.DateTimeField()),
                ("bucket", models.SmallIntegerField()),
                ("count", models.BigIntegerField()),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("hour", "bucket"), name="recall_pace_once")]},
        ),
        migrations.CreateModel(
            name="RecallTrace",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("query_id", models.UUIDField()),
                ("profile", models.CharField(max_length=16)),
                ("trace_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
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
                    models.Index(fields=["tenant", "created_at", "id"], name="trace_by_time"),
                    models.Index(fields=["tenant", "key_version", "id"], name="trace_key_version"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "query_id", "space"), name="trace_once_per_space")
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
