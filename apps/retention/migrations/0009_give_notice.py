"""Notices of what is going to be deleted, behind the wall of the tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("retention", "0008_take_privacy_requests"),
        ("tenants", "0005_say_who_may_rerank"),
    ]

    operations = [
        migrations.CreateModel(
            name="RetentionNotice",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("environment", models.CharField(max_length=16)),
                ("project_id", models.BigIntegerField(null=True)),
                ("first_on", models.DateField()),
                ("count", models.BigIntegerField()),
                ("told_at", models.DateTimeField()),
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "environment", "project_id"),
                        name="retention_notice_once",
                        nulls_distinct=False,
                    )
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("retention_retentionnotice")),
    ]
