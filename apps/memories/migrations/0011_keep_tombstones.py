"""Keyed hashes of what was erased, behind the wall of the tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0010_find_what_ages"),
        ("projects", "0004_set_retention"),
        ("tenants", "0005_say_who_may_rerank"),
    ]

    operations = [
        migrations.CreateModel(
            name="Tombstone",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("mac", models.BinaryField(max_length=16)),
                ("expires_at", models.DateTimeField()),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
                "indexes": [models.Index(fields=["tenant", "expires_at"], name="tombstone_due")],
                "constraints": [models.UniqueConstraint(fields=("tenant", "mac"), name="tombstone_once")],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("memories_tombstone")),
        migrations.RunSQL(*composite_key_sql("memories_tombstone", "space_id", "projects_space")),
    ]
