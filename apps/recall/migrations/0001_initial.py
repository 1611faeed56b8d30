"""Traces of recalls, sealed, behind the wall of the tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("crypto", "0004_guard_key_versions"),
        ("projects", "0003_review_policy"),
        ("tenants", "0004_say_who_may_read"),
    ]

    operations = [
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
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("recall_recalltrace")),
        migrations.RunSQL(*guard_sql("recall_recalltrace")),
        migrations.RunSQL(*composite_key_sql("recall_recalltrace", "space_id", "projects_space")),
    ]
